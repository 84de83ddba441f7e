#include "store/sql_readers.h"

namespace sluice::store {

namespace {

// There was nothing to commit, so nothing is lost if that goes wrong.
void end_reading(Connection& db) {
  db.commit();
  db.take_failure();
}

}  // namespace

Readers::Readers(ReadConnections connections, const ReadSide& side, const Writer& writer, LoopPoster& poster,
                 ReadBounds bounds, const Executors& executors)
    : side_(side),
      writer_(writer),
      poster_(poster),
      taken_max_(bounds.taken_max),
      waiting_(poster, "too much is waiting to be read", nullptr) {
  waiting_.bound_lanes(bounds.tenant_waiting_max, std::move(bounds.refusal));
  for (std::size_t i = 0; i < connections.size(); ++i) executors_.push_back(executors());
  waiting_.notify(*executors_.at(0));
  for (std::size_t i = 0; i < connections.size(); ++i) {
    executors_[i]->start([this, reader = Reader{std::move(connections[i])}]() mutable { return turn(reader); });
  }
}

Readers::~Readers() {
  waiting_.stop();
  for (auto& executor : executors_) executor->finish();
}

bool Readers::turn(Reader& reader) {
  auto works = waiting_.take(taken_max_, [](const Work&, const WorkList&) { return true; });
  if (works.empty()) return false;
  auto& [db, generation] = reader;
  const uint64_t current = writer_.generation();
  if (generation != current) db.reset();
  generation = current;
  // They see the same moment, which is after each of them was asked for.
  bool is_reading = false;
  for (const auto& work : works) attempt(*work, db, is_reading);
  if (is_reading) end_reading(*db);
  poster_.post(std::move(works));
  return true;
}

// Twice, because a connection that stood idle may have been dead for long. Whoever fails ends the transaction.
void Readers::attempt(Work& work, std::shared_ptr<Connection>& db, bool& is_reading) const {
  for (const bool again : {true, false}) {
    if (db == nullptr) {
      auto opened = side_.open_reader();
      if (!opened) return work.fail(std::move(opened.error()).in("open the database for reading"));
      db = std::move(opened).take();
    }
    if (!std::exchange(is_reading, true)) db->begin_reading();
    if (!db->failure()) work.attempt(*db);
    const auto failure = db->take_failure();
    if (!failure) return;
    end_reading(*db);
    is_reading = false;
    if (failure->trouble == Trouble::lost) db.reset();
    if (failure->trouble != Trouble::lost || !again) return work.fail(error_of(*failure));
  }
}

}  // namespace sluice::store
