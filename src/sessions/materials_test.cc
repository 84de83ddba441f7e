// What is put into a box: a repository, skills.
#include <fcntl.h>

#include "egress/fake_egress.h"
#include "runner/session_fixture.h"
#include "sessions/repository_fetch.h"

namespace sluice::sessions {
namespace materials_test {

using namespace runner;

using model::EventKind;
using model::Slug;
using sandbox::ExitCause;
using sandbox::FakeBox;
using sandbox::FakeResult;
using Bodies = std::vector<std::string>;

class SkillTest : public SessionTest {
 protected:
  // What is announced of it; `bundle` is what comes.
  void offer(std::string name, std::vector<workspace::BundleFile> files) {
    auto packed = workspace::pack_bundle(std::move(files), {});
    ASSERT_TRUE(packed);
    auto bundle = std::move(packed).take();
    materials.skills.push_back(
        {.id = "skl_1", .name = name, .description = "Counts things.", .sha256 = to_hex(sha256(bundle))});
    supplies->bundles[name] = std::move(bundle);
  }
  void offer_counting() {
    offer("counting",
          {{"SKILL.md", "---\nname: counting\ndescription: Counts things.\n---\n"}, {"run.sh", "wc", true}});
  }
};

// S-7
TEST_F(SkillTest, Skills_are_laid_out_once_and_shown_to_the_model) {
  offer_counting();
  begin("$ ls");
  ASSERT_TRUE(heard.usage);
  const auto where = home + "/state/skills/" + materials.skills[0].sha256;
  EXPECT_EQ(contents(where + "/run.sh"), "wc");
  EXPECT_EQ(phases(), (Bodies{"skills", "sandbox", "run", "settle"}));
  EXPECT_EQ(supplies->asked, 1);

  heard = {};
  script = [&](FakeBox& box, auto&) {
    EXPECT_EQ(box.request.binds.size(), 1u);
    EXPECT_EQ(box.request.binds.at(0).from, where);
    EXPECT_EQ(box.request.binds.at(0).to, "/skills/counting");
    return FakeResult{};
  };
  begin("$ ls");
  EXPECT_TRUE(heard.usage);
  EXPECT_EQ(supplies->asked, 1) << "it was there already";

  use_provider();
  client.answer(answer_of(said("Yes.") + stopped(1, 1)));
  heard = {};
  begin("Hi.");
  pass(0);
  EXPECT_NE(client.requests.at(0).body.find("- counting: Counts things. (/skills/counting/SKILL.md)"),
            std::string::npos);
}

TEST_F(SkillTest, A_skill_that_cannot_be_had_fails_the_run) {
  offer_counting();
  supplies->bundles.clear();
  begin("$ ls");
  expect_problem(Slug::skill_failed,
                 R"(The skill "counting" cannot be used: its bundle cannot be had: no such bundle.)");
}

TEST_F(SkillTest, A_bundle_that_is_not_the_one_announced_is_refused) {
  offer_counting();
  supplies->bundles["counting"] += "x";
  begin("$ ls");
  expect_problem(Slug::skill_failed, "the SHA-256 differs");
  EXPECT_FALSE(std::filesystem::exists(home + "/state/skills/" + materials.skills[0].sha256));
}

TEST_F(SkillTest, What_is_no_bundle_is_refused) {
  supplies->bundles["odd"] = "not a tar";
  materials.skills = {{.id = "skl_1", .name = "odd", .sha256 = to_hex(sha256("not a tar"))}};
  begin("$ ls");
  expect_problem(Slug::skill_failed, "The skill \"odd\" cannot be used");
}

TEST_F(SkillTest, Names_and_digests_lead_nowhere_else) {
  const std::string digest(64, 'a');
  const std::pair<dispatch::SkillUse, const char*> cases[] = {
      {{.name = "../x", .sha256 = digest}, "its name cannot be a directory's"},
      {{.name = "", .sha256 = digest}, "its name cannot be a directory's"},
      {{.name = "x", .sha256 = "../../../etc"}, "its digest is not a SHA-256"},
  };
  for (const auto& [skill, words] : cases) {
    heard = {};
    materials.skills = {skill};
    begin("$ ls");
    expect_problem(Slug::skill_failed, words);
  }
  EXPECT_EQ(supplies->asked, 0);
}

TEST_F(SkillTest, Skills_that_a_slow_disk_does_not_lay_out_in_time_fail_the_run) {
  offer_counting();
  const auto late = fails_of_slow_disk(Slug::skill_failed);
  const std::string skill = R"(The skill "counting" cannot be used: )";
  EXPECT_EQ(late, (Bodies{skill + "looking for its files took longer than 300 s.",
                          skill + "unpacking its bundle took longer than 300 s."}));
  heard = {};
  begin("$ ls");
  EXPECT_TRUE(heard.usage) << "once the disk answers";
}

TEST_F(SkillTest, Two_skills_of_one_name_are_one_too_many) {
  offer_counting();
  materials.skills.push_back(materials.skills[0]);
  begin("$ ls");
  expect_problem(Slug::skill_failed, "another skill has the same name");
}

// ── repositories ──

class RepositoryTest : public SessionTest {
 protected:
  RepositoryTest() {
    options.sessions.repository_urls = {"https://git.example/team"};
    options.sessions.git_credentials["bot"] = {"git.example", "robot", "pass-word"};
    materials.repository = dispatch::RepositoryUse{.id = "rep_1", .url = "https://git.example/team/app.git"};
    script = [](FakeBox& box, const sandbox::Command& command) {
      if (command.argv[0] == "git") {
        for (const auto& tree : {box.workspace(), box.changes()}) put(tree + "/AGENTS.md", "Use tabs.");
      }
      return FakeResult{};
    };
  }
  Result<std::vector<sandbox::Command>> planned() const {
    return clone_commands(*materials.repository, options.sessions, secrets.get());
  }
  std::string refusal() const {
    const auto plan = planned();
    return plan ? "allowed" : plan.error().what;
  }
};

TEST_F(RepositoryTest, Is_cloned_in_a_box_of_its_own_before_the_model_is_asked) {
  script = [this](FakeBox& box, const sandbox::Command& command) {
    EXPECT_EQ(heard.text(), "");
    EXPECT_TRUE(box.request.environment.empty()) << "the agent's variables are no business of git's";
    put(box.changes() + "/AGENTS.md", "Use tabs.");
    return FakeResult{.takes_ms = command.argv[0] == "git" ? 40 : 0};
  };
  materials.variables = {{"KEY", "v"}};
  begin("say Hello.\nread AGENTS.md\nsay {{last}}");
  EXPECT_EQ(heard.text(), "");
  pass(40);
  EXPECT_EQ(heard.text(), "Hello.\nUse tabs.");
  ASSERT_TRUE(heard.usage);
  EXPECT_EQ(sandbox->opened, 2);
  EXPECT_EQ(phases(), (Bodies{"repository", "sandbox", "run", "settle"}));

  heard = {};
  begin("read AGENTS.md\nsay {{last}}");
  EXPECT_EQ(heard.text(), "Use tabs.");
  EXPECT_EQ(sandbox->opened, 3) << "it is fetched once for a conversation";
}

TEST_F(RepositoryTest, Nothing_the_box_of_git_did_reaches_the_agent_s_but_its_files) {
  materials.repository->credential_alias = "bot";
  std::vector<sandbox::BoxRequest> requests;
  script = [&](FakeBox& box, const sandbox::Command&) {
    requests.push_back(box.request);
    put(box.changes() + "/x", "");
    return FakeResult{};
  };
  begin("$ env");
  ASSERT_TRUE(heard.usage);
  ASSERT_EQ(requests.size(), 2u);
  for (const auto& [name, value] : requests[1].environment) EXPECT_FALSE(name.starts_with("GIT_")) << name;
  EXPECT_EQ(commands.at(1).environment.size(), 0u);
}

TEST_F(RepositoryTest, Git_is_told_what_to_fetch_and_what_never_to_do) {
  materials.repository->ref = "v1.2";
  const auto plan = planned();
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan.value().size(), 1u);
  EXPECT_EQ(plan.value()[0].argv, (Bodies{"git", "-c", "protocol.ext.allow=never", "-c", "http.followRedirects=false",
                                          "-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false", "clone",
                                          "--quiet", "--no-recurse-submodules", "--depth=1", "--branch=v1.2", "--",
                                          "https://git.example/team/app.git", "."}));
  EXPECT_EQ(plan.value()[0].environment.at("GIT_TERMINAL_PROMPT"), "0");
  EXPECT_EQ(plan.value()[0].environment.at("GIT_ALLOW_PROTOCOL"), "https:http:ssh:git");
  EXPECT_EQ(plan.value()[0].environment.at("GIT_CONFIG_NOSYSTEM"), "1");
  EXPECT_EQ(plan.value()[0].timeout_ms, options.sessions.clone_timeout_ms);
}

TEST_F(RepositoryTest, A_commit_is_fetched_by_its_name) {
  materials.repository->ref = std::string(40, 'c');
  materials.repository->depth = 0;
  const auto plan = planned();
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan.value().size(), 4u);
  const auto& fetch = plan.value()[2].argv;
  EXPECT_EQ(Bodies(fetch.end() - 5, fetch.end()),
            (Bodies{"fetch", "--quiet", "--no-recurse-submodules", "origin", std::string(40, 'c')}));
}

