#include "api/integration/repository_rules.h"

#include <gtest/gtest.h>

namespace sluice::api::integration {
namespace repository_rules_test {

TEST(RepositoryRules, Urls_that_git_fetches_from) {
  for (const std::string_view url :
       {"https://github.com/a/b.git", "http://127.0.0.1:3000/x", "ssh://git@host/a/b", "ssh://host:22/a",
        "git://host/a", "https://host/a%20b?x=y", "https://[::1]:3000/x"}) {
    EXPECT_EQ(fault_of_repository_url(url), "") << url;
  }
}

TEST(RepositoryRules, Urls_that_git_would_take_for_something_else_are_refused) {
  for (const std::string_view url : {"",
                                     "-u",
                                     "--upload-pack=x",
                                     "/etc",
                                     "file:///etc",
                                     "ext::sh -c x",
                                     "git@host:a/b",
                                     "HTTPS://host/x",
                                     "https://user@host/x",
                                     "https://user:secret@host/x",
                                     "ssh://git:secret@host/x",
                                     "ssh://-oProxyCommand=x/y",
                                     "ssh://-x@host/y",
                                     "ssh://@host/x",
                                     "https:///x",
                                     "https://host",
                                     "https://:80/x",
                                     "https://host/a b",
                                     "https://host/a\nb",
                                     "https://host/\xc3\xbc",
                                     "https://host/x#y",
                                     "https://host\\x/y",
                                     "data://x/y"}) {
    EXPECT_NE(fault_of_repository_url(url), "") << url;
  }
  EXPECT_NE(fault_of_repository_url(std::string_view("https://h/\0x", 12)), "");
}

TEST(RepositoryRules, Refs_are_such_as_git_allows) {
  for (const std::string_view ref :
       {"main", "v1.2", "feature/x-y", "refs/heads/main", "0123abcd", "a@b", "gr\xc3\xbc"}) {
    EXPECT_EQ(fault_of_ref(ref), "") << ref;
  }
  for (const std::string_view ref :
       {"-x", "--all", "a b", "a..b", "a~1",    "a^",       "a:b", "a?", "a*",    "a[b",   "a\\b", "/a",
        "a/", "a//b",  ".a",  "a/.b", "a.lock", "a.lock/b", "a.",  "@",  "a@{1}", "a\x7f", "a\n"}) {
    EXPECT_NE(fault_of_ref(ref), "") << ref;
  }
}

TEST(RepositoryRules, Credentials_are_named_not_given) {
  EXPECT_EQ(fault_of_credential_alias("GIT_TOKEN_2"), "");
  EXPECT_EQ(fault_of_credential_alias(std::string(64, 'A')), "");
  for (const auto& alias : {std::string(), std::string("git"), std::string("2A"), std::string("_A"), std::string("A-B"),
                            std::string("ghp_abc"), std::string(65, 'A')}) {
    EXPECT_NE(fault_of_credential_alias(alias), "") << alias;
  }
}

}  // namespace repository_rules_test
}  // namespace sluice::api::integration
