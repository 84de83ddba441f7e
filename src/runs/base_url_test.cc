#include "runs/base_url.h"

#include <gtest/gtest.h>

#include <vector>

#include "inference/inference.h"
#include "net/net.h"

namespace sluice::runs {
namespace base_url_test {

bool allows(std::string rule, std::string_view url) {
  return net::is_allowed(url, std::vector<std::string>{std::move(rule)});
}

TEST(BaseUrl, Without_a_rule_nothing_is_allowed_and_a_star_allows_everything) {
  EXPECT_FALSE(net::is_allowed("https://models.example", {}));
  EXPECT_TRUE(allows("*", "http://127.0.0.1:9"));
}

TEST(BaseUrl, Scheme_host_and_port_must_be_those_of_the_rule) {
  EXPECT_TRUE(allows("https://models.example", "https://models.example"));
  EXPECT_TRUE(allows("https://models.example/", "https://MODELS.example:443/v1"));
  EXPECT_TRUE(allows("http://[::1]:8000", "http://[::1]:8000/v1"));
  for (const auto* url : {"http://models.example", "https://models.example:8443",
                          "https://models.example.thief.example", "https://models.exampl", "https://x.models.example",
                          "ftp://models.example", "models.example", "https://", ""}) {
    EXPECT_FALSE(allows("https://models.example", url)) << url;
  }
}

TEST(BaseUrl, A_path_begins_with_that_of_the_rule_in_whole_segments) {
  EXPECT_TRUE(allows("http://gpu/team/a", "http://gpu/team/a/"));
  EXPECT_TRUE(allows("http://gpu/team/a/", "http://gpu/team/a/v1"));
  for (const auto* url : {"http://gpu/team/ab", "http://gpu/team", "http://gpu", "http://gpu/team/a/../b",
                          "http://gpu/team/a/./b", "http://gpu/team/a/.."}) {
    EXPECT_FALSE(allows("http://gpu/team/a", url)) << url;
  }
}

TEST(BaseUrl, What_two_readers_could_read_in_two_ways_is_not_allowed) {
  for (const auto* url : {"http://gpu@thief.example",
                          "http://gpu\\@thief.example",
                          "http://gpu/a?b",
                          "http://gpu/a#b",
                          "http://gpu/%2e%2e/b",
                          "http://gpu/a b",
                          "http://gpu\n/",
                          "http://gpu:80:80",
                          "http://gpu:",
                          "http://gpu:0",
                          "http://gpu:99999",
                          "http://[gpu",
                          "http://[::1]x:80",
                          "http://gp\xc3\xbc",
                          "http://../a",
                          "http://.gpu",
                          "http://g..pu",
                          "http://[]",
                          "http://[gpu]",
                          "http://g|pu"}) {
    EXPECT_FALSE(allows("http://gpu", url)) << url;
    EXPECT_FALSE(inference::is_agent_base_url_rule(url)) << url;
  }
  EXPECT_TRUE(inference::is_agent_base_url_rule("*"));
  EXPECT_TRUE(inference::is_agent_base_url_rule("http://gpu:8000/v1"));
}

}  // namespace base_url_test
}  // namespace sluice::runs