TEST_F(RepositoryTest, Its_credential_is_in_git_s_environment_only) {
  materials.repository->credential_alias = "bot";
  const auto plan = planned();
  ASSERT_TRUE(plan);
  const auto& command = plan.value()[0];
  EXPECT_EQ(command.environment.at("GIT_CONFIG_KEY_0"), "http.https://git.example/.extraHeader");
  EXPECT_EQ(command.environment.at("GIT_CONFIG_VALUE_0"), "Authorization: Basic cm9ib3Q6cGFzcy13b3Jk");
  for (const auto& word : command.argv) EXPECT_EQ(word.find("cm9ib3Q6"), std::string::npos);
  EXPECT_TRUE(command.input.empty());
}

TEST_F(RepositoryTest, Its_credential_may_be_a_secret_of_the_run) {
  options.sessions.repository_urls = {"https://git.example/"};
  secrets = std::make_shared<vault::Secrets>();
  secrets->replace({{.alias = "TOKEN", .value = "hunter2-hunter2"}});
  const dispatch::RepositoryUse repository{
      .id = "rep_1", .url = "https://git.example/app.git", .credential_alias = "TOKEN"};
  const auto header = [&] {
    const auto plan = clone_commands(repository, options.sessions, secrets.get());
    return plan ? plan.value()[0].environment.at("GIT_CONFIG_VALUE_0") : plan.error().what;
  };
  EXPECT_EQ(header(), "Authorization: Basic eC1hY2Nlc3MtdG9rZW46aHVudGVyMi1odW50ZXIy") << "x-access-token:…";
  secrets->replace({{.alias = "TOKEN", .value = "me:pass"}});
  EXPECT_EQ(header(), "Authorization: Basic bWU6cGFzcw==");
  secrets->replace({{.alias = "TOKEN", .value = "me:pass", .hosts = {"other.example"}}});
  EXPECT_EQ(header(), "the secret \"TOKEN\" is bound to other hosts");
}

