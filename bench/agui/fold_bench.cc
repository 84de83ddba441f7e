// What it costs to tell a run: the same journals through the Integration API's fold and through that of each kind of
// AG-UI client.
//
//   fold_bench --rounds N
//
// Formats take turns in every round, and who begins changes, so that whatever else the machine does meets all. Prints
// one JSON object a line: the story, its events, and for each format the median over the rounds in nanoseconds an
// event, and what came out in bytes an event.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "store/simulated_store.h"
#include "wire/wire.h"
#include "world/fake_world.h"

namespace sluice::bench {
namespace {

using model::EventKind;
using wire::Format;
using Events = std::vector<model::RunEvent>;

struct Contender {
  Format format;
  std::string_view name;
};
constexpr Contender contenders[] = {
    {Format::sse, "integration"},
    {Format::full_sse, "full"},
    {Format::agui_sse, "current"},
    {Format::agui_old_sse, "old"},
    {Format::agui_tanstack_sse, "tanstack"},
};

// Nothing but a store can make a Committed.
class Journals {
 public:
  Journals() {
    run_.id = ids_.make<model::RunId>();
    run_.tenant_id = ids_.make<model::TenantId>();
    run_.conversation_id = ids_.make<model::ConversationId>();
    run_.user_message_id = ids_.make<model::MessageId>();
    run_.message_id = ids_.make<model::MessageId>();
    run_.agent_id = ids_.make<model::AgentId>();
  }
  const model::Run& run() const { return run_; }

  journal::CommittedBatch journal_of(Events events) {
    store::SimulatedDatabase disk;
    store::SimulatedStore store(disk, loop_);
    store::create_tenant(store.database(), {.id = run_.tenant_id},
                         {.id = run_.agent_id, .tenant_id = run_.tenant_id, .is_default = true},
                         [](const Result<Unit>&) {});
    journal::NewRun made;
    made.conversation =
        model::Conversation{.id = run_.conversation_id, .tenant_id = run_.tenant_id, .agent_id = run_.agent_id};
    made.user_message = {.id = run_.user_message_id, .conversation_id = run_.conversation_id};
    made.assistant_message = {.id = run_.message_id, .conversation_id = run_.conversation_id};
    made.run = run_;
    made.events = std::move(events);
    journal::CommittedBatch journal;
    store.accept(std::move(made), [&](Result<journal::AcceptOutcome> outcome) {
      SLUICE_CHECK(outcome);
      journal = std::get<journal::Accepted>(outcome.value()).events;
    });
    loop_.settle();
    return journal;
  }

