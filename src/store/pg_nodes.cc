#include "store/pg_nodes.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "store/pg_bounds.h"
#include "store/pg_held.h"

namespace sluice::store {

namespace {

constexpr int answer_ms_max = 10'000;  // whoever cannot beat for so long has lost its runs long since
constexpr int listen_again_ms = 500;
// Beats wait behind whatever waits here. Three times that is less than the silence after which a node is dead.
constexpr int lock_ms_max = 300;

constexpr std::string_view now_us = "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)";

PgValues values_of(const NodeFigures& figures, model::NodeId self) {
  PgValues values;
  values.id(self.ulid).text(figures.name).text(figures.version).number(figures.draining ? 1 : 0);
  values.number(figures.slots).number(figures.free_slots).number(figures.warm).number(figures.sticky);
  values.number(figures.running).number(figures.held).number(figures.parked);
  return values;
}

int64_t clock_us() {
  using std::chrono::steady_clock;
  return std::chrono::duration_cast<std::chrono::microseconds>(steady_clock::now().time_since_epoch()).count();
}

// A silence is not known yet.
std::vector<SeenNode> nodes_from(const PgRows& rows) {
  std::vector<SeenNode> seen;
  for (int row = 0; row < rows.count(); ++row) {
    NodeFigures figures{.name = std::string(rows.bytes(row, 3)),
                        .version = std::string(rows.bytes(row, 4)),
                        .draining = rows.number(row, 5) != 0,
                        .slots = rows.number(row, 6),
                        .free_slots = rows.number(row, 7),
                        .warm = rows.number(row, 8),
                        .sticky = rows.number(row, 9),
                        .running = rows.number(row, 10),
                        .held = rows.number(row, 11),
                        .parked = rows.number(row, 12)};
    seen.push_back({{rows.id(row, 0)}, {rows.number(row, 1)}, 0, std::move(figures)});
  }
  return seen;
}

PgValues values_of(const std::vector<Beat>& silent) {
  PgArray nodes(PgType::bytes);
  PgArray beats(PgType::number);
  for (const auto& [node, beat_at] : silent) {
    nodes.add(node.ulid);
    beats.add(beat_at);
  }
  PgValues values;
  values.array(nodes).array(beats);
  return values;
}

void send_news(PgSession& session, const PgNews& news) {
  PgValues values;
  values.text(news.spelt());
  session.send("SELECT pg_notify('sluice', $1)", values);
}

PgValues id_and_self(model::MailId id, model::NodeId self) {
  PgValues values;
  values.id(id.ulid).id(self.ulid);
  return values;
}

}  // namespace

// Something to be asked of the database, and who waits for it.
class PgNodes::Asking {
 public:
  explicit Asking(Repeat asked_again) : repeat(asked_again) {}
  virtual ~Asking() = default;
  const Repeat repeat;
  // In a transaction of its own, which ends with it. May be called again when that was not done.
  virtual void attempt(PgSession& session) = 0;
  virtual void fail(Error error) = 0;
  virtual void answer() = 0;
};

// `Ask` is callable as Result<T>(PgSession&).
template <typename T, typename Ask>
class PgNodes::Question final : public Asking {
 public:
  Question(Ask ask, Done<T> done, Repeat repeat) : Asking(repeat), ask_(std::move(ask)), done_(std::move(done)) {}
  void attempt(PgSession& session) override { result_.emplace(ask_(session)); }
  void fail(Error error) override { result_.emplace(std::move(error)); }
  void answer() override { done_(*std::move(result_)); }

 private:
  Ask ask_;
  Done<T> done_;
  std::optional<Result<T>> result_;
};

PgNodes::PgNodes(std::string url, model::NodeId self, world::Loop& loop, LoopPoster& poster)
    : url_(std::move(url)),
      self_(self),
      loop_(loop),
      poster_(poster),
      news_(std::make_shared<NodeNews*>(nullptr)),
      heed_(std::make_shared<Callback<void(PgNews)>>()),
      beats_(self),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { run(); }) {}

PgNodes::~PgNodes() {
  *news_ = nullptr;
  *heed_ = nullptr;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  ::eventfd_write(wake_, 1);
  thread_.join();
  ::close(wake_);
}

template <typename T, typename Ask>
void PgNodes::submit(Done<T> done, Ask ask, Repeat repeat) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::make_unique<Question<T, Ask>>(std::move(ask), std::move(done), repeat));
  }
  ::eventfd_write(wake_, 1);
}

// ── the thread ──