TEST_F(RepositoryTest, What_may_not_be_fetched_is_refused_in_words) {
  auto& repository = *materials.repository;
  repository.url = "https://elsewhere.example/app.git";
  EXPECT_NE(refusal().find("does not allow https://elsewhere.example/app.git"), std::string::npos);
  options.sessions.repository_urls = {"*"};
  EXPECT_EQ(refusal(), "allowed");
  for (const char* url : {"ext::sh -c id", "/etc", "file:///etc", "--upload-pack=id", "git@git.example:app.git"}) {
    repository.url = url;
    EXPECT_EQ(refusal(), "its url must begin with https://, http://, ssh:// or git://") << url;
  }
  repository.credential_alias = "unknown";
  repository.url = "https://git.example/app.git";
  EXPECT_EQ(refusal(), "there is no credential \"unknown\" on this server");
  repository.credential_alias = "bot";
  EXPECT_EQ(refusal(), "allowed");
  repository.url = "http://git.example/app.git";
  EXPECT_EQ(refusal(), "the credential \"bot\" is sent over https only");
  for (const char* url : {"https://thief.example/app.git", "https://git.example.thief.example/app.git",
                          "https://git.example.:x/app.git", "https://thief.example:443/git.example"}) {
    repository.url = url;
    EXPECT_EQ(refusal(), "the credential \"bot\" is for git.example only") << url;
  }
}

