// The first start, and what a crash in the middle of it leaves behind.
#include "installation/bootstrap.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/digest.h"
#include "store/simulated_store.h"
#include "world/fake_world.h"

namespace sluice::installation {
namespace bootstrap_test {

class BootstrapTest : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/sluice_bootstrap_test_XXXXXX";
    root = mkdtemp(path);
  }
  void TearDown() override { std::filesystem::remove_all(root); }

  // One life of a server, as far as it gets.
  Result<Opening> start(const std::string& admin_key = "", bool is_shared = false) {
    auto data = DataDir::open(root);
    store::SimulatedStore store(disk, *reactor);
    auto opening = open_bootstrap({data.value(), store, *reactor, ids, entropy, sealer}, {"offline", "offline"},
                                  admin_key, is_shared);
    if (opening) {
      const auto kept = keep_bootstrap(data.value(), opening.value().bootstrap);
      EXPECT_TRUE(kept);
    }
    return opening;
  }
  bool key_works(const std::string& key) {
    store::SimulatedStore store(disk, *reactor);
    bool found = false;
    store::find_service_key(store.database(), sha256(key), [&](const Result<store::KeyHolder>& holder) {
      found = bool(holder);
      reactor->stop();
    });
    reactor->run();
    return found;
  }
  std::size_t tenant_count() {
    store::SimulatedStore store(disk, *reactor);
    std::size_t count = 0;
    store::tenants(store.database(), {}, [&](const Result<store::Page<model::Tenant>>& page) {
      count = page.value().rows.size();
      reactor->stop();
    });
    reactor->run();
    return count;
  }

  std::string root;
  std::unique_ptr<world::Reactor> reactor = world::make_reactor().take();
  world::FakeEntropy entropy;
  vault::Sealer sealer{vault::parse_key_file(vault::fresh_key_line(entropy)).take(), entropy};
  world::IdSource ids{*reactor, entropy};
  store::SimulatedDatabase disk;
};

TEST_F(BootstrapTest, The_first_start_makes_keys_that_work_and_the_second_keeps_them) {
  const auto first = start();
  ASSERT_TRUE(first) << first.error().what;
  EXPECT_EQ(first.value().first_start, FirstStart::yes);
  const auto& written = first.value().bootstrap;
  EXPECT_TRUE(written.service_key.starts_with("sk_int_"));
  EXPECT_TRUE(written.admin_key.starts_with("sk_adm_"));
  EXPECT_TRUE(written.runner_key.starts_with("sk_run_"));
  EXPECT_TRUE(written.workspace_id.starts_with("wsp_"));
  EXPECT_TRUE(key_works(written.service_key));
  const auto second = start();
  ASSERT_TRUE(second);
  EXPECT_EQ(second.value().first_start, FirstStart::no);
  EXPECT_EQ(second.value().bootstrap, written);
  EXPECT_EQ(tenant_count(), 1u);
}

TEST_F(BootstrapTest, The_next_start_finishes_the_bootstrap_after_any_failed_write) {
  for (const auto fault : {store::Fault::before_write, store::Fault::after_write}) {
    for (int write = 0; write < 3; ++write) {
      TearDown();
      SetUp();
      disk.wipe();
      disk.fail_write(write, fault);
      EXPECT_FALSE(start()) << "write " << write;
      const auto again = start();
      ASSERT_TRUE(again) << again.error().what;
      EXPECT_EQ(again.value().first_start, FirstStart::yes);
      EXPECT_TRUE(key_works(again.value().bootstrap.service_key));
      EXPECT_EQ(tenant_count(), 1u);
      EXPECT_EQ(start().take().bootstrap, again.value().bootstrap);
      EXPECT_FALSE(std::filesystem::exists(root + "/bootstrap.json.pending"));
    }
  }
}

TEST_F(BootstrapTest, A_lost_bootstrap_file_costs_the_service_key_but_not_the_admin_key) {
  const auto first = start().take();
  std::filesystem::remove(root + "/bootstrap.json");
  const auto second = start();
  ASSERT_TRUE(second);
  EXPECT_EQ(second.value().first_start, FirstStart::key_lost);
  EXPECT_TRUE(second.value().bootstrap.service_key.empty());
  EXPECT_TRUE(second.value().bootstrap.admin_key.starts_with("sk_adm_"));
  EXPECT_NE(second.value().bootstrap.admin_key, first.bootstrap.admin_key);
  EXPECT_EQ(tenant_count(), 1u) << "no second demo tenant";
}

