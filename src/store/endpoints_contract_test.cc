// The contract of every store, about model endpoints.
#include "store/store_contract.h"

namespace sluice::store {
namespace endpoints_contract_test {

class EndpointsContract : public StoreContract {
 public:
  model::ModelEndpoint an_endpoint(model::TenantId tenant, std::string name) {
    return {.id = make_id<model::ModelEndpointId>(),
            .tenant_id = tenant,
            .name = std::move(name),
            .provider = "openai-chat",
            .base_url = "http://127.0.0.1:9/v1",
            .key_alias = "LAB_KEY",
            .models = {"small", "large \"x\""},
            .created_at = {10},
            .updated_at = {11}};
  }
  template <typename T, typename... Given, typename... Sent>
  Result<T> ask(void (*operation)(Database&, Given...), Sent... sent) {
    std::optional<Result<T>> answer;
    operation(store_->database(), std::move(sent)..., [&](Result<T> result) { answer.emplace(std::move(result)); });
    EXPECT_TRUE(loop_.run_until([&] { return answer.has_value(); }));
    return std::move(*answer);
  }
  template <typename T>
  static ErrorKind kind_of(const Result<T>& result) {
    return result ? ErrorKind::corrupt : result.error().kind;
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, EndpointsContract, every_backend, name_of_backend);

TEST_P(EndpointsContract, An_endpoint_is_kept_found_by_id_and_name_changed_and_removed) {
  const auto tenant = make_tenant();
  const auto other = make_tenant();
  const auto made = an_endpoint(tenant, "lab");
  ASSERT_TRUE(ask<Unit>(&store::create_endpoint, made));
  EXPECT_EQ(kind_of(ask<Unit>(&store::create_endpoint, an_endpoint(tenant, "lab"))), ErrorKind::conflict);
  restart();
  for (const auto& name : {std::string("lab"), made.id.text()}) {
    const auto found = ask<model::ModelEndpoint>(&store::find_endpoint, tenant, name);
    ASSERT_TRUE(found);
    EXPECT_EQ(model::to_json(found.value()), model::to_json(made));
    EXPECT_EQ(kind_of(ask<model::ModelEndpoint>(&store::find_endpoint, other, name)), ErrorKind::not_found);
  }
  const EndpointPatch patch{.name = "den", .base_url = std::optional<std::string>()};
  const auto changed = ask<model::ModelEndpoint>(&store::update_endpoint, tenant, made.id, patch, Timestamp{50});
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed.value().name, "den");
  EXPECT_FALSE(changed.value().base_url);
  EXPECT_EQ(changed.value().key_alias, "LAB_KEY");
  EXPECT_EQ(kind_of(ask<Unit>(&store::delete_endpoint, other, made.id)), ErrorKind::not_found);
  ASSERT_TRUE(ask<Unit>(&store::delete_endpoint, tenant, made.id));
  EXPECT_EQ(kind_of(ask<Unit>(&store::delete_endpoint, tenant, made.id)), ErrorKind::not_found);
}

TEST_P(EndpointsContract, Agents_that_use_one_change_with_it_and_keep_it_there) {
  const auto tenant = make_tenant();
  const auto made = an_endpoint(tenant, "lab");
  ASSERT_TRUE(ask<Unit>(&store::create_endpoint, made));
  model::Agent agent{.id = make_id<model::AgentId>(), .tenant_id = tenant, .name = "worker"};
  agent.model = {made.provider, "small", made.base_url, made.key_alias, made.id};
  get(&store::create_agent, agent);
  EXPECT_EQ(kind_of(ask<Unit>(&store::delete_endpoint, tenant, made.id)), ErrorKind::conflict);

  const EndpointPatch patch{.provider = "openai-responses", .key_alias = std::optional<std::string>()};
  ASSERT_TRUE(ask<model::ModelEndpoint>(&store::update_endpoint, tenant, made.id, patch, Timestamp{50}));
  restart();
  const auto changed = get(&store::agent, tenant, agent.id);
  EXPECT_EQ(changed.model, (model::ModelChoice{"openai-responses", "small", made.base_url, std::nullopt, made.id}));
}

TEST_P(EndpointsContract, Lists_are_paged) {
  const auto tenant = make_tenant();
  std::vector<model::ModelEndpointId> ids;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    const auto made = an_endpoint(tenant, name);
    ASSERT_TRUE(ask<Unit>(&store::create_endpoint, made));
    ids.push_back(made.id);
  }
  expect_pages(ids, make_id<model::ModelEndpointId>(), [&](const PageQuery<model::ModelEndpointId>& query) {
    return ask<Page<model::ModelEndpoint>>(&store::endpoints, tenant, query);
  });
}

}  // namespace endpoints_contract_test
}  // namespace sluice::store