TEST_F(RepositoryTest, Git_is_led_through_the_door_of_its_sandbox) {
  const auto setting = [&] {
    const auto plan = planned();
    if (!plan) return plan.error().what;
    const auto& environment = plan.value()[0].environment;
    const auto key = environment.find("GIT_CONFIG_KEY_0");
    return key == environment.end() ? environment.at("GIT_SSH_COMMAND")
                                    : key->second + "=" + environment.at("GIT_CONFIG_VALUE_0");
  };
  auto& url = materials.repository->url;
  EXPECT_EQ(setting(), "http.proxy=socks5h://127.0.0.1:3128");
  options.sessions.repository_urls = {"*"};
  EXPECT_EQ(setting(), "http.proxy=socks5h://127.0.0.1:3128");
  url = "ssh://robot@Git.example:2222/app.git";
  EXPECT_EQ(setting(), "ssh -oBatchMode=yes -oHostName=127.0.0.1 -oPort=3128 -oHostKeyAlias=git.example");
  url = "git://git.example/app.git";
  EXPECT_NE(setting().find("not for git://"), std::string::npos);
  for (const char* const odd :
       {"ssh://git.example;id/app", "ssh://-oProxyCommand=id/app", "ssh://$(id)/app", "http:///app",
        "https://git.example:0/app", "https://git.example:99999/app", "https://git.example:x/app"}) {
    url = odd;
    EXPECT_NE(setting().find("-oHostKeyAlias"), 0u) << odd;
    EXPECT_FALSE(planned()) << odd;
  }
}

TEST_F(RepositoryTest, I_17_its_sandbox_reaches_the_host_of_the_repository_alone) {
  egress::FakeEgress ways;
  egress = &ways;
  sandbox->egress_listener = [](FakeBox&) { return OwnedFd(open("/dev/null", O_RDONLY | O_CLOEXEC)); };
  begin("say Hello.");
  ASSERT_TRUE(heard.usage);
  ASSERT_EQ(ways.single_hosts.size(), 1u);
  EXPECT_EQ(ways.single_hosts[0].name, "git.example");
  EXPECT_EQ(ways.single_hosts[0].port, 443);
  EXPECT_FALSE(ways.single_hosts[0].public_only) << "a rule names it";
  EXPECT_TRUE(ways.single_hosts[0].asks_by_socks);
  EXPECT_EQ(ways.single_hosts[0].lifetime_ms_max, options.sessions.clone_timeout_ms);

  for (const auto& [url, name, port] :
       {std::tuple{"https://Git.example.:8443/a", "git.example", 8443},
        std::tuple{"ssh://robot@git.example/a", "git.example", 22}, std::tuple{"http://[::ffff]:80/a", "::ffff", 80}}) {
    heard = {};
    options.sessions.repository_urls = {"*"};
    runner.reset();
    materials.repository =
        dispatch::RepositoryUse{.id = "rep_" + std::to_string(ways.single_hosts.size() + 1), .url = url};
    begin("say Hello.");
    EXPECT_EQ(ways.single_hosts.back().name, name);
    EXPECT_EQ(ways.single_hosts.back().port, port);
    EXPECT_TRUE(ways.single_hosts.back().public_only);
    EXPECT_EQ(ways.single_hosts.back().asks_by_socks, !std::string_view(url).starts_with("ssh"));
  }
  EXPECT_EQ(ways.single_hosts.size(), 4u);
}

TEST_F(RepositoryTest, I_17_an_address_that_may_not_be_reached_is_said_with_the_rule) {
  egress::FakeEgress ways;
  ways.single_host_fault = Error{ErrorKind::denied, "git.example leads to 127.0.0.1, a loopback address"};
  egress = &ways;
  sandbox->egress_listener = [](FakeBox&) { return OwnedFd(open("/dev/null", O_RDONLY | O_CLOEXEC)); };
  script = [](auto&, auto&) { return FakeResult{.exit = {.cause = ExitCause::exited, .code = 128}}; };
  options.sessions.repository_urls = {"*"};
  begin("say Hello.");
  expect_problem(Slug::repository_failed,
                 "git.example leads to 127.0.0.1, a loopback address. The rule * of repositories.allowed_urls allows "
                 "public addresses only");
}

