#include "api/answers/assets.h"

#include "api/api_fixture.h"

namespace sluice::api::console {
namespace assets_test {

constexpr std::string_view pack =
    "index.html 6 4\n"
    "assets/console-ABC.js 7 0\n"
    "assets/style-DEF.css 5 3\n"
    "\n"
    "<page>PAGEalert()body{CSS";

class AssetsTest : public ApiTest {
 protected:
  AssetsTest() { make_surfaces({.console_pack = pack}); }

  Answer read(std::string_view path, net::Headers headers = {}) {
    return ask_as("GET", path, {.headers = std::move(headers)});
  }
};

TEST_F(AssetsTest, The_page_is_at_every_address_of_the_console_but_those_of_its_parts) {
  for (const auto* path : {"/console", "/console/", "/console/runs", "/console/runs/run_1/x/y/z/deep",
                           "/console/sessions", "/console//x", "/console/index.html", "/console/assetsx"}) {
    const auto answer = read(path);
    EXPECT_EQ(answer->status, 200) << path;
    EXPECT_EQ(answer->body, "<page>") << path;
    EXPECT_EQ(answer->header("Content-Type"), "text/html; charset=utf-8");
    EXPECT_EQ(answer->header("Cache-Control"), "no-cache");
  }
  EXPECT_EQ(read("/consoles")->status, 404);
  EXPECT_EQ(ask_as("POST", "/console/runs", {})->status, 405);
  EXPECT_EQ(ask_as("POST", "/console/runs", {})->header("Allow"), "GET, HEAD, OPTIONS");
  EXPECT_EQ(ask_as("PUT", "/console/session", {})->header("Allow"), "POST, GET, HEAD, PATCH, DELETE, OPTIONS");
}

TEST_F(AssetsTest, Parts_are_kept_by_browsers_for_good_and_unknown_ones_are_not_found) {
  const auto script = read("/console/assets/console-ABC.js");
  EXPECT_EQ(script->body, "alert()");
  EXPECT_EQ(script->header("Content-Type"), "text/javascript; charset=utf-8");
  EXPECT_EQ(script->header("Cache-Control"), "public, max-age=31536000, immutable");
  for (const auto* path : {"/console/assets/console-ABD.js", "/console/assets/../index.html", "/console/assets/",
                           "/console/assets/a/b", "/console/assets/%2e%2e"}) {
    EXPECT_EQ(read(path)->status, 404) << path;
  }
}

TEST_F(AssetsTest, A_client_that_accepts_gzip_gets_it) {
  const auto packed = read("/console", {{"Accept-Encoding", "br, gzip;q=0.8"}});
  EXPECT_EQ(packed->body, "PAGE");
  EXPECT_EQ(packed->header("Content-Encoding"), "gzip");
  EXPECT_EQ(packed->header("Vary"), "Accept-Encoding");
  EXPECT_NE(packed->header("ETag"), read("/console")->header("ETag"));
  EXPECT_EQ(read("/console", {{"Accept-Encoding", "gzip;q=0"}})->body, "<page>");
  EXPECT_EQ(read("/console", {{"Accept-Encoding", "gzip;q=0.000, br"}})->body, "<page>");
  EXPECT_EQ(read("/console", {{"Accept-Encoding", "xgzip"}})->body, "<page>");
  EXPECT_EQ(read("/console", {{"Accept-Encoding", "*"}})->body, "PAGE");
  EXPECT_EQ(read("/console/assets/console-ABC.js", {{"Accept-Encoding", "gzip"}})->body, "alert()") << "it has none";
}

TEST_F(AssetsTest, An_asset_that_the_browser_has_is_not_sent_again) {
  const auto etag = read("/console")->header("ETag");
  const auto again = read("/console", {{"If-None-Match", "\"other\", " + etag}});
  EXPECT_EQ(again->status, 304);
  EXPECT_EQ(again->body, "");
  EXPECT_EQ(again->header("ETag"), etag);
  EXPECT_EQ(read("/console", {{"If-None-Match", "\"other\""}})->status, 200);
}

TEST_F(AssetsTest, Every_answer_of_the_console_forbids_what_its_page_does_not_need) {
  for (const auto* path :
       {"/console", "/console/x", "/console/assets/console-ABC.js", "/console/assets/none", "/console/session"}) {
    const auto answer = read(path);
    EXPECT_TRUE(answer->header("Content-Security-Policy").starts_with("default-src 'none'; script-src 'self';"))
        << path;
    EXPECT_EQ(answer->header("X-Frame-Options"), "DENY") << path;
    EXPECT_EQ(answer->header("X-Content-Type-Options"), "nosniff") << path;
    EXPECT_EQ(answer->header("Referrer-Policy"), "no-referrer") << path;
  }
  EXPECT_EQ(get("/v1/runs")->header("X-Frame-Options"), "");
}

TEST_F(AssetsTest, A_build_without_a_console_answers_404) {
  make_surfaces({.console_pack = ""});
  EXPECT_EQ(read("/console")->status, 404);
  EXPECT_NE(read("/console")->text("detail").find("without its console"), std::string::npos);
  EXPECT_EQ(read("/console/assets/console-ABC.js")->status, 404);
  EXPECT_EQ(api->make_console_url(), "");
}

}  // namespace assets_test
}  // namespace sluice::api::console