 private:
  world::FakeLoop loop_;
  world::FakeEntropy entropy_;
  world::IdSource ids_{loop_, entropy_};
  model::Run run_;
};

// ── stories ──

class Story {
 public:
  // `burst`: how many events have the same stamp.
  Story(std::string name, int burst) : name_(std::move(name)), burst_(burst) {
    add(EventKind::accepted, R"({"request_id":"req_1","agui":{"thread_id":"thread-1","run_id":"client-run-1",)"
                             R"("messages":[{"id":"user-1","role":"user","content":"Look around."}]}})");
    add(EventKind::started, "");
  }
  void add(EventKind kind, std::string body) {
    events_.push_back({kind, Timestamp{1'782'986'401'000 + std::ssize(events_) / burst_}, std::move(body)});
  }
  Events end() && {
    add(EventKind::usage, R"({"input_tokens":120,"output_tokens":30})");
    add(EventKind::completed, R"({"object":"message","content":"Done.","status":"completed"})");
    return std::move(events_);
  }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  int burst_;
  Events events_;
};

Story words(std::string name, int count, int burst) {
  Story story(std::move(name), burst);
  for (int i = 0; i < count; ++i) story.add(EventKind::text, "word" + std::to_string(i % 1000) + " ");
  return story;
}

// As an agent at work: it thinks, says what it will do, calls a tool that prints and changes a file, and says what
// came.
Story mixed(int turns) {
  Story story("mixed", 4);
  for (int turn = 0; turn < turns; ++turn) {
    const auto id = R"({"id":"toolu_)" + std::to_string(turn) + "\"";
    for (int i = 0; i < 6; ++i) story.add(EventKind::reasoning, "perhaps so ");
    for (int i = 0; i < 8; ++i) story.add(EventKind::text, "I look at it. ");
    story.add(EventKind::call, id + R"(,"name":"bash"})");
    story.add(EventKind::call, id + R"(,"args":"{\"command\":"})");
    story.add(EventKind::call, id + R"(,"args":"\"ls -l src\"}"})");
    story.add(EventKind::step, id + R"(,"name":"bash","status":"running","args":{"command":"ls -l src"}})");
    for (int i = 0; i < 4; ++i)
      story.add(EventKind::output, id + R"(,"stream":"stdout","text":"-rw-r--r-- 1 user user 4096 main.cc\n"})");
    story.add(EventKind::file, R"({"type":"change","path":"/workspace/a.txt","timestamp":1782986401000})");
    story.add(EventKind::step, id + R"(,"name":"bash","status":"succeeded","result":"main.cc\n","durationMs":3})");
    story.add(EventKind::usage, R"({"input_tokens":120,"output_tokens":30})");
  }
  return story;
}

// ── measuring ──

double worked_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

struct Told {
  std::vector<double> ns;
  double bytes = 0;
};

// Nanoseconds and bytes an event; short journals are told until there is something to measure.
void tell(const journal::CommittedBatch& journal, const model::Run& run, Format format, Told& told) {
  constexpr std::size_t buffer_bytes = std::size_t{64} << 10;
  constexpr std::size_t events_min = 5000;
  const auto times = std::max<std::size_t>(1, events_min / journal.size());
  std::string out;
  out.reserve(2 * buffer_bytes);
  std::size_t bytes = 0;
  const double began = worked_ns();
  for (std::size_t i = 0; i < times; ++i) {
    wire::Fold fold({.format = format}, run);
    for (const auto& news : journal) {
      fold.apply(news, out);
      if (out.size() < buffer_bytes) continue;
      bytes += out.size();
      out.clear();
    }
    SLUICE_CHECK(fold.ended() && fold.violations() == 0);
  }
  const double took = worked_ns() - began;
  const auto events = static_cast<double>(times * journal.size());
  told.ns.push_back(took / events);
  told.bytes = static_cast<double>(bytes + out.size()) / events;
}

void measure(Story story, int rounds) {
  const auto name = story.name();
  Journals journals;
  const auto journal = journals.journal_of(std::move(story).end());
  constexpr std::size_t count = std::size(contenders);
  Told told[count];
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto at = (i + static_cast<std::size_t>(round)) % count;
      tell(journal, journals.run(), contenders[at].format, told[at]);
    }
  }
  std::printf(R"({"story":"%s","events":%zu)", name.c_str(), journal.size());
  for (std::size_t i = 0; i < count; ++i) {
    auto& ns = told[i].ns;
    std::ranges::nth_element(ns, ns.begin() + std::ssize(ns) / 2);
    std::printf(R"(,"%s":{"ns":%.1f,"bytes":%.1f})", contenders[i].name.data(), ns[ns.size() / 2], told[i].bytes);
  }
  std::printf("}\n");
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  using namespace sluice::bench;
  const int rounds = argc == 3 && std::string_view(argv[1]) == "--rounds" ? std::max(1, std::atoi(argv[2])) : 0;
  if (rounds == 0) {
    std::fprintf(stderr, "usage: fold_bench --rounds N\n");
    return 2;
  }
  measure(words("text", 10'000, 1), rounds);
  measure(words("bursts", 10'000, 16), rounds);
  measure(words("short", 50, 16), rounds);
  measure(mixed(400), rounds);
  return 0;
}
