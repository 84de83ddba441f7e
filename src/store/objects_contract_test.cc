// The contract of every store, about what agents are given and hand back, and about one-time tokens
// (I-25, S-3, S-12).
#include "base/tenant_limits.h"
#include "store/store_contract.h"

namespace sluice::store {
namespace objects_contract_test {

class ObjectsContract : public StoreContract {
 public:
  model::Repository a_repository(model::TenantId tenant, std::string name) {
    return {.id = make_id<model::RepositoryId>(),
            .tenant_id = tenant,
            .name = std::move(name),
            .url = "https://git.example/a.git",
            .ref = "main",
            .depth = 7,
            .credential_alias = "GIT_TOKEN",
            .created_at = {10},
            .updated_at = {11}};
  }
  model::Skill a_skill(model::TenantId tenant, std::string name) {
    return {.id = make_id<model::SkillId>(),
            .tenant_id = tenant,
            .name = std::move(name),
            .description = "Does \"things\" ✓",
            .sha256 = std::string(64, 'a'),
            .size_bytes = 1234,
            .file_count = 3,
            .created_at = {10},
            .updated_at = {11}};
  }
  model::Environment an_environment(model::TenantId tenant, std::string name) {
    return {.id = make_id<model::EnvironmentId>(),
            .tenant_id = tenant,
            .name = std::move(name),
            .variables = {{"A", "1"}, {"B", "two\nlines \"q\""}},
            .script = "set -e\necho hi",
            .created_at = {10},
            .updated_at = {11}};
  }
  model::RunFile a_file(model::TenantId tenant, std::string name) {
    return {.id = make_id<model::FileId>(),
            .tenant_id = tenant,
            .name = std::move(name),
            .size_bytes = 5,
            .sha256 = std::string(64, 'b'),
            .created_at = {20}};
  }
  model::Execution an_execution(model::TenantId tenant) {
    return {.id = make_id<model::ExecutionId>(),
            .tenant_id = tenant,
            .env_json = R"({"variables":{}})",
            .config_json = R"({"agent":{}})",
            .skill_ids = {make_id<model::SkillId>(), make_id<model::SkillId>()},
            .created_at = {1'000},
            .expires_at = {9'000}};
  }
  // With the tokens "setup", "run" and "upload", made 32 bytes long.
  model::Execution make_execution(model::TenantId tenant, const std::string& mark = "") {
    auto made = an_execution(tenant);
    get(&store::create_execution, made, hash("bearer" + mark),
        std::vector<model::OneTimeToken>{{hash("setup" + mark), model::TokenPurpose::setup, {2'000}},
                                         {hash("run" + mark), model::TokenPurpose::run, {2'000}},
                                         {hash("upload" + mark), model::TokenPurpose::upload, {5'000}}});
    return made;
  }
  static std::string hash(std::string word) {
    word.resize(32, '\0');
    return word;
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, ObjectsContract, every_backend, name_of_backend);

// ── repositories, skills, environments ──

TEST_P(ObjectsContract, A_repository_is_kept_changed_and_deleted) {
  const auto tenant = make_tenant();
  const auto made = a_repository(tenant, "code");
  get(&store::create_repository, made);
  restart();
  EXPECT_EQ(model::to_json(get(&store::repository, tenant, made.id)), model::to_json(made));

  const RepositoryPatch patch{.url = "ssh://h/x", .depth = 0, .credential_alias = std::optional<std::string>()};
  const auto changed = get(&store::update_repository, tenant, made.id, patch, Timestamp{50});
  EXPECT_EQ(changed.name, "code");
  EXPECT_EQ(changed.url, "ssh://h/x");
  EXPECT_EQ(changed.ref, "main");
  EXPECT_EQ(changed.depth, 0);
  EXPECT_FALSE(changed.credential_alias);
  EXPECT_EQ(changed.updated_at.ms, 50);
  EXPECT_EQ(model::to_json(get(&store::repository, tenant, made.id)), model::to_json(changed));

  get(&store::delete_repository, tenant, made.id);
  EXPECT_EQ(refused(&store::repository, tenant, made.id), ErrorKind::not_found);
  EXPECT_EQ(refused(&store::delete_repository, tenant, made.id), ErrorKind::not_found);
}

TEST_P(ObjectsContract, An_environment_is_kept_changed_and_deleted) {
  const auto tenant = make_tenant();
  const auto made = an_environment(tenant, "build");
  get(&store::create_environment, made);
  restart();
  EXPECT_EQ(model::to_json(get(&store::environment, tenant, made.id)), model::to_json(made));

  const EnvironmentPatch patch{.variables = std::map<std::string, std::string>{{"C", "3"}}};
  const auto changed = get(&store::update_environment, tenant, made.id, patch, Timestamp{50});
  EXPECT_EQ(changed.variables.size(), 1U);
  EXPECT_EQ(changed.script, made.script);
  EXPECT_EQ(model::to_json(get(&store::environment, tenant, made.id)), model::to_json(changed));

  get(&store::delete_environment, tenant, made.id);
  EXPECT_EQ(refused(&store::environment, tenant, made.id), ErrorKind::not_found);
}

TEST_P(ObjectsContract, A_skill_of_a_taken_name_is_a_new_version_of_the_same_skill) {
  const auto tenant = make_tenant();
  const auto first = a_skill(tenant, "pdf");
  EXPECT_EQ(model::to_json(get(&store::put_skill, first)), model::to_json(first));
  auto second = a_skill(tenant, "pdf");
  second.description = "Does more";
  second.sha256 = std::string(64, 'c');
  second.size_bytes = 99;
  second.file_count = 1;
  second.created_at = second.updated_at = {77};
  const auto now = get(&store::put_skill, second);
  EXPECT_EQ(now.id, first.id);
  EXPECT_EQ(now.created_at, first.created_at);
  EXPECT_EQ(now.updated_at.ms, 77);
  EXPECT_EQ(now.sha256, second.sha256);
  restart();
  EXPECT_EQ(model::to_json(get(&store::skill, tenant, first.id)), model::to_json(now));
  EXPECT_EQ(refused(&store::skill, tenant, second.id), ErrorKind::not_found);
  EXPECT_EQ(get(&store::skills, tenant, PageQuery<model::SkillId>{}).rows.size(), 1U);
  get(&store::delete_skill, tenant, first.id);
  EXPECT_EQ(refused(&store::skill, tenant, first.id), ErrorKind::not_found);
}

TEST_P(ObjectsContract, Names_are_unique_within_a_tenant) {
  const auto tenant = make_tenant();
  const auto other = make_tenant("other");
  get(&store::create_repository, a_repository(tenant, "one"));
  const auto second = a_repository(tenant, "two");
  get(&store::create_repository, second);
  EXPECT_EQ(refused(&store::create_repository, a_repository(tenant, "one")), ErrorKind::conflict);
  EXPECT_EQ(refused(&store::update_repository, tenant, second.id, RepositoryPatch{.name = "one"}, Timestamp{1}),
            ErrorKind::conflict);
  EXPECT_EQ(get(&store::repository, tenant, second.id).name, "two");
  get(&store::update_repository, tenant, second.id, RepositoryPatch{.name = "two"}, Timestamp{1});
  get(&store::create_repository, a_repository(other, "one"));

  get(&store::create_environment, an_environment(tenant, "one"));
  const auto third = an_environment(tenant, "three");
  get(&store::create_environment, third);
  EXPECT_EQ(refused(&store::create_environment, an_environment(tenant, "one")), ErrorKind::conflict);
  EXPECT_EQ(refused(&store::update_environment, tenant, third.id, EnvironmentPatch{.name = "one"}, Timestamp{1}),
            ErrorKind::conflict);
  get(&store::create_environment, an_environment(other, "one"));
  EXPECT_NE(get(&store::put_skill, a_skill(tenant, "pdf")).id, get(&store::put_skill, a_skill(other, "pdf")).id);
}

TEST_P(ObjectsContract, A_tenant_has_as_many_skills_as_it_may_and_no_more) {
  const auto tenant = make_tenant();
  const auto other = make_tenant("other");
  for (int64_t i = 0; i < limits::skills_per_tenant_max; ++i) {
    get(&store::put_skill, a_skill(tenant, "skill-" + std::to_string(i)));
  }
  EXPECT_EQ(refused(&store::put_skill, a_skill(tenant, "one-more")), ErrorKind::invalid);
  get(&store::put_skill, a_skill(tenant, "skill-0"));
  get(&store::put_skill, a_skill(other, "one-more"));
}

TEST_P(ObjectsContract, Another_tenant_finds_nothing) {
  const auto tenant = make_tenant();
  const auto other = make_tenant("other");
  const auto repository = a_repository(tenant, "code");
  const auto skill = a_skill(tenant, "pdf");
  const auto environment = an_environment(tenant, "build");
  const auto file = a_file(tenant, "a.txt");
  get(&store::create_repository, repository);
  get(&store::put_skill, skill);
  get(&store::create_environment, environment);
  get(&store::create_files, std::vector{file});
  const Timestamp at{1};
  EXPECT_EQ(refused(&store::repository, other, repository.id), ErrorKind::not_found);
  EXPECT_EQ(refused(&store::update_repository, other, repository.id, RepositoryPatch{}, at), ErrorKind::not_found);
  EXPECT_EQ(refused(&store::delete_repository, other, repository.id), ErrorKind::not_found);
  EXPECT_EQ(refused(&store::skill, other, skill.id), ErrorKind::not_found);
  EXPECT_EQ(refused(&store::delete_skill, other, skill.id), ErrorKind::not_found);
  EXPECT_EQ(refused(&store::environment, other, environment.id), ErrorKind::not_found);
  EXPECT_EQ(refused(&store::update_environment, other, environment.id, EnvironmentPatch{}, at), ErrorKind::not_found);
  EXPECT_EQ(refused(&store::delete_environment, other, environment.id), ErrorKind::not_found);
  EXPECT_EQ(refused(&store::file, other, file.id), ErrorKind::not_found);
  const auto found =
      get(&store::materials, other, MaterialNames{repository.id.text(), {skill.id.text()}, environment.name});
  EXPECT_EQ(found.missing.size(), 3U);

  const auto nobody = make_id<model::TenantId>();
  EXPECT_EQ(refused(&store::create_repository, a_repository(nobody, "x")), ErrorKind::not_found);
  EXPECT_EQ(refused(&store::put_skill, a_skill(nobody, "x")), ErrorKind::not_found);
  EXPECT_EQ(refused(&store::create_environment, an_environment(nobody, "x")), ErrorKind::not_found);
  EXPECT_EQ(refused(&store::skills, nobody, PageQuery<model::SkillId>{}), ErrorKind::not_found);
}

TEST_P(ObjectsContract, They_are_listed_oldest_first_for_their_tenant_only) {
  const auto tenant = make_tenant();
  const auto other = make_tenant("other");
  std::vector<model::RepositoryId> repositories;
  std::vector<model::SkillId> skills;
  std::vector<model::EnvironmentId> environments;
  for (int i = 0; i < 5; ++i) {
    const auto name = std::string(1, static_cast<char>('z' - i));
    const auto repository = a_repository(tenant, name);
    const auto environment = an_environment(tenant, name);
    get(&store::create_repository, repository);
    get(&store::create_repository, a_repository(other, name));
    get(&store::create_environment, environment);
    repositories.push_back(repository.id);
    skills.push_back(get(&store::put_skill, a_skill(tenant, name)).id);
    environments.push_back(environment.id);
  }
  expect_pages(repositories, make_id<model::RepositoryId>(),
               [&](const auto& query) { return ask(&store::repositories, tenant, query); });
  expect_pages(skills, make_id<model::SkillId>(),
               [&](const auto& query) { return ask(&store::skills, tenant, query); });
  expect_pages(environments, make_id<model::EnvironmentId>(),
               [&](const auto& query) { return ask(&store::environments, tenant, query); });
}

TEST_P(ObjectsContract, Materials_come_in_the_order_asked_for_and_what_is_missing_is_named) {
  const auto tenant = make_tenant();
  const auto repository = a_repository(tenant, "code");
  const auto one = a_skill(tenant, "one");
  const auto two = a_skill(tenant, "two");
  const auto environment = an_environment(tenant, "build");
  get(&store::create_repository, repository);
  get(&store::put_skill, one);
  get(&store::put_skill, two);
  get(&store::create_environment, environment);

  auto found = get(&store::materials, tenant,
                   MaterialNames{repository.id.text(), {two.id.text(), one.id.text()}, environment.id.text()});
  EXPECT_TRUE(found.missing.empty());
  EXPECT_EQ(found.repository->id, repository.id);
  ASSERT_EQ(found.skills.size(), 2U);
  EXPECT_EQ(found.skills[0].id, two.id);
  EXPECT_EQ(found.skills[1].id, one.id);
  EXPECT_EQ(found.environment->id, environment.id);

  found = get(&store::materials, tenant,
              MaterialNames{"code", {"pdf", one.id.text(), make_id<model::SkillId>().text()}, "build"});
  ASSERT_EQ(found.missing.size(), 3U) << "a repository and a skill are not named by name";
  EXPECT_EQ(found.missing[0], "code");
  EXPECT_EQ(found.missing[1], "pdf");
  EXPECT_EQ(found.skills.size(), 1U);
  EXPECT_EQ(found.environment->id, environment.id) << "an environment may be";
  EXPECT_TRUE(get(&store::materials, tenant, MaterialNames{}).missing.empty());
}

TEST_P(ObjectsContract, An_agent_keeps_its_skills_and_environment_which_stay_while_it_names_them) {
  const auto tenant = make_tenant();
  const auto one = get(&store::put_skill, a_skill(tenant, "one")).id;
  const auto two = get(&store::put_skill, a_skill(tenant, "two")).id;
  const auto environment = an_environment(tenant, "build");
  get(&store::create_environment, environment);
  auto agent = an_agent(tenant, "able");
  agent.skill_ids = {two, one};
  agent.environment_id = environment.id;
  get(&store::create_agent, agent);
  restart();
  EXPECT_EQ(model::to_json(get(&store::agent, tenant, agent.id)), model::to_json(agent));
  EXPECT_EQ(refused(&store::delete_skill, tenant, one), ErrorKind::conflict);
  EXPECT_EQ(refused(&store::delete_environment, tenant, environment.id), ErrorKind::conflict);

  AgentPatch patch;
  patch.skill_ids = std::vector{two};
  EXPECT_EQ(get(&store::update_agent, tenant, agent.id, patch, Timestamp{60}).environment_id, environment.id);
  get(&store::delete_skill, tenant, one);
  patch.skill_ids.reset();
  patch.environment_id = std::optional<model::EnvironmentId>();
  const auto changed = get(&store::update_agent, tenant, agent.id, patch, Timestamp{70});
  EXPECT_EQ(changed.skill_ids, std::vector{two});
  EXPECT_EQ(model::to_json(get(&store::agent, tenant, agent.id)), model::to_json(changed));
  get(&store::delete_environment, tenant, environment.id);
}

// ── executions and their tokens ──

TEST_P(ObjectsContract, S_3_a_token_is_good_once_for_its_execution_and_purpose) {
  const auto tenant = make_tenant();
  const auto made = make_execution(tenant);
  const auto other = make_execution(tenant, "2");
  restart();
  using enum model::TokenPurpose;
  const Timestamp now{1'500};
  EXPECT_EQ(refused(&store::redeem, made.id, run, hash("setup"), now), ErrorKind::denied) << "another purpose";
  EXPECT_EQ(refused(&store::redeem, other.id, setup, hash("setup"), now), ErrorKind::denied) << "another execution";
  EXPECT_EQ(refused(&store::redeem, made.id, setup, hash("guess"), now), ErrorKind::denied);
  EXPECT_EQ(refused(&store::redeem, make_id<model::ExecutionId>(), setup, hash("setup"), now), ErrorKind::denied);
  EXPECT_EQ(refused(&store::redeem, made.id, setup, hash("setup"), Timestamp{2'000}), ErrorKind::denied) << "expired";

  const auto redeemed = get(&store::redeem, made.id, setup, hash("setup"), Timestamp{1'999}).execution;
  EXPECT_EQ(redeemed.id, made.id);
  EXPECT_EQ(redeemed.tenant_id, tenant);
  EXPECT_EQ(redeemed.env_json, made.env_json);
  EXPECT_EQ(redeemed.config_json, made.config_json);
  EXPECT_EQ(redeemed.skill_ids, made.skill_ids);
  EXPECT_EQ(redeemed.expires_at, made.expires_at);
  EXPECT_FALSE(redeemed.run_id);

  restart();
  EXPECT_EQ(refused(&store::redeem, made.id, setup, hash("setup"), now), ErrorKind::denied) << "spent";
  EXPECT_EQ(get(&store::redeem, made.id, run, hash("run"), now).execution.id, made.id);
  EXPECT_EQ(get(&store::redeem, made.id, upload, hash("upload"), Timestamp{4'999}).execution.id, made.id);
}

TEST_P(ObjectsContract, S_3_looking_at_a_token_says_what_redeeming_would_and_spends_nothing) {
  const auto tenant = make_tenant();
  const auto made = make_execution(tenant);
  const auto other = make_execution(tenant, "2");
  restart();
  using enum model::TokenPurpose;
  const Timestamp now{1'500};
  const auto nobody = make_id<model::ExecutionId>();
  EXPECT_EQ(refused(&store::check_token, made.id, run, hash("upload"), now), ErrorKind::denied) << "another purpose";
  EXPECT_EQ(refused(&store::check_token, other.id, upload, hash("upload"), now), ErrorKind::denied) << "another's";
  EXPECT_EQ(refused(&store::check_token, made.id, upload, hash("guess"), now), ErrorKind::denied);
  EXPECT_EQ(refused(&store::check_token, nobody, upload, hash("upload"), now), ErrorKind::denied);
  EXPECT_EQ(refused(&store::check_token, made.id, upload, hash("upload"), Timestamp{5'000}), ErrorKind::denied);
  for (int i = 0; i < 2; ++i) get(&store::check_token, made.id, upload, hash("upload"), Timestamp{4'999});

  EXPECT_EQ(get(&store::redeem, made.id, upload, hash("upload"), now).execution.id, made.id);
  EXPECT_EQ(refused(&store::check_token, made.id, upload, hash("upload"), now), ErrorKind::denied) << "spent";
  restart();
  EXPECT_EQ(refused(&store::check_token, made.id, upload, hash("upload"), now), ErrorKind::denied) << "spent";
  get(&store::check_token, other.id, upload, hash("upload2"), now);
}

TEST_P(ObjectsContract, S_10_a_run_that_is_being_cancelled_redeems_no_token_and_keeps_no_file) {
  const auto tenant = make_tenant();
  using State = model::RunState;
  using enum model::TokenPurpose;
  const Timestamp now{1'500};
  for (const auto state : {State::streaming, State::completed, State::failed, State::finishing, State::cancelled}) {
    const bool is_cancelled = state == State::finishing || state == State::cancelled;
    const auto begun = accepted(tenant, make_conversation(tenant).id).run;
    const auto name = std::string(name_of(state));
    const model::Execution made{
        .id = make_id<model::ExecutionId>(), .tenant_id = tenant, .run_id = begun.id, .expires_at = {9'000}};
    get(&store::create_execution, made, hash("bearer " + name),
        std::vector<model::OneTimeToken>{{hash("setup " + name), setup, {5'000}},
                                         {hash("upload " + name), upload, {5'000}}});
    auto file = a_file(tenant, "late.txt");
    file.run_id = begun.id;
    file.execution_id = made.id;
    get(&store::check_token, made.id, setup, hash("setup " + name), now);
    get(&journal::Journal::append, Append{.run = begun.id,
                                          .epoch = begun.epoch,
                                          .head = begun.head,
                                          .events = {{model::EventKind::text, now, "so far"}},
                                          .state = state});
    if (!is_cancelled) {
      get(&store::redeem, made.id, upload, hash("upload " + name), now);
      get(&store::create_files, std::vector{file});
      continue;
    }
    EXPECT_EQ(refused(&store::check_token, made.id, upload, hash("upload " + name), now), ErrorKind::denied) << name;
    EXPECT_EQ(refused(&store::redeem, made.id, upload, hash("upload " + name), now), ErrorKind::denied) << name;
    EXPECT_EQ(refused(&store::redeem, made.id, setup, hash("setup " + name), now), ErrorKind::denied) << name;
    EXPECT_EQ(refused(&store::create_files, std::vector{file}), ErrorKind::denied) << name;
    EXPECT_TRUE(get(&store::files_of_run, tenant, begun.id).empty()) << name;
  }
}

TEST_P(ObjectsContract, S_3_of_many_redeemers_at_once_exactly_one_wins) {
  const auto tenant = make_tenant();
  constexpr int execution_count = 20;
  constexpr int redeemer_count = 30;
  std::vector<model::Execution> made;
  for (int i = 0; i < execution_count; ++i) made.push_back(make_execution(tenant, std::to_string(i)));
  std::vector<int> won(execution_count);
  int answered = 0;
  // All of them wait for the writer at once, interleaved, and are committed in groups.
  for (int redeemer = 0; redeemer < redeemer_count; ++redeemer) {
    for (std::size_t i = 0; i < execution_count; ++i) {
      store::redeem(store().database(), made[i].id, model::TokenPurpose::run, hash("run" + std::to_string(i)), {1'500},
                    [&, i](const Result<Redeemed>& result) {
                      ++answered;
                      won[i] += static_cast<bool>(result) ? 1 : 0;
                      if (!result) EXPECT_EQ(result.error().kind, ErrorKind::denied);
                    });
    }
  }
  ASSERT_TRUE(loop().run_until([&] { return answered == execution_count * redeemer_count; }));
  EXPECT_EQ(won, std::vector<int>(execution_count, 1));
}

TEST_P(ObjectsContract, A_bearer_is_good_until_its_execution_expires) {
  const auto tenant = make_tenant();
  const auto made = make_execution(tenant);
  restart();
  EXPECT_EQ(get(&store::execution_of_bearer, hash("bearer"), Timestamp{8'999}).id, made.id);
  EXPECT_EQ(get(&store::execution_of_bearer, hash("bearer"), Timestamp{8'999}).tenant_id, tenant) << "again and again";
  EXPECT_EQ(refused(&store::execution_of_bearer, hash("bearer"), Timestamp{9'000}), ErrorKind::denied);
  EXPECT_EQ(refused(&store::execution_of_bearer, hash("run"), Timestamp{1'500}), ErrorKind::denied);
  EXPECT_EQ(refused(&store::create_execution, an_execution(make_id<model::TenantId>()), hash("x"),
                    std::vector<model::OneTimeToken>{}),
            ErrorKind::not_found);
}

TEST_P(ObjectsContract, Tidying_up_forgets_what_expired_a_day_ago_but_not_its_files) {
  const auto tenant = make_tenant();
  const auto made = make_execution(tenant);
  auto file = a_file(tenant, "a.txt");
  file.execution_id = made.id;
  get(&store::create_files, std::vector{file});
  get(&Store::tidy_up, Timestamp{made.expires_at.ms + limits::idempotency_ms - 1});
  EXPECT_EQ(get(&store::execution_of_bearer, hash("bearer"), Timestamp{1'500}).id, made.id);
  get(&Store::tidy_up, Timestamp{made.expires_at.ms + limits::idempotency_ms});
  EXPECT_EQ(refused(&store::execution_of_bearer, hash("bearer"), Timestamp{1'500}), ErrorKind::denied);
  EXPECT_EQ(refused(&store::redeem, made.id, model::TokenPurpose::setup, hash("setup"), Timestamp{1'500}),
            ErrorKind::denied);
  EXPECT_EQ(get(&store::files_of_execution, tenant, made.id).size(), 1U);
}

// ── files ──

TEST_P(ObjectsContract, S_12_files_are_found_by_id_by_run_and_by_execution) {
  const auto tenant = make_tenant();
  const auto other = make_tenant("other");
  const auto run = accepted(tenant, make_conversation(tenant).id).run.id;
  const auto execution = make_execution(tenant).id;
  auto first = a_file(tenant, "a.txt");
  first.run_id = run;
  auto second = a_file(tenant, "b.txt");
  second.run_id = run;
  second.execution_id = execution;
  EXPECT_TRUE(get(&store::files_of_run, tenant, run).empty());
  EXPECT_TRUE(get(&store::files_of_execution, tenant, execution).empty());
  get(&store::create_files, std::vector{first, second});
  restart();
  EXPECT_EQ(model::to_json(get(&store::file, tenant, first.id)), model::to_json(first));
  const auto of_run = get(&store::files_of_run, tenant, run);
  ASSERT_EQ(of_run.size(), 2U);
  EXPECT_EQ(model::to_json(of_run[0]), model::to_json(first));
  EXPECT_EQ(model::to_json(of_run[1]), model::to_json(second));
  const auto of_execution = get(&store::files_of_execution, tenant, execution);
  ASSERT_EQ(of_execution.size(), 1U);
  EXPECT_EQ(of_execution[0].id, second.id);
  EXPECT_EQ(refused(&store::files_of_run, other, run), ErrorKind::not_found);
  EXPECT_EQ(refused(&store::files_of_execution, other, execution), ErrorKind::not_found);
  EXPECT_EQ(refused(&store::file, tenant, make_id<model::FileId>()), ErrorKind::not_found);
}

// Whoever was not told whether they were kept asks again.
TEST_P(ObjectsContract, Files_that_are_made_again_just_as_they_are_stay_as_they_are) {
  const auto tenant = make_tenant();
  const std::vector files{a_file(tenant, "one"), a_file(tenant, "two")};
  get(&store::create_files, files);
  get(&store::create_files, files);
  EXPECT_EQ(model::to_json(get(&store::file, tenant, files[1].id)), model::to_json(files[1]));
  auto others = files;
  others[1].name = "three";
  EXPECT_EQ(refused(&store::create_files, others), ErrorKind::conflict);
}

TEST_P(ObjectsContract, Files_are_made_all_or_none) {
  const auto tenant = make_tenant();
  const auto there = a_file(tenant, "there");
  get(&store::create_files, std::vector{there});
  const auto fresh = a_file(tenant, "fresh");
  EXPECT_EQ(refused(&store::create_files, std::vector{fresh, there}), ErrorKind::conflict);
  EXPECT_EQ(refused(&store::file, tenant, fresh.id), ErrorKind::not_found);
  EXPECT_EQ(refused(&store::create_files, std::vector{fresh, a_file(make_id<model::TenantId>(), "lost")}),
            ErrorKind::not_found);
  EXPECT_EQ(refused(&store::file, tenant, fresh.id), ErrorKind::not_found);
  get(&store::create_files, std::vector<model::RunFile>{});
}

}  // namespace objects_contract_test
}  // namespace sluice::store