TEST_F(RepositoryTest, A_url_that_names_a_user_gets_no_credential_and_is_not_fetched) {
  options.sessions.repository_urls = {"*"};
  materials.repository->credential_alias = "bot";
  for (const char* url : {"https://git.example@thief.example/app.git", "https://git.example:1@thief.example/app.git",
                          "https://robot:pass@git.example/app.git"}) {
    materials.repository->url = url;
    EXPECT_NE(refusal().find("must not name a user"), std::string::npos) << url;
  }
  materials.repository->url = "ssh://git.example:1@thief.example/app.git";
  EXPECT_NE(refusal(), "allowed");
}

TEST_F(RepositoryTest, A_clone_that_fails_ends_the_run_with_git_s_words_but_without_the_secret) {
  materials.repository->credential_alias = "bot";
  script = [](auto&, auto&) {
    return FakeResult{.err = "fatal: pass-word and cm9ib3Q6cGFzcy13b3Jk are wrong\n",
                      .exit = {.cause = ExitCause::exited, .code = 128}};
  };
  begin("say Hello.");
  expect_problem(Slug::repository_failed, "git: fatal: … and … are wrong\nexit code 128");
  EXPECT_EQ(heard.text(), "");
  EXPECT_TRUE(sandbox->boxes.empty());
}

TEST_F(RepositoryTest, A_server_that_has_only_files_is_asked_once_more_for_all_of_them) {
  const auto refuses = [](auto&, auto&) {
    return FakeResult{.err = "fatal: dumb http transport does not support shallow capabilities\n",
                      .exit = {.cause = ExitCause::exited, .code = 128}};
  };
  script = refuses;
  begin("say Hello.");
  expect_problem(Slug::repository_failed, "shallow");
  ASSERT_EQ(commands.size(), 2u) << "not for ever";
  EXPECT_NE(std::ranges::find(commands[0].argv, "--depth=1"), commands[0].argv.end());
  EXPECT_EQ(std::ranges::find(commands[1].argv, "--depth=1"), commands[1].argv.end());
  EXPECT_NE(heard.all(EventKind::log).find("cannot give a part of the history"), std::string::npos);

  heard = {};
  commands.clear();
  heard.after_event = [this] { work.reset(); };
  begin("say Hello.");
  EXPECT_EQ(commands.size(), 1u) << "the listener that gets it may drop the fetch";
}

TEST_F(RepositoryTest, A_clone_whose_sandbox_cannot_be_ended_ends_the_run) {
  sandbox->kill_fails_with = Error{ErrorKind::unavailable, "waited 30 s for its processes to end"};
  begin("say Hello.");
  expect_problem(Slug::repository_failed, "end its sandbox: waited 30 s for its processes to end");
  EXPECT_EQ(heard.text(), "");
  EXPECT_TRUE(sandbox->boxes.empty());
}

TEST_F(RepositoryTest, A_clone_that_takes_too_long_or_gets_no_box_ends_the_run) {
  script = [](auto&, auto&) { return FakeResult{.hangs = true}; };
  begin("say Hello.");
  pass(options.sessions.clone_timeout_ms);
  expect_problem(Slug::repository_failed, "longer than 600000 ms");
  heard = {};
  sandbox->open_fails_with = Error{ErrorKind::overloaded, "too many boxes"};
  begin("say Hello.");
  expect_problem(Slug::repository_failed, "open a sandbox for it: too many boxes");
}

TEST_F(RepositoryTest, Stopping_while_it_is_fetched_waits_for_the_proof) {
  script = [](auto&, auto&) { return FakeResult{.hangs = true}; };
  begin("say Hello.");
  sandbox->hold_kills = true;
  bool gone = false;
  work->stop([&] { gone = true; });
  loop.settle();
  EXPECT_FALSE(gone);
  sandbox->release_kills();
  loop.settle();
  EXPECT_TRUE(gone);
  EXPECT_TRUE(heard.events.empty());
}

