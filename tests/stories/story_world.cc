#include "tests/stories/story_world.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/json.h"

namespace sluice::stories {
namespace {

constexpr int64_t patience_steps = 200'000;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t from = 0; from < text.size();) {
    const auto end = text.find('\n', from);
    lines.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return lines;
}

std::string text_at(json::Value value, std::initializer_list<std::string_view> path) {
  for (const auto name : path) {
    const auto member = value.find(name);
    if (!member) return "";
    value = *member;
  }
  return std::string(value.string().value_or(""));
}

std::string short_form(const std::string& line) {
  auto document = json::Document::parse(line);
  EXPECT_TRUE(document) << line;
  const auto root = document.value().root();
  const auto type = text_at(root, {"type"});
  const auto data = *root.find("data");
  if (type == "message_start") return "start";
  if (type == "content_delta") {
    return (data.find("filler") ? "filler \"" : "delta \"") + text_at(data, {"text"}) + "\"";
  }
  if (type == "message_end") return "end \"" + text_at(data, {"message", "content"}) + "\"";
  const auto problem = text_at(data, {"type"});
  return "error " + problem.substr(problem.rfind('/') + 1);
}

}  // namespace

std::string name_of(Way way) {
  switch (way) {
    case Way::as_written: return "as written";
    case Way::server_dies_after_write: return "server dies after write";
    case Way::server_dies_after_each_write: return "server dies after each write";
    case Way::disk_silent_before_write: return "disk silent before write";
    case Way::disk_silent_after_write: return "disk silent after write";
    case Way::disk_full_at_write: return "disk full at write";
    case Way::reader_is_slow: return "reader is slow";
    case Way::reader_leaves_after_each_line: return "reader leaves after each line";
    case Way::clock_jumps: return "clock jumps";
  }
  return "";
}

void Ana::take(SharedBytes lines) { text += *lines; }

int64_t Ana::last_seq() const { return static_cast<int64_t>(std::count(text.begin(), text.end(), '\n')) - 1; }

StoryWorld::StoryWorld(Way way, int nth) : way_(way), nth_(nth) {
  agent_.is_default = true;
  agent_.model = {.provider = "offline", .name = "offline"};
  start_server();
  store::create_tenant(store_->database(), tenant_, agent_, [](Result<Unit> made) { ASSERT_TRUE(made); });
  model::Conversation conversation{.id = conversation_, .tenant_id = tenant_.id, .agent_id = agent_.id};
  store_->create_conversation({conversation, "", {}},
                              [](Result<journal::ConversationOutcome> made) { ASSERT_TRUE(made); });
  loop_.settle();
  writes_before_ = last_writes_ = disk_.write_count();
  if (way == Way::disk_silent_before_write) disk_.fail_write(nth, store::Fault::before_write);
  if (way == Way::disk_silent_after_write) disk_.fail_write(nth, store::Fault::after_write);
  for (int i = 0; way == Way::disk_full_at_write && i < 3; ++i) disk_.fail_write(nth + i, store::Fault::full);
}

StoryWorld::~StoryWorld() { stop_server(); }

void StoryWorld::start_server() {
  ++life_;
  store_ = std::make_unique<store::SimulatedStore>(disk_, loop_);
  dispatcher_ = runner::make_native_runner({}, {client_, loop_, entropy_, log_, metrics_});
  engine_ = engine::make_engine({*store_, *dispatcher_, loop_, ids_, log_, metrics_, sealer_}, {"http://test"});
  recovered_ = false;
  engine_->recover([this](Result<Unit> done) { recovered_ = bool(done); });
}

void StoryWorld::stop_server() {
  reading_.reset();
  ana_.cut = true;
  engine_.reset();
  dispatcher_.reset();
  store_.reset();
}

void StoryWorld::connect() {
  if (!ana_.cut || ana_.done || !run_ || !wants_to_read_ || !recovered_) return;
  ana_.cut = false;
  ana_.is_full = false;
  reading_ = engine_->read(*run_, {.format = wire::Format::ndjson, .after = ana_.last_seq()}, ana_);
}

void StoryWorld::misbehave() {
  ++steps_;
  const int writes = disk_.write_count();
  const bool wrote = writes != std::exchange(last_writes_, writes);
  // Dying at each write for ever would let nobody get anywhere: every other life is a lucky one.
  const bool dies = (way_ == Way::server_dies_after_write && wrote && writes - writes_before_ == nth_ + 1) ||
                    (way_ == Way::server_dies_after_each_write && wrote && life_ % 2 == 1);
  if (dies) {
    stop_server();
    start_server();
  }
  if (way_ == Way::clock_jumps) loop_.jump_wall_clock({steps_ % 2 == 0 ? 3'600'000 : -3'600'001});
  if (way_ == Way::reader_is_slow && reading_) {
    ana_.is_full = steps_ % 7 != 0;
    if (!ana_.is_full) reading_->more();
  }
  if (way_ == Way::reader_leaves_after_each_line && reading_ && !ana_.done && steps_ % 5 == 0) {
    reading_.reset();
    ana_.cut = true;
  }
}

void StoryWorld::go_on_until(const std::function<bool()>& done) {
  for (int64_t step = 0; step < patience_steps && !done(); ++step) {
    connect();
    if (loop_.step()) {
      misbehave();
    } else if (ana_.is_full && reading_) {
      misbehave();  // only she can make the world go on
    } else if (loop_.next_timer_ms() >= 0) {
      loop_.advance({loop_.next_timer_ms()});
      misbehave();
    } else if (!ana_.cut || !run_ || !wants_to_read_) {
      break;  // nothing will ever happen again
    }
  }
}

