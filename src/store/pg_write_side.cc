#include "store/pg_write_side.h"

#include "store/pg_schema.h"

namespace sluice::store {

Result<Unit> PgWriteSide::reopen() {
  db_ = std::make_unique<PgConnection>(nullptr);
  session_.reset();
  auto session = PgSession::connect({.url = url_,
                                     .setup = "SET lock_timeout = " + std::to_string(pg_lock_ms_max),
                                     .node = node_.text(),
                                     .idle_ms_max = pg_idle_ms_max});
  if (!session) return session.error();
  session_ = std::move(session).take();
  db_ = std::make_unique<PgConnection>(session_.get());
  return Unit{};
}

void PgWriteSide::begin(Work::Class wanted) {
  writing_.begin();
  if (session_ == nullptr || !session_->is_alive()) {
    if (const auto opened = reopen(); !opened) return db_->fail(Trouble::busy, opened.error().what);
  }
  std::string sql = "BEGIN ISOLATION LEVEL READ COMMITTED";
  if (wanted == Work::Class::boundary) {
    sql += "; SELECT pg_advisory_xact_lock(" + std::to_string(static_cast<int64_t>(PgLock::records)) + ")";
  }
  db_->run(sql.c_str());
}

}  // namespace sluice::store