TEST_F(BootstrapTest, A_server_that_joins_others_must_have_their_admin_key) {
  ASSERT_TRUE(start("sk_adm_theirs", true));
  std::filesystem::remove(root + "/bootstrap.json");
  const auto stranger = start("", true);
  ASSERT_FALSE(stranger);
  EXPECT_NE(stranger.error().what.find("SLUICE_SERVER_ADMIN_KEY"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(root + "/bootstrap.json"));
  const auto joined = start("sk_adm_theirs", true);
  ASSERT_TRUE(joined);
  EXPECT_EQ(joined.value().first_start, FirstStart::joined);
  EXPECT_EQ(tenant_count(), 1u);
}

TEST_F(BootstrapTest, One_of_two_servers_that_start_at_once_creates_the_demo_tenant) {
  {
    store::SimulatedStore other(disk, *reactor);
    other.nodes().agree("demo tenant", "tnt_of_the_other", [&](const Result<std::string>&) { reactor->stop(); });
    reactor->run();
  }
  const auto second = start("sk_adm_theirs", true);
  ASSERT_TRUE(second);
  EXPECT_EQ(second.value().first_start, FirstStart::joined);
  EXPECT_EQ(tenant_count(), 0u);
}

TEST_F(BootstrapTest, Servers_that_run_together_have_one_admin_key) {
  const auto agree = [&](store::Store& store, const std::string& key) {
    return agree_on_admin_key(store, *reactor, key);
  };
  store::SimulatedStore first(disk, *reactor, ids.make<model::NodeId>());
  store::SimulatedStore second(disk, *reactor, ids.make<model::NodeId>());
  const auto beat = [&](store::Store& store) {
    store.nodes().beat({}, 60'000, [&](const Result<std::vector<journal::SeenNode>>&) { reactor->stop(); });
    reactor->run();
  };
  ASSERT_TRUE(agree(first, "sk_adm_one"));
  beat(first);
  const auto stranger = agree(second, "sk_adm_other");
  ASSERT_FALSE(stranger);
  EXPECT_NE(stranger.error().what.find("SLUICE_SERVER_ADMIN_KEY"), std::string::npos);
  EXPECT_EQ(stranger.error().what.find("sk_adm"), std::string::npos);
  EXPECT_TRUE(agree(second, "sk_adm_one"));
  first.nodes().leave([&](const Result<Unit>&) { reactor->stop(); });
  reactor->run();
  EXPECT_TRUE(agree(second, "sk_adm_other")) << "a server that runs alone may change the key";
  EXPECT_FALSE(agree(first, "sk_adm_one"));
}

TEST_F(BootstrapTest, A_configured_admin_key_is_used_and_written_to_the_file) {
  ASSERT_TRUE(start());
  const auto configured = start("sk_adm_mine");
  ASSERT_TRUE(configured);
  EXPECT_EQ(configured.value().bootstrap.admin_key, "sk_adm_mine");
  const auto text = read_small_file(root + "/bootstrap.json");
  EXPECT_EQ(Bootstrap::parse(*text.value()).take().admin_key, "sk_adm_mine");
}

TEST_F(BootstrapTest, An_unreadable_bootstrap_file_stops_the_start) {
  ASSERT_TRUE(write_private_file(root + "/bootstrap.json", "{"));
  const auto opening = start();
  ASSERT_FALSE(opening);
  EXPECT_NE(opening.error().what.find("bootstrap.json"), std::string::npos);
}

TEST(Bootstrap, A_written_bootstrap_is_read_back_unchanged) {
  const Bootstrap whole{"tnt_1", "sk_int_1", "apk_1", "s", "sk_adm_1", "sk_run_1", "wsp_1", "http://x"};
  EXPECT_EQ(Bootstrap::parse(whole.to_json()).take(), whole);
  const Bootstrap part{.admin_key = "sk_adm_1", .base_url = "http://x"};
  EXPECT_EQ(Bootstrap::parse(part.to_json()).take(), part);
}

TEST(Bootstrap, The_printed_curl_command_reads_the_key_from_the_file) {
  const auto line = curl_line("http://127.0.0.1:1", "/my data/bootstrap.json", "");
  EXPECT_NE(line.find("'/my data/bootstrap.json'"), std::string::npos) << line;
  EXPECT_EQ(line.find("sk_"), std::string::npos);
}

}  // namespace bootstrap_test
}  // namespace sluice::installation