void PgNodes::run() {
  listen();  // before anything is answered: whoever knows of this node may count on its hearing
  for (;;) {
    work_off();
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.empty() && stopping_) return;
      if (!waiting_.empty()) continue;
    }
    listen();
    hear();
    wait();
  }
}

// For questions, for news, and for the time to try to listen again.
void PgNodes::wait() {
  std::array<pollfd, 2> watched{pollfd{wake_, POLLIN, 0}, pollfd{-1, POLLIN, 0}};
  if (listener_ != nullptr) watched[1].fd = listener_->fd();
  ::poll(watched.data(), watched.size(), listener_ == nullptr ? listen_again_ms : -1);
  eventfd_t count = 0;
  ::eventfd_read(wake_, &count);
}

void PgNodes::work_off() {
  for (;;) {
    std::vector<std::unique_ptr<Asking>> taken;
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.empty()) return;
      taken.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
    attempt(*taken[0]);
    poster_.post(std::move(taken));
  }
}

Result<std::unique_ptr<PgSession>> PgNodes::connect(std::string beginning) const {
  return PgSession::connect({.url = url_,
                             .setup = std::move(beginning),
                             .answer_ms_max = answer_ms_max,
                             .node = self_.text(),
                             .idle_ms_max = pg_idle_ms_max});
}

void PgNodes::attempt(Asking& question) {
  for (int tried = 1;; ++tried) {
    const bool was_there = session_ != nullptr && session_->is_alive();
    if (!was_there) {
      auto made = connect("SET lock_timeout = " + std::to_string(lock_ms_max));
      if (!made) return question.fail(made.error());
      session_ = std::move(made).take();
    }
    question.attempt(*session_);
    const auto failure = session_->take_failure();
    if (!failure) return;
    const auto remedy = failure->remedy();
    if (remedy == PgRemedy::reconnect) session_.reset();
    if (!failure->refused && remedy == PgRemedy::reconnect && question.repeat == Repeat::no) {
      return question.fail({ErrorKind::unavailable, "the database did not say whether it was done: " + failure->what});
    }
    const bool may_pass = remedy == PgRemedy::again || (remedy == PgRemedy::reconnect && was_there);
    if (!may_pass || tried == 3) return question.fail(error_of(*failure));
  }
}

void PgNodes::listen() {
  if (listener_ != nullptr) return;
  auto made = connect("LISTEN sluice");
  if (!made) return;
  listener_ = std::move(made).take();
  if (std::exchange(was_listening_, true)) pass_on({.all = true});
}

void PgNodes::hear() {
  if (listener_ == nullptr) return;
  // First, because it reads what came: news that were read, but not taken, do not end the wait for more.
  const bool is_alive = listener_->is_alive();
  for (const auto& notice : listener_->take_notices()) {
    auto news = PgNews::read(notice.payload);
    if (news.from == self_) continue;
    others_ = true;  // it speaks: no need to wait for the next beat
    pass_on(std::move(news));
  }
  if (!is_alive || listener_->failure()) listener_.reset();
}

void PgNodes::pass_on(PgNews news) {
  loop_.post([to = news_, heed = heed_, news = std::move(news)]() mutable {
    if (news.is_wish) return *heed ? (*heed)(std::move(news)) : void();
    // Whoever is told may leave meanwhile.
    const auto told = [&](auto tell) {
      if (*to != nullptr) tell(**to);
    };
    if (news.all) told([](NodeNews& there) { there.on_unsure(); });
    for (const auto run : news.runs) told([run](NodeNews& there) { there.on_moved(run); });
    if (news.has_mail) told([](NodeNews& there) { there.on_mail(); });
    if (news.has_held) told([](NodeNews& there) { there.on_held(); });
  });
}

// ── what is asked ──

