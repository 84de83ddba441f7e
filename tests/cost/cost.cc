// Does one thing many times, for whoever counts its instructions (cost_test.py).
//
//   cost WHAT TIMES
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/json.h"
#include "net/http_parser.h"
#include "store/simulated_store.h"
#include "store/store.h"
#include "wire/wire.h"
#include "world/fake_world.h"

namespace sluice::cost {
namespace {

using model::EventKind;

// A run of the size that most have, accepted by a store.
class Conversation {
 public:
  // `wait` returns when `is_done` was called from the loop.
  template <typename Wait>
  Conversation(store::Store& store, world::Loop& loop, Callback<void()> is_done, Wait wait) : ids_(loop, entropy_) {
    run_.id = ids_.make<model::RunId>();
    run_.tenant_id = ids_.make<model::TenantId>();
    run_.conversation_id = ids_.make<model::ConversationId>();
    run_.user_message_id = ids_.make<model::MessageId>();
    run_.message_id = ids_.make<model::MessageId>();
    run_.agent_id = ids_.make<model::AgentId>();
    store::create_tenant(store.database(), {.id = run_.tenant_id},
                         {.id = run_.agent_id, .tenant_id = run_.tenant_id, .is_default = true},
                         [is_done = std::move(is_done)](const Result<Unit>& made) mutable {
                           SLUICE_CHECK(made);
                           is_done();
                         });
    wait();
  }
  const model::Run& run() const { return run_; }

  journal::NewRun with(std::vector<model::RunEvent> events) const {
    journal::NewRun made;
    made.conversation =
        model::Conversation{.id = run_.conversation_id, .tenant_id = run_.tenant_id, .agent_id = run_.agent_id};
    made.user_message = {.id = run_.user_message_id, .conversation_id = run_.conversation_id};
    made.assistant_message = {.id = run_.message_id, .conversation_id = run_.conversation_id};
    made.run = run_;
    made.events = std::move(events);
    return made;
  }

 private:
  world::FakeEntropy entropy_;
  world::IdSource ids_;
  model::Run run_;
};

model::RunEvent delta(int number) {
  return {EventKind::text, Timestamp{1'782'986'401'000 + number}, "word" + std::to_string(1000 + number % 1000) + " "};
}

// The same journal again and again: what it takes to come by one is no part of the fold.
void fold(wire::Format format, int times) {
  constexpr int told_at_once = 1000;
  world::FakeLoop loop;
  store::SimulatedDatabase disk;
  store::SimulatedStore store(disk, loop);
  const Conversation conversation(store, loop, [] {}, [&] { loop.settle(); });
  std::vector<model::RunEvent> events = {{EventKind::accepted, {1'782'986'400'000}, R"({"request_id":"req_1"})"},
                                         {EventKind::started, {1'782'986'400'001}, ""}};
  for (int i = 0; i < told_at_once; ++i) events.push_back(delta(i));
  journal::CommittedBatch journal;
  store.accept(conversation.with(std::move(events)), [&](Result<journal::AcceptOutcome> outcome) {
    SLUICE_CHECK(outcome);
    journal = std::get<journal::Accepted>(outcome.value()).events;
  });
  loop.settle();
  std::string out;
  for (int i = 0; i < times; i += told_at_once) {
    wire::Fold told({.format = format}, conversation.run());
    out.clear();
    for (const auto& news : journal) told.apply(news, out);
    SLUICE_CHECK(told.violations() == 0);
  }
}

void write_json(int times) {
  std::string out;
  for (int i = 0; i < times; ++i) {
    out.clear();
    json::Writer(out)
        .begin_object()
        .key("object")
        .string("conversation.event")
        .key("seq")
        .integer(100'000 + i % 1000)
        .key("data")
        .begin_object()
        .key("text")
        .string("A line with \"quotes\" and a break\nand an umlaut: ü.")
        .end_object()
        .end_object();
  }
  SLUICE_CHECK(times == 0 || !out.empty());
}

void parse_json(int times) {
  constexpr std::string_view text =
      R"({"initial_message":{"content":"Look around.","metadata":{"a":1,"b":[true,null,2.5]}},"agent_id":"agt_1"})";
  for (int i = 0; i < times; ++i) {
    const auto document = json::Document::parse(text);
    SLUICE_CHECK(document && document.value().root().find("agent_id"));
  }
}

void parse_request(int times) {
  constexpr std::string_view bytes =
      "POST /v1/conversations HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nAuthorization: Bearer sk_live_0123456789\r\n"
      "Content-Type: application/json\r\nAccept: application/x-ndjson\r\nContent-Length: 2\r\n\r\n{}";
  const net::RequestLimits limits;
  net::BodyRoom room;
  net::RequestParser parser(limits, room);
  for (int i = 0; i < times; ++i) {
    SLUICE_CHECK(parser.feed(bytes) == bytes.size() && parser.done());
    SLUICE_CHECK(parser.take().path == "/v1/conversations");
  }
}

// Each on its own, so that how threads meet makes no difference to how many share a transaction.
void append(int times) {
  auto reactor = world::make_reactor();
  SLUICE_CHECK(reactor);
  auto& loop = *reactor.value();
  std::string folder = (std::filesystem::temp_directory_path() / "sluice-cost-XXXXXX").string();
  SLUICE_CHECK(mkdtemp(folder.data()) != nullptr);
  world::Metrics metrics;
  auto opened = store::open_sqlite({.path = folder + "/sluice.db"}, loop, metrics);
  SLUICE_CHECK(opened);
  auto& store = *opened.value();
  const auto wait = [&] { loop.run(); };
  const Conversation conversation(store, loop, [&] { loop.stop(); }, wait);
  model::Position head{};
  store.accept(conversation.with({delta(0)}), [&](Result<journal::AcceptOutcome> outcome) {
    SLUICE_CHECK(outcome);
    head = std::get<journal::Accepted>(outcome.value()).run.head;
    loop.stop();
  });
  wait();
  for (int i = 1; i <= times; ++i) {
    store.append({.run = conversation.run().id, .epoch = model::Epoch{1}, .head = head, .events = {delta(i)}},
                 [&](const Result<journal::CommittedBatch>& written) {
                   SLUICE_CHECK(written);
                   head = written.value().back().position();
                   loop.stop();
                 });
    wait();
  }
  opened.value().reset();
  std::filesystem::remove_all(folder);
}

}  // namespace

bool act(std::string_view what, int times) {
  if (what == "fold_ndjson") return fold(wire::Format::ndjson, times), true;
  if (what == "fold_agui") return fold(wire::Format::agui_sse, times), true;
  if (what == "write_json") return write_json(times), true;
  if (what == "parse_json") return parse_json(times), true;
  if (what == "parse_request") return parse_request(times), true;
  if (what == "append") return append(times), true;
  return false;
}

}  // namespace sluice::cost

int main(int argc, char** argv) {
  if (argc == 3 && sluice::cost::act(argv[1], std::atoi(argv[2]))) return 0;
  std::fprintf(stderr, "usage: cost fold_ndjson|fold_agui|write_json|parse_json|parse_request|append TIMES\n");
  return 2;
}