void StoryWorld::ana_sends(const std::string& content) {
  ana_ = Ana();
  run_.reset();
  wants_to_read_ = true;
  engine::Send send;
  send.tenant = tenant_.id;
  send.conversation = conversation_;
  send.content = content;
  send.idempotency = journal::Idempotency{key_, "createMessage", "key " + std::to_string(++sent_count_), "hash"};
  // She asks until she gets an answer; the key makes sure that she asks once.
  uint64_t asked_in_life = 0;
  bool answered = true;
  go_on_until([&] {
    if (run_) return true;
    if (recovered_ && (answered || asked_in_life != life_)) {
      asked_in_life = life_;
      answered = false;
      engine_->send(send, [this, &answered](engine::SendOutcome outcome) {
        answered = true;
        if (auto* sent = std::get_if<engine::Sent>(&outcome)) run_ = sent->run;
      });
    }
    return run_.has_value();
  });
  EXPECT_TRUE(run_.has_value()) << "the message was never accepted";
}

void StoryWorld::ana_reads_to_the_end() {
  go_on_until([&] { return ana_.done; });
  EXPECT_TRUE(ana_.done) << "the stream never ended";
}

void StoryWorld::ana_reads_lines(int count) {
  go_on_until([&] { return ana_.last_seq() + 1 >= count; });
}

void StoryWorld::ana_leaves() {
  reading_.reset();
  ana_.cut = true;
  wants_to_read_ = false;
}

void StoryWorld::ana_reads_to_the_end_later() {
  go_on_until([] { return false; });
  wants_to_read_ = true;
  ana_reads_to_the_end();
}

void StoryWorld::ana_cancels() {
  wants_to_read_ = true;
  bool cancelled = false;
  bool answered = true;
  uint64_t asked_in_life = 0;
  go_on_until([&] {
    if (!cancelled && recovered_ && (answered || asked_in_life != life_)) {
      asked_in_life = life_;
      answered = false;
      engine_->cancel(tenant_.id, run_->id, [&](std::variant<model::Run, model::Problem> answer) {
        answered = true;
        cancelled = std::holds_alternative<model::Run>(answer);
      });
    }
    return cancelled;
  });
  EXPECT_TRUE(cancelled);
}

std::string StoryWorld::ana_has_read() const {
  std::string out;
  for (const auto& line : lines_of(ana_.text)) out += short_form(line) + "\n";
  return out;
}

template <typename T>
T StoryWorld::ask(const std::function<void(store::Done<T>)>& question) {
  std::optional<T> answer;
  question([&](Result<T> result) {
    EXPECT_TRUE(result);
    if (result) answer = std::move(result).take();
  });
  loop_.settle();
  return answer ? std::move(*answer) : T{};
}

std::string StoryWorld::what_is_wrong() {
  stop_server();
  start_server();
  loop_.settle();
  if (!recovered_) return "the next server did not come up";

  // I-7, I-8: what was read is the journal's fold, byte for byte, with exactly one end.
  Ana again;
  const auto reading = engine_->read(*run_, {.format = wire::Format::ndjson, .after = -1}, again);
  loop_.settle();
  if (again.text != ana_.text) return "read again from the start it is different:\n" + again.text + ana_.text;
  int64_t seq = 0;
  for (const auto& line : lines_of(ana_.text)) {
    if (line.find("\"seq\":" + std::to_string(seq++) + ",") == std::string::npos) return "a gap before " + line;
  }

  // I-19: one message, one run, however often it was sent.
  const auto runs = ask<store::Page<model::Run>>([&](auto done) {
    store::runs(store_->database(), tenant_.id, {.conversation = conversation_}, {.limit = 100}, std::move(done));
  });
  if (static_cast<int>(runs.rows.size()) != sent_count_)
    return "there are " + std::to_string(runs.rows.size()) + " runs";
  for (const auto& run : runs.rows) {
    if (!model::is_over(run.state)) return "a run is stuck in " + std::string(model::name_of(run.state));
  }

  // I-9: the message in the last line is the message in the list.
  const auto stored = ask<store::StoredMessage>(
      [&](auto done) { store::message(store_->database(), tenant_.id, run_->message_id, std::move(done)); });
  const auto last = lines_of(ana_.text).back();
  if (last.find("message_end") != std::string::npos && last.find(stored.json) == std::string::npos) {
    return "the stored message is another: " + stored.json;
  }
  return "";
}

void tell(const std::function<void(StoryWorld&)>& story, const std::string& expected) {
  int told = 0;
  const auto tell_once = [&](Way way, int nth) {
    SCOPED_TRACE(name_of(way) + " " + std::to_string(nth));
    StoryWorld world(way, nth);
    story(world);
    EXPECT_EQ(world.ana_has_read(), expected);
    const int writes = world.writes();
    EXPECT_EQ(world.what_is_wrong(), "");
    ++told;
    return writes;
  };
  const int writes = tell_once(Way::as_written, 0);
  EXPECT_GT(writes, 0);
  for (const auto way :
       {Way::server_dies_after_each_write, Way::reader_is_slow, Way::reader_leaves_after_each_line, Way::clock_jumps}) {
    tell_once(way, 0);
  }
  for (int n = 0; n < writes; ++n) {
    for (const auto way : {Way::server_dies_after_write, Way::disk_silent_before_write, Way::disk_silent_after_write,
                           Way::disk_full_at_write}) {
      tell_once(way, n);
    }
  }
  testing::Test::RecordProperty("told", told);
}

}  // namespace sluice::stories
