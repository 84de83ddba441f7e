#include "net/http2_connection.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "net/http2_client_fixture.h"

namespace sluice::net {
namespace http2_connection_test {

using Fields = Http2Client::Fields;

void echo(std::shared_ptr<Exchange> exchange) {
  const Request& request = exchange->request();
  std::string text = request.method + " " + request.path + " [" + request.query + "]";
  for (const auto& [name, value] : request.headers.all()) text += " " + name + "=" + value;
  exchange->respond({.headers = {{"Content-Type", "text/plain"}, {"Connection", "close"}, {"X-Two", "a\r\nb: c"}},
                     .body = text + " |" + std::string(request.body)});
}

// A server, and one client of it.
class Http2Test : public testing::Test {
 protected:
  explicit Http2Test(ServerOptions options = {}) : live(echo, std::move(options)) {}

  const Http2Client::Answer& answer_to(const Fields& fields) { return client.whole(client.ask(fields)); }
  const Http2Client::Answer& answer_to(const Fields& fields, std::string body) {
    return client.whole(client.ask(fields, std::move(body)));
  }
  static Fields with(Fields fields, const std::string& name, const std::string& value) {
    fields.emplace_back(name, value);
    return fields;
  }

  LiveServer live;
  PlainWire wire{live.port()};
  Http2Client client{wire};
};

TEST_F(Http2Test, A_request_is_the_same_to_a_handler_and_so_is_its_answer) {
  const auto& answer = answer_to(with(Http2Client::post("/a%20b?c=d?e"), "X-Y", "two words"), "body");
  EXPECT_EQ(answer.body, "POST /a%20b [c=d?e] host=h x-y=two words |body");
  EXPECT_EQ(answer.status(), "200");
  EXPECT_EQ(answer.fields.at("content-length"), std::to_string(answer.body.size()));
  EXPECT_EQ(answer.fields.at("content-type"), "text/plain");
  EXPECT_EQ(answer.fields.at("x-two"), "a  b: c");
  EXPECT_EQ(answer.fields.at("date").size(), 29u);
  EXPECT_FALSE(answer.fields.contains("connection"));
  EXPECT_TRUE(answer.ended);
  EXPECT_EQ(answer.closed, 0u);
}

TEST_F(Http2Test, A_preface_that_comes_byte_by_byte_is_understood_and_half_of_one_is_no_request) {
  RawClient slow(live.port());
  for (const char c : std::string_view("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")) slow.say({&c, 1});
  slow.say(std::string("\0\0\0\4\0\0\0\0\0", 9));  // SETTINGS
  EXPECT_EQ(slow.hear_until(std::string("\4\1\0\0\0\0", 6)).substr(3, 1), "\4") << "settings, and an acknowledgement";
  RawClient other(live.port());
  other.say("PRI * HTTP/2.0\r\nHost: h\r\n\r\n");
  EXPECT_TRUE(other.hear_all().starts_with("HTTP/1.1 505 "));
  RawClient old(live.port());
  old.say("POST /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 1\r\n\r\nb");
  EXPECT_TRUE(old.hear_all().ends_with("|b"));
}

TEST_F(Http2Test, Many_requests_are_answered_at_once) {
  std::vector<int32_t> ids;
  for (int i = 0; i < 200; ++i) ids.push_back(client.ask(Http2Client::get("/" + std::to_string(i))));
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(client.whole(ids[static_cast<std::size_t>(i)]).body, "GET /" + std::to_string(i) + " [] host=h |");
  }
  EXPECT_NE(live.metrics().find("sluice_http_connections_open 1\n"), std::string::npos);
  EXPECT_NE(live.metrics().find("sluice_http_requests_total 200\n"), std::string::npos);
}

TEST_F(Http2Test, HEAD_has_a_length_and_no_body) {
  Fields fields = Http2Client::get("/");
  fields[0].second = "HEAD";
  const auto& answer = answer_to(fields);
  EXPECT_EQ(answer.fields.at("content-length"), "18");
  EXPECT_EQ(answer.body, "");
  EXPECT_TRUE(answer.ended);
}

TEST_F(Http2Test, The_crumbs_of_a_cookie_are_put_together) {
  const auto& answer = answer_to(with(with(with(Http2Client::get("/"), "cookie", "a=1"), "x", "y"), "cookie", "b=2"));
  EXPECT_EQ(answer.body, "GET / [] host=h x=y cookie=a=1; b=2 |");
}

TEST_F(Http2Test, HTTP_2_refuses_what_HTTP_1_refuses_in_the_same_words) {
  const auto refusal = [&](std::size_t index, const std::string& value) {
    Fields fields = Http2Client::get("/");
    fields[index].second = value;
    const auto& answer = answer_to(fields);
    return answer.status() + " " + answer.body;
  };
  EXPECT_EQ(refusal(1, "ftp"), "400 the :scheme is neither http nor https\n");
  EXPECT_EQ(refusal(2, "user@h"), "400 the Host field is malformed\n");
  EXPECT_EQ(refusal(3, "/a#b"), "400 the request target is malformed\n");
  EXPECT_EQ(refusal(3, "/" + std::string(limits::request_line_bytes_max, 'x')), "414 the request line is too long\n");
  EXPECT_EQ(answer_to(with(Http2Client::get("/"), "host", "other")).body, "the Host field differs from :authority\n");
  EXPECT_EQ(answer_to(with(Http2Client::get("/"), "host", "h")).status(), "200");
  EXPECT_EQ(answer_to(with(Http2Client::get("/"), "expect", "more")).status(), "417");
  EXPECT_EQ(answer_to(with(Http2Client::get("/"), "x", "a\001b")).status(), "400");
  EXPECT_EQ(answer_to(with(Http2Client::get("/"), "x y", "a")).status(), "400");
}

TEST_F(Http2Test, A_malformed_HTTP_2_request_resets_only_its_stream) {
  const auto code = [&](const Fields& fields) {
    const auto& answer = answer_to(fields);
    EXPECT_EQ(answer.status(), "");
    return answer.closed.value_or(99);
  };
  EXPECT_EQ(code(with(Http2Client::get("/"), "connection", "close")), NGHTTP2_PROTOCOL_ERROR);
  EXPECT_EQ(code(with(Http2Client::get("/"), "transfer-encoding", "chunked")), NGHTTP2_PROTOCOL_ERROR);
  EXPECT_EQ(code(with(Http2Client::get("/"), "te", "gzip")), NGHTTP2_PROTOCOL_ERROR);
  EXPECT_EQ(code(with(Http2Client::get("/"), ":path", "/")), NGHTTP2_PROTOCOL_ERROR);
  EXPECT_EQ(code(Http2Client::get("/a b")), NGHTTP2_PROTOCOL_ERROR);
  EXPECT_EQ(code({{":method", "G T"}, {":scheme", "http"}, {":authority", "h"}, {":path", "/"}}),
            NGHTTP2_PROTOCOL_ERROR);
  EXPECT_EQ(code({{":method", "GET"}, {":scheme", "http"}, {":path", "/"}}), NGHTTP2_PROTOCOL_ERROR);
  EXPECT_EQ(code({{":method", "GET"}, {":authority", "h"}, {":path", "/"}}), NGHTTP2_PROTOCOL_ERROR);
  EXPECT_EQ(client.whole(client.ask(with(Http2Client::post("/"), "content-length", "3"), "four")).closed,
            NGHTTP2_PROTOCOL_ERROR);
  EXPECT_EQ(answer_to(Http2Client::get("/")).status(), "200");
}

TEST_F(Http2Test, Heads_are_bounded_and_those_without_end_are_cut_off) {
  const auto fields_of = [](int count, std::size_t size) {
    Fields fields = Http2Client::get("/");
    for (int i = 0; i < count; ++i) fields.emplace_back("x" + std::to_string(i), std::string(size, 'x'));
    return fields;
  };
  EXPECT_EQ(answer_to(fields_of(90, 10)).status(), "200");
  EXPECT_EQ(answer_to(fields_of(101, 10)).body, "there are too many header fields\n");
  EXPECT_EQ(answer_to(fields_of(6, 6'000)).body, "the header fields are too large\n");
  EXPECT_EQ(answer_to(fields_of(1, 60'000)).status(), "431");
  EXPECT_EQ(answer_to(Http2Client::get("/")).status(), "200");
  // A field once said costs a byte to say again: 400 KB from a few.
  Fields bomb = Http2Client::get("/");
  for (int i = 0; i < 2000; ++i) bomb.emplace_back("bomb", std::string(200, 'b'));
  EXPECT_EQ(answer_to(bomb).closed, NGHTTP2_INTERNAL_ERROR);
}

TEST_F(Http2Test, A_head_that_comes_too_slowly_is_refused) {
  LiveServer hasty(echo, {.request_head_ms_max = 500, .keep_alive_idle_ms_max = 500});
  RawClient slow(hasty.port());
  RawClient silent(hasty.port());
  silent.say("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  // HEADERS without END_HEADERS: one field of several.
  slow.say("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + std::string("\0\0\0\4\0\0\0\0\0\0\0\1\1\1\0\0\0\1\x82", 19));
  EXPECT_NE(slow.hear_all().find("the request took too long to come"), std::string::npos);
  slow.hang_up();
  silent.hear_all();
  silent.hang_up();
  EXPECT_TRUE(hasty.becomes_true([&] { return hasty.server().connection_count() == 0; }));
}

TEST_F(Http2Test, A_client_that_waits_for_leave_to_send_its_body_gets_it) {
  const auto& answer = answer_to(with(Http2Client::post("/"), "expect", "100-continue"), "body");
  EXPECT_EQ(answer.interim, std::vector<std::string>{"100"});
  EXPECT_EQ(answer.status(), "200");
}

class SmallBodiesTest : public Http2Test {
 protected:
  SmallBodiesTest() : Http2Test({.request_body_bytes_max = 100'000}) {}
};

TEST_F(SmallBodiesTest, A_body_too_large_is_refused_while_it_comes) {
  EXPECT_EQ(answer_to(Http2Client::post("/"), std::string(100'000, 'b')).status(), "200");
  for (const bool says_so : {false, true}) {
    auto fields = Http2Client::post("/");
    if (says_so) fields.emplace_back("content-length", "5000000");
    const auto& answer = answer_to(fields, std::string(5'000'000, 'b'));
    EXPECT_EQ(answer.status(), "413");
    EXPECT_EQ(answer.body, "the request body is too large: the limit is 100000 bytes\n");
    EXPECT_EQ(answer.closed, NGHTTP2_NO_ERROR) << "and the client may keep the rest";
  }
  EXPECT_EQ(answer_to(Http2Client::get("/")).status(), "200");
}

// By itself, since a body that is sent without a pause may take as long on a busy machine.
class HastyBodiesTest : public Http2Test {
 protected:
  HastyBodiesTest() : Http2Test({.request_body_ms_max = 100}) {}
};

TEST_F(HastyBodiesTest, A_body_that_comes_too_slowly_is_refused) {
  const auto& answer = client.whole(client.ask_without_end(Http2Client::post("/"), "half"));
  EXPECT_EQ(answer.status(), "408");
}

// S-12: files come this way too.
TEST(Http2, Large_uploads_go_to_disk) {
  const std::string directory = std::filesystem::temp_directory_path() / ("sluice-spool2-" + std::to_string(getpid()));
  Body kept;
  LiveServer live(
      [&](std::shared_ptr<Exchange> exchange) {
        kept = exchange->request().body;
        exchange->respond({});
      },
      {.request_body_bytes_max = 10'000'000,
       .bodies_in_flight_bytes_max = limits::request_body_memory_max + 1024,  // and the head
       .spool_dir = directory});
  PlainWire wire(live.port());
  Http2Client client(wire);
  std::string text;
  while (text.size() < 9'000'000) text += "piece " + std::to_string(text.size());
  EXPECT_EQ(client.whole(client.ask(Http2Client::post("/"), text)).status(), "200");
  live.in_loop([&] {
    EXPECT_EQ(kept, text);
    kept = {};
  });
  const int32_t broken = client.ask_without_end(Http2Client::post("/"), text.substr(0, 1'000'000));
  client.flush();
  client.reset(broken);
  EXPECT_EQ(client.whole(client.ask(Http2Client::post("/"), "x")).status(), "200");
  EXPECT_TRUE(std::filesystem::is_empty(directory));
  std::filesystem::remove_all(directory);
}

TEST_F(Http2Test, Who_resets_as_fast_as_it_asks_is_sent_away) {
  for (uint32_t i = 0; i <= 3 * limits::nuisances_per_second_max && !client.goaway; ++i) {
    const int32_t id = client.ask(Http2Client::get("/"));
    client.flush();
    client.reset(id);
  }
  client.hear_all();
  EXPECT_EQ(client.goaway, NGHTTP2_ENHANCE_YOUR_CALM);
}

TEST_F(Http2Test, Who_only_pings_is_sent_away) {
  for (uint32_t i = 0; i <= 3 * limits::nuisances_per_second_max; ++i) client.ping();
  client.hear_all();
  EXPECT_EQ(client.goaway, NGHTTP2_ENHANCE_YOUR_CALM);
}

TEST_F(Http2Test, Garbage_ends_the_connection_with_a_reason) {
  client.whole(client.ask(Http2Client::get("/")));
  wire.say(std::string(64, '\xff'));
  client.hear_all();
  EXPECT_TRUE(client.goaway.has_value());
  EXPECT_NE(client.goaway, NGHTTP2_NO_ERROR);
  wire.socket.hang_up();
  EXPECT_TRUE(live.becomes_true([&] { return live.server().connection_count() == 0; }));
}

TEST_F(Http2Test, Says_how_many_streams_it_takes) {
  answer_to(Http2Client::get("/"));
  EXPECT_EQ(nghttp2_session_get_remote_settings(client.session(), NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS),
            limits::streams_per_connection_max);
}

TEST(Http2, An_idle_connection_gets_a_goaway) {
  LiveServer live(echo, {.keep_alive_idle_ms_max = 300});  // and the request comes before
  PlainWire wire(live.port());
  Http2Client client(wire);
  EXPECT_EQ(client.whole(client.ask(Http2Client::get("/"))).status(), "200");
  client.hear_all();
  EXPECT_EQ(client.goaway, NGHTTP2_NO_ERROR);
  EXPECT_TRUE(client.ended);
}

}  // namespace http2_connection_test
}  // namespace sluice::net