TEST_F(RepositoryTest, Stopping_is_exact_wherever_the_workspace_was_being_prepared) {
  const auto bundle = workspace::pack_bundle({{"SKILL.md", "---\nname: counting\ndescription: Counts.\n---\n"}}, {});
  ASSERT_TRUE(bundle);
  supplies->bundles["counting"] = bundle.value();
  materials.skills.push_back({.id = "skl_1", .name = "counting", .sha256 = to_hex(sha256(bundle.value()))});
  supplies->files["a.csv"] = "1,2";
  materials.files.push_back({"a.csv", to_hex(sha256("1,2")), 3});
  int turns = 0;
  for (; turns < 100; ++turns) {
    heard = {};
    std::filesystem::remove_all(home + "/state");  // or the repository and the skill are there already
    runner = nullptr;
    runner = make_native_runner(options, {client, loop, entropy, log, metrics, sandbox.get(), &watcher, &workers});
    work = runner->dispatch(dispatch_of("say Done."), heard);
    for (int i = 0; i < turns && !heard.is_over() && loop.step(); ++i) {
    }
    if (heard.is_over()) break;
    const auto event_count = heard.events.size();
    bool gone = false;
    work->stop([&] { gone = true; });
    work.reset();
    loop.settle();
    EXPECT_TRUE(gone) << turns;
    EXPECT_EQ(heard.events.size(), event_count) << turns;
    EXPECT_TRUE(sandbox->boxes.empty()) << turns;
    EXPECT_EQ(watcher.watching, 0) << turns;
  }
  EXPECT_GT(turns, 15) << "each wait is a turn";
  EXPECT_TRUE(heard.usage) << "the run was reported to its end";
}

class FileTest : public SessionTest {
 protected:
  void attach(const std::string& name, const std::string& bytes) {
    materials.files.push_back({name, to_hex(sha256(bytes)), static_cast<int64_t>(bytes.size())});
    supplies->files[name] = bytes;
  }
};

// A-5
TEST_F(FileTest, Attached_files_are_in_the_box_before_the_first_command_and_shown_to_the_model) {
  attach("a b.csv", "1,2");
  attach("empty.txt", "");
  script = [&](FakeBox& box, auto&) {
    EXPECT_EQ(contents(box.workspace() + "/attachments/a b.csv"), "1,2");
    EXPECT_TRUE(std::filesystem::exists(box.workspace() + "/attachments/empty.txt"));
    return FakeResult{};
  };
  begin("$ ls");
  ASSERT_TRUE(heard.usage);
  EXPECT_EQ(commands.size(), 1u);
  EXPECT_TRUE(heard.bodies(EventKind::diff).empty()) << "what the user put there is no change of the run's";

  use_provider();
  client.answer(answer_of(said("Yes.") + stopped(1, 1)));
  heard = {};
  begin("Hi.");
  pass(0);
  EXPECT_NE(client.requests.at(0).body.find(
                "The user attached these files: /workspace/attachments/a b.csv, /workspace/attachments/empty.txt."),
            std::string::npos);
}

TEST_F(FileTest, A_file_that_is_another_than_announced_or_has_a_path_is_not_put_there) {
  attach("a.csv", "1,2");
  supplies->files["a.csv"] = "3,4";
  begin("$ ls");
  ASSERT_TRUE(heard.problem);
  EXPECT_EQ(heard.problem->slug, Slug::sandbox_failed);
  EXPECT_NE(heard.problem->detail.find("SHA-256 differs"), std::string::npos);
  materials.files.clear();
  attach("../a.csv", "1,2");
  heard = {};
  begin("$ ls");
  ASSERT_TRUE(heard.problem);
  EXPECT_NE(heard.problem->detail.find("its name cannot be a file's"), std::string::npos);
}

// A-5
TEST_F(FileTest, Attached_files_that_are_not_checked_in_time_fail_the_run) {
  attach("a.csv", "1,2");
  EXPECT_EQ(fails_of_slow_disk(Slug::sandbox_failed),
            (Bodies{"The workspace cannot be read: reading the workspace took longer than 300 s.",
                    "The file \"a.csv\" cannot be put into the sandbox: checking it took longer than 300 s."}));
}

}  // namespace materials_test
}  // namespace sluice::sessions