void PgNodes::beat(NodeFigures figures, int64_t forget_ms, Done<std::vector<SeenNode>> done) {
  submit(
      std::move(done),
      [this, figures = std::move(figures), forget_ms](PgSession& session) -> Result<std::vector<SeenNode>> {
        const std::string now(now_us);
        session.send(
            "INSERT INTO nodes (id, name, version, draining, slots, free_slots, warm, sticky, running, held, parked, "
            "started_at, beat_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, " +
                now + " / 1000, " + now +
                ") ON CONFLICT (id) DO UPDATE SET name = excluded.name, version = excluded.version, "
                "draining = excluded.draining, slots = excluded.slots, free_slots = excluded.free_slots, "
                "warm = excluded.warm, sticky = excluded.sticky, running = excluded.running, held = excluded.held, "
                "parked = excluded.parked, beat_at = excluded.beat_at",
            values_of(figures, self_));
        const int64_t asked_us = clock_us();
        session.send(
            "WITH gone AS (DELETE FROM nodes n USING unnest($1, $2) AS silent (id, beat_at) WHERE n.id = silent.id AND "
            "n.beat_at = silent.beat_at AND NOT EXISTS (SELECT 1 FROM heads WHERE heads.node = n.id) RETURNING n.id) "
            "DELETE FROM mail WHERE sender IN (SELECT id FROM gone)",
            values_of(beats_.silent_for(forget_ms, asked_us)));
        session.send(
            "SELECT id, started_at, beat_at, name, version, draining, slots, free_slots, warm, sticky, running, held, "
            "parked FROM nodes ORDER BY started_at, id");
        const auto given = session.finish();
        if (given.size() != 3) return std::vector<SeenNode>();
        auto seen = nodes_from(given[2]);
        std::vector<Beat> beats;
        for (int row = 0; row < given[2].count(); ++row)
          beats.push_back({{given[2].id(row, 0)}, given[2].number(row, 2)});
        beats_.hear(beats, asked_us, clock_us(), seen);
        others_ = seen.size() > 1;
        return seen;
      });
}

void PgNodes::leave(Done<Unit> done) {
  submit(std::move(done), [this](PgSession& session) -> Result<Unit> {
    PgValues values;
    values.id(self_.ulid);
    session.send("DELETE FROM nodes WHERE id = $1", values);
    session.send("DELETE FROM mail WHERE sender = $1", values);
    session.finish();
    return Unit{};
  });
}

void PgNodes::agree(std::string name, std::string value, Done<std::string> done) {
  submit(std::move(done),
         [this, name = std::move(name), value = std::move(value)](PgSession& session) -> Result<std::string> {
           PgValues said;
           said.text(name).text(value).id(self_.ulid);
           // Of two that beat and then ask, the later one sees the other.
           session.send(
               "INSERT INTO agreed (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = "
               "excluded.value WHERE EXISTS (SELECT 1 FROM nodes WHERE id = $3) AND NOT EXISTS (SELECT 1 FROM nodes "
               "WHERE id <> $3 AND beat_at > " +
                   std::string(now_us) + " - 10000000)",
               said);
           PgValues asked;
           asked.text(name);
           session.send("SELECT value FROM agreed WHERE name = $1", asked);
           const auto given = session.finish();
           if (given.size() != 2 || given[1].count() == 0) return std::string();
           return std::string(given[1].bytes(0, 0));
         });
}

// Those that come while the last ones are being told go together.
void PgNodes::follow(std::vector<model::RunId> runs) {
  if (runs.empty() || !others_) return;
  {
    const std::lock_guard lock(mutex_);
    const bool is_asked = !wished_.empty();
    wished_.insert(wished_.end(), runs.begin(), runs.end());
    if (is_asked) return;
  }
  Done<Unit> done = [this](const Result<Unit>& told) {
    if (told) return;
    const std::lock_guard lock(mutex_);
    wished_.clear();  // they will be wished for again
  };
  submit(std::move(done), [this](PgSession& session) -> Result<Unit> {
    PgNews wish{.from = self_, .is_wish = true};
    {
      const std::lock_guard lock(mutex_);
      wish.runs = std::exchange(wished_, {});
    }
    if (wish.runs.empty()) return Unit{};  // asked again after a failure: they may be lost
    send_news(session, wish);
    session.finish();
    return Unit{};
  });
}

void PgNodes::post(Mail mail, Done<Unit> done) {
  submit(std::move(done), [this, mail = std::move(mail)](PgSession& session) -> Result<Unit> {
    PgValues values;
    values.id(mail.id.ulid).id(self_.ulid);
    mail.run ? values.id(mail.run->ulid) : values.null(PgType::bytes);
    mail.to ? values.id(mail.to->ulid) : values.null(PgType::bytes);
    values.text(mail.kind).text(mail.body);
    session.send(
        "INSERT INTO mail (id, sender, run, recipient, kind, body) VALUES ($1, $2, $3, $4, $5, $6) "
        "ON CONFLICT (id) DO NOTHING",
        values);
    send_news(session, {.from = self_, .has_mail = true});
    session.finish();
    return Unit{};
  });
}

