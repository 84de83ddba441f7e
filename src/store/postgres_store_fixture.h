// Two servers' stores on one PostgreSQL database, which can be held up, cut off and told things.
#pragma once

#include "store/contract_world.h"
#include "store/pg_schema.h"
#include "store/postgres_fixture.h"

namespace sluice::store {

class PostgresStores : public StoreTeller, public testing::Test {
 public:
  PostgresStores() {
    store_ = opened();
    other = opened();
  }
  ~PostgresStores() override {
    store_.reset();
    other.reset();
  }

  Result<std::unique_ptr<Store>> try_to_open() {
    return open_postgres({.url = database.url(), .node = make_id<model::NodeId>()}, loop_, metrics);
  }
  std::unique_ptr<Store> opened() {
    auto store = try_to_open();
    if (!store) check_failed(store.error().what.c_str(), __FILE__, __LINE__);
    return std::move(store).take();
  }
  // Asks the other store.
  template <typename Tell>
  auto there(Tell tell) {
    std::swap(store_, other);
    auto told = tell();
    std::swap(store_, other);
    return told;
  }

  // Sessions of the stores that fit; at least one, or it is waited for.
  void cut(const std::string& which = "true") {
    wait_for("SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity WHERE datname = '" +
             database.name() + "' AND " + which);
  }
  // Until it is more than 0.
  void wait_for(const std::string& sql) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    auto admin = std::move(PgSession::connect({.url = database.server().url()})).take();
    while (admin->execute(sql).number(0, 0) <= 0) {
      SLUICE_CHECK(!admin->failure() && std::chrono::steady_clock::now() < deadline);
    }
  }
  // A session that holds something up until it goes.
  std::unique_ptr<PgSession> holding(const char* sql) const {
    auto session = std::move(PgSession::connect({.url = database.url()})).take();
    session->run(sql);
    SLUICE_CHECK(!session->failure());
    return session;
  }

  model::ServiceKey a_key(model::TenantId tenant) {
    const auto id = make_id<model::ServiceKeyId>();
    return {.id = id, .tenant_id = tenant, .name = "key", .secret_sha256 = id.text()};
  }

  PostgresDatabase database{PostgresServer::shared(),
                            PostgresServer::shared().make_template("migrated", [](const std::string& url) {
                              auto session = std::move(PgSession::connect({.url = url})).take();
                              SLUICE_CHECK(static_cast<bool>(migrate(*session)));
                            })};
  world::Metrics metrics;
  std::unique_ptr<Store> other;
};

}  // namespace sluice::store
