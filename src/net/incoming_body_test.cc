#include "net/incoming_body.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <thread>

#include "net/live_server.h"

namespace sluice::net {
namespace incoming_body_test {

constexpr std::size_t large = 3 * limits::request_body_memory_max;

class BodyTest : public testing::Test {
 protected:
  BodyTest() {
    std::filesystem::create_directories(directory);
    room.spool_dir = directory;
    room.knows_everybody = true;
  }
  ~BodyTest() override { std::filesystem::remove_all(directory); }

  bool nothing_is_left() const { return std::filesystem::is_empty(directory) && *room.spooled_bytes == 0; }

  const std::string directory = std::filesystem::temp_directory_path() / ("sluice-spool-" + std::to_string(getpid()));
  BodyRoom room;
};

std::string varied(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + i % 23);
  return text;
}

std::optional<Refused> fill(IncomingBody& body, std::string_view text) {
  for (; !text.empty(); text.remove_prefix(std::min<std::size_t>(text.size(), 10'000))) {
    if (auto refused = body.append(text.substr(0, 10'000))) return refused;
  }
  return std::nullopt;
}

TEST_F(BodyTest, A_small_body_stays_in_memory_and_a_large_one_does_not) {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, limits::request_body_memory_max, limits::request_body_memory_max + 1, large}) {
    const bool is_large = size > limits::request_body_memory_max;
    IncomingBody incoming(room);
    ASSERT_FALSE(fill(incoming, varied(size)));
    EXPECT_EQ(incoming.size(), size);
    EXPECT_EQ(room.memory_bytes, is_large ? 0 : size);
    EXPECT_EQ(*room.spooled_bytes, is_large ? size : 0);
    Body body;
    ASSERT_FALSE(incoming.finish(body));
    EXPECT_EQ(body.size(), size);
    EXPECT_EQ(body, varied(size));
    EXPECT_EQ(room.memory_bytes, 0u);
    body = {};
    EXPECT_TRUE(nothing_is_left());
  }
}

TEST_F(BodyTest, Clients_with_and_without_a_key_have_separate_limits) {
  room.knows_everybody = false;
  room.memory_bytes_max = 1000;
  room.strangers_bytes_max = 1000;
  const auto origin = std::make_shared<Origin>();
  IncomingBody stranger(room, origin);
  IncomingBody known(room, origin);
  ASSERT_FALSE(known.hold_head(100, 0, Judged::now));
  ASSERT_FALSE(stranger.hold_head(0, 0, Judged::now));
  ASSERT_FALSE(fill(known, varied(500)));
  EXPECT_EQ(origin->incoming_bytes, 600u);
  ASSERT_FALSE(known.admit());
  EXPECT_EQ(origin->incoming_bytes, 0u);
  EXPECT_EQ(room.strangers_bytes, 0u);
  EXPECT_EQ(room.memory_bytes, 600u);
  ASSERT_FALSE(fill(stranger, varied(1000)));
  EXPECT_EQ(fill(stranger, "x")->status, 503);
  EXPECT_EQ(room.strangers_bytes, 0u) << "what was refused is gone";
  ASSERT_FALSE(stranger.hold_head(0, 0, Judged::now));
  ASSERT_FALSE(fill(stranger, varied(1000)));
  ASSERT_FALSE(fill(known, varied(400))) << "its room is its own";
  EXPECT_EQ(fill(known, "x")->status, 503);
  stranger.drop();
  EXPECT_EQ(room.memory_bytes + room.strangers_bytes + origin->incoming_bytes, 0u);
}

TEST_F(BodyTest, An_address_without_a_key_has_a_bounded_share_of_the_room) {
  room.knows_everybody = false;
  room.strangers_bytes_max = 1000;
  room.strangers_bytes_per_address_max = 600;
  const auto greedy = std::make_shared<Origin>();
  const auto modest = std::make_shared<Origin>();
  IncomingBody one(room, greedy);
  IncomingBody two(room, greedy);
  IncomingBody other(room, modest);
  for (auto* body : {&one, &two, &other}) ASSERT_FALSE(body->hold_head(0, 0, Judged::now));
  ASSERT_FALSE(fill(one, varied(300)));
  EXPECT_FALSE(room.is_crowded(*greedy));
  ASSERT_FALSE(fill(two, varied(150)));
  EXPECT_TRUE(room.is_crowded(*greedy));
  EXPECT_FALSE(room.is_crowded(*modest));
  EXPECT_EQ(fill(two, varied(200))->status, 503);
  ASSERT_FALSE(fill(other, varied(600)));
  EXPECT_TRUE(room.is_crowded(*greedy)) << "all together have taken much";
}

TEST_F(BodyTest, Clients_whose_keys_are_not_checked_get_half_of_the_room) {
  room.knows_everybody = false;
  room.strangers_bytes_max = 1000;
  IncomingBody one(room);
  IncomingBody two(room);
  ASSERT_FALSE(one.hold_head(400, 101, Judged::no));
  EXPECT_EQ(room.strangers_bytes, 501u) << "what will come counts at once";
  ASSERT_FALSE(fill(one, varied(101)));
  EXPECT_EQ(room.strangers_bytes, 501u);
  EXPECT_EQ(two.hold_head(1, 0, Judged::no)->status, 503);
  ASSERT_FALSE(two.hold_head(400, 0, Judged::now)) << "the key decides, and not what others hold";
  one.drop();
  two.drop();
  EXPECT_EQ(room.strangers_bytes, 0u);
}

TEST_F(BodyTest, A_request_that_came_in_one_piece_needs_no_room) {
  room.knows_everybody = false;
  room.strangers_bytes_max = 1000;
  IncomingBody others(room);
  ASSERT_FALSE(others.hold_head(1000, 0, Judged::now));
  IncomingBody incoming(room);
  ASSERT_FALSE(fill(incoming, varied(5000)));
  Body body;
  ASSERT_FALSE(incoming.finish(body));
  EXPECT_EQ(body.size(), 5000u);
  EXPECT_EQ(room.strangers_bytes, 1000u);
}

TEST_F(BodyTest, Copies_share_the_bytes_with_other_threads) {
  Body body;
  {
    IncomingBody incoming(room);
    ASSERT_FALSE(fill(incoming, varied(large)));
    ASSERT_FALSE(incoming.finish(body));
  }
  std::thread worker([copy = body, at = body.view().data()]() mutable {
    EXPECT_EQ(copy.view().data(), at);
    EXPECT_EQ(copy, varied(large));
    copy = {};
  });
  body = {};
  worker.join();
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(BodyTest, A_body_that_is_given_up_leaves_nothing) {
  {
    IncomingBody incoming(room);
    ASSERT_FALSE(fill(incoming, varied(large)));
    EXPECT_TRUE(std::filesystem::is_empty(directory)) << "it has no name even while it comes";
  }
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(BodyTest, Without_a_directory_everything_stays_in_memory) {
  room.spool_dir.clear();
  IncomingBody incoming(room);
  ASSERT_FALSE(fill(incoming, varied(large)));
  EXPECT_EQ(room.memory_bytes, large);
  Body body;
  ASSERT_FALSE(incoming.finish(body));
  EXPECT_EQ(body, varied(large));
}

TEST_F(BodyTest, Both_places_are_bounded_over_all_bodies) {
  room.memory_bytes_max = 100'000;
  room.spooled_bytes_max = large + 10;
  IncomingBody first(room);
  IncomingBody second(room);
  ASSERT_FALSE(fill(first, varied(100'000)));
  EXPECT_EQ(second.append("x")->status, 503);
  first.drop();
  EXPECT_EQ(room.memory_bytes, 0u);
  room.memory_bytes_max = large;
  ASSERT_FALSE(fill(first, varied(large)));
  ASSERT_FALSE(second.append("small"));
  const auto refused = fill(second, varied(large));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 503);
  EXPECT_EQ(refused->detail, "too many large request bodies are on the server's disk: send this one again later");
  EXPECT_EQ(second.size(), 0u);
  first.drop();
  EXPECT_FALSE(fill(second, varied(large))) << "there is room again";
}

// The limit on file sizes makes write(2) fail as a full disk does.
TEST_F(BodyTest, A_full_disk_is_a_refusal_in_words) {
  rlimit usual{};
  getrlimit(RLIMIT_FSIZE, &usual);
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{.rlim_cur = limits::request_body_memory_max * 2, .rlim_max = usual.rlim_max};
  setrlimit(RLIMIT_FSIZE, &tight);
  IncomingBody incoming(room);
  const auto refused = fill(incoming, varied(large));
  setrlimit(RLIMIT_FSIZE, &usual);
  std::signal(SIGXFSZ, before);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 503);
  EXPECT_EQ(refused->detail,
            "the server's disk has no room for this request body: its operator must free some in its data "
            "directory, then send it again");
  EXPECT_TRUE(nothing_is_left());
  EXPECT_FALSE(fill(incoming, varied(large))) << "the next body may come";
}

TEST_F(BodyTest, A_directory_that_is_gone_is_a_refusal_in_words) {
  std::filesystem::remove_all(directory);
  IncomingBody incoming(room);
  const auto refused = fill(incoming, varied(large));
  ASSERT_TRUE(refused);
  EXPECT_NE(refused->detail.find("(No such file or directory)"), std::string::npos) << refused->detail;
}

// S-12: files of some hundred megabytes come through here.
TEST_F(BodyTest, A_server_streams_large_uploads_to_disk_and_answers_as_ever) {
  const std::string made = directory + "/made";
  Body kept;
  LiveServer live(
      [&](std::shared_ptr<Exchange> exchange) {
        kept = exchange->request().body;
        exchange->respond({.body = std::to_string(kept.size())});
      },
      {.bodies_in_flight_bytes_max = limits::request_body_memory_max, .spool_dir = made});
  EXPECT_EQ(std::filesystem::status(made).permissions(), std::filesystem::perms::owner_all);
  RawClient client(live.port());
  const std::string text = varied(4'000'000);
  client.say("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4000000\r\n\r\n" + text);
  EXPECT_TRUE(client.hear_until("\r\n\r\n4000000").ends_with("4000000"));
  live.in_loop([&] { EXPECT_EQ(kept, text); });
  client.say("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3d0900\r\n" + text + "\r\n0\r\n\r\n");
  EXPECT_TRUE(client.hear_until("\r\n\r\n4000000").ends_with("4000000"));
  live.in_loop([&] {
    EXPECT_EQ(kept, text);
    kept = {};
  });
  EXPECT_TRUE(std::filesystem::is_empty(made));
}

TEST_F(BodyTest, A_server_that_cannot_make_the_directory_does_not_start) {
  const auto reactor = world::make_reactor().take();
  world::Metrics metrics;
  const auto server = serve(*reactor, {.spool_dir = directory + "/no/such"}, [](auto) {}, nullptr, metrics);
  ASSERT_FALSE(server);
  EXPECT_NE(server.error().what.find(directory + "/no/such"), std::string::npos);
}

}  // namespace incoming_body_test
}  // namespace sluice::net