void PgNodes::inbox(Done<std::vector<Mail>> done) {
  submit(std::move(done), [this](PgSession& session) -> Result<std::vector<Mail>> {
    PgValues values;
    values.id(self_.ulid);
    const auto rows = session.execute(
        "SELECT m.id, m.sender, m.run, m.recipient, m.kind, m.body FROM mail m LEFT JOIN runs r ON r.id = m.run "
        "WHERE m.answer IS NULL AND coalesce(m.recipient, r.node) = $1 ORDER BY m.number",
        values);
    std::vector<Mail> found;
    for (int row = 0; row < rows.count(); ++row) {
      Mail mail{{rows.id(row, 0)},
                {rows.id(row, 1)},
                std::nullopt,
                std::nullopt,
                std::string(rows.bytes(row, 4)),
                std::string(rows.bytes(row, 5))};
      if (!rows.is_null(row, 2)) mail.run = model::RunId{rows.id(row, 2)};
      if (!rows.is_null(row, 3)) mail.to = model::NodeId{rows.id(row, 3)};
      found.push_back(std::move(mail));
    }
    return found;
  });
}

void PgNodes::answer(model::MailId id, std::string body, Done<Unit> done) {
  submit(std::move(done), [this, id, body = std::move(body)](PgSession& session) -> Result<Unit> {
    PgValues values;
    values.id(id.ulid).text(body);
    // The first answer counts.
    session.send("UPDATE mail SET answer = coalesce(answer, $2) WHERE id = $1", values);
    send_news(session, {.from = self_, .has_mail = true});
    const auto given = session.finish();
    if (given.empty() || given[0].changed() > 0) return Unit{};
    return Error{ErrorKind::not_found, "nobody waits for the answer"};
  });
}

// What was given goes with the next question, so that an answer that is lost on its way is given again.
void PgNodes::answers(Done<std::vector<MailAnswer>> done) {
  submit(std::move(done), [this](PgSession& session) -> Result<std::vector<MailAnswer>> {
    PgArray given(PgType::bytes);
    for (const auto id : given_) given.add(id.ulid);
    PgValues gone;
    gone.array(given);
    session.send("DELETE FROM mail WHERE id = ANY ($1)", gone);
    PgValues values;
    values.id(self_.ulid);
    session.send("SELECT id, answer FROM mail WHERE sender = $1 AND answer IS NOT NULL ORDER BY number", values);
    const auto rows = session.finish();
    std::vector<MailAnswer> found;
    if (rows.size() != 2) return found;
    given_.clear();
    for (int row = 0; row < rows[1].count(); ++row) {
      found.push_back({{rows[1].id(row, 0)}, std::string(rows[1].bytes(row, 1))});
      given_.push_back(found.back().id);
    }
    return found;
  });
}

void PgNodes::withdraw(model::MailId id, Done<Unit> done) {
  submit(std::move(done), [this, id](PgSession& session) -> Result<Unit> {
    session.execute("DELETE FROM mail WHERE id = $1 AND sender = $2", id_and_self(id, self_));
    return Unit{};
  });
}

// ── runs that wait ──────────────────────────────────────────────────────────────────────────────

void PgNodes::held_elsewhere(Done<std::vector<HeldElsewhere>> done) {
  submit(std::move(done), [this](PgSession& session) { return pg::held_elsewhere(session, self_); });
}

void PgNodes::claim(std::vector<HeldRun> wanted, Done<std::vector<model::Run>> done) {
  submit(
      std::move(done),
      [this, wanted = std::move(wanted)](PgSession& session) -> Result<std::vector<model::Run>> {
        auto claimed = pg::claim(session, self_, wanted);
        if (claimed.empty()) return claimed;
        PgNews news{.from = self_};
        for (const auto& run : claimed) news.runs.push_back(run.id);
        send_news(session, news);
        session.finish();
        session.take_failure();  // news may be lost
        return claimed;
      },
      Repeat::no);
}

// ── nodes that died ─────────────────────────────────────────────────────────────────────────────

// One that froze in the middle of a transaction, or went with its machine, still has its locks, for which everybody
// waits. Of the same role, so no privilege is needed; its transactions are undone, or done, before anything of it is
// taken up.
void PgNodes::end_sessions(model::NodeId dead) {
  Done<Unit> done = [](const Result<Unit>& /*ended*/) {};  // else the database ends them, a little later
  submit(std::move(done), [dead](PgSession& session) -> Result<Unit> {
    PgValues values;
    values.text(" " + dead.text());
    session.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND "
        "usename = current_user AND right(application_name, length($1)) = $1",
        values);
    return Unit{};
  });
}

}  // namespace sluice::store
