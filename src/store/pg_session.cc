#include "store/pg_session.h"

#include <libpq-fe.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cstring>

namespace sluice::store {

namespace {

using Conninfo = std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)>;

// A message may quote what it could not parse, passwords and all: only our own words are given.
Result<Unit> check_url(const std::string& url) {
  char* unreadable = nullptr;
  const Conninfo parsed(PQconninfoParse(url.c_str(), &unreadable), PQconninfoFree);
  PQfreemem(unreadable);
  if (parsed != nullptr) return Unit{};
  return Error{ErrorKind::invalid,
               "store.url is not a PostgreSQL address: write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with "
               "other characters than letters and digits as %XX"};
}

pg_conn* start(const std::string& url) {
  // What the URL says comes last, so it counts.
  const std::array<const char*, 10> names = {"connect_timeout",  "keepalives",
                                             "keepalives_idle",  "keepalives_interval",
                                             "keepalives_count", "tcp_user_timeout",
                                             "application_name", "client_encoding",
                                             "dbname",           nullptr};
  const std::array<const char*, 10> values = {"5",     "1",      "10",   "3",         "3",
                                              "20000", "sluice", "UTF8", url.c_str(), nullptr};
  return PQconnectdbParams(names.data(), values.data(), 1);
}

bool starts_with_any(std::string_view state, std::initializer_list<std::string_view> prefixes) {
  for (const auto prefix : prefixes) {
    if (state.starts_with(prefix)) return true;
  }
  return false;
}

// A process that froze, or a machine without power, closes no connection: what its transactions lock would be locked
// for as long as the database waits. Without a transaction nothing is locked, and nothing has to end.
std::string bounds_of(const PgSession::Options& options) {
  std::string sql;
  if (options.idle_ms_max > 0) {
    sql += "SET idle_in_transaction_session_timeout = " + std::to_string(options.idle_ms_max) + "; ";
  }
  if (options.node.empty()) return sql;
  // By its socket PostgreSQL takes these and does nothing. Operators may have a name of their own in the URL.
  sql +=
      "SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3; "
      "SET tcp_user_timeout = '10s'; "
      "SELECT set_config('application_name', left(current_setting('application_name'), 32) || ' " +
      options.node + "', false); ";
  return sql;
}

std::string trimmed(const char* message) {
  std::string out(message == nullptr ? "" : message);
  while (!out.empty() && (out.back() == '\n' || out.back() == ' ')) out.pop_back();
  return out;
}

}  // namespace

PgRemedy PgFailure::remedy() const {
  if (sqlstate.empty()) return PgRemedy::reconnect;
  if (starts_with_any(sqlstate, {"40001", "40P01", "55P03"})) return PgRemedy::again;
  // The end of the audit chain moved meanwhile. A server of an earlier version adds to it without the chain's lock.
  if (constraint == "audit_pkey") return PgRemedy::again;
  if (starts_with_any(sqlstate, {"23"})) return PgRemedy::conflict;
  if (starts_with_any(sqlstate, {"22", "54"})) return PgRemedy::refuse;
  if (starts_with_any(sqlstate, {"53", "57P03", "57014", "25006", "58030"})) return PgRemedy::later;
  if (starts_with_any(sqlstate, {"XX001", "XX002"})) return PgRemedy::human;
  return PgRemedy::reconnect;
}

Error error_of(const PgFailure& failure) {
  switch (failure.remedy()) {
    case PgRemedy::again: return {ErrorKind::overloaded, "others write the same: " + failure.what};
    case PgRemedy::conflict: return {ErrorKind::conflict, "it is there already: " + failure.what};
    case PgRemedy::refuse: return {ErrorKind::invalid, "the database does not keep such values: " + failure.what};
    case PgRemedy::later: return {ErrorKind::overloaded, "the database does not write now: " + failure.what};
    case PgRemedy::human: return {ErrorKind::corrupt, failure.what};
    case PgRemedy::reconnect: break;
  }
  return {ErrorKind::overloaded, "the database cannot be reached: " + failure.what};
}

PgRows::~PgRows() { PQclear(result_); }

int PgRows::count() const { return PQntuples(result_); }

int PgRows::changed() const { return result_ == nullptr ? 0 : std::atoi(PQcmdTuples(result_)); }

bool PgRows::is_null(int row, int column) const { return PQgetisnull(result_, row, column) != 0; }

int64_t PgRows::number(int row, int column) const {
  const auto spelt = bytes(row, column);
  int64_t value = !spelt.empty() && (spelt[0] & 0x80) != 0 && spelt.size() > 1 ? -1 : 0;
  for (const char byte : spelt) value = static_cast<int64_t>(static_cast<uint64_t>(value) << 8) | (byte & 0xff);
  return value;
}

std::string_view PgRows::bytes(int row, int column) const {
  return {PQgetvalue(result_, row, column), static_cast<std::size_t>(PQgetlength(result_, row, column))};
}

Ulid PgRows::id(int row, int column) const {
  Ulid found;
  const auto spelt = bytes(row, column);
  if (spelt.size() == found.bytes.size()) std::memcpy(found.bytes.data(), spelt.data(), spelt.size());
  return found;
}

int PgRows::column_count() const { return PQnfields(result_); }

std::string PgRows::column_name(int column) const { return PQfname(result_, column); }

uint32_t PgRows::type_of(int column) const { return PQftype(result_, column); }

Result<std::unique_ptr<PgSession>> PgSession::connect(const Options& options) {
  if (auto checked = check_url(options.url); !checked) return checked.error();
  std::unique_ptr<PgSession> session(new PgSession(start(options.url), options.answer_ms_max));
  if (PQstatus(session->connection_) != CONNECTION_OK) {
    return Error{ErrorKind::overloaded,
                 "the database cannot be reached: " + session->scrubbed(trimmed(PQerrorMessage(session->connection_)))};
  }
  PQsetNoticeReceiver(session->connection_, on_remark, session.get());
  PQsetnonblocking(session->connection_, 1);
  PQenterPipelineMode(session->connection_);
  if (!options.node.empty()) session->notice_lost_client();
  session->run(
      ("SET synchronous_commit = on; SET bytea_output = hex; SET jit = off; " + bounds_of(options) + options.setup)
          .c_str());
  if (session->failure_) return error_of(*session->failure_);
  return session;
}

PgSession::~PgSession() { PQfinish(connection_); }

// Also while a statement waits for a lock, which is when it matters. Not every version and system can.
void PgSession::notice_lost_client() {
  run("SET client_connection_check_interval = '2s'");
  if (failure_ && !failure_->sqlstate.empty()) failure_.reset();
}

void PgSession::send(std::string_view sql, const PgValues& values) {
  if (failure_) return;
  auto known = statements_.find(sql);
  bool taken = true;
  if (known == statements_.end()) {
    known = statements_.emplace(sql, "s" + std::to_string(++named_)).first;
    taken = PQsendPrepare(connection_, known->second.c_str(), known->first.c_str(), values.count(),
                          values.types().data()) == 1;
    expected_.push_back({known->first});
  }
  const auto addresses = values.addresses();
  const std::vector<int> formats(static_cast<std::size_t>(values.count()), 1);
  taken = taken && PQsendQueryPrepared(connection_, known->second.c_str(), values.count(), addresses.data(),
                                       values.sizes().data(), formats.data(), 1) == 1;
  expected_.push_back({});
  ++joined_;
  if (!taken) lose();
}

std::vector<PgRows> PgSession::finish() {
  const auto expected = std::exchange(expected_, {});
  joined_ = 0;
  std::vector<PgRows> given;
  if (failure_) return given;
  if (PQpipelineSync(connection_) != 1 || !flush()) {
    lose();
    return given;
  }
  for (const auto& [prepares] : expected) {
    auto* result = next_result();
    if (result == nullptr) {
      lose();
      break;
    }
    const auto status = PQresultStatus(result);
    const bool fine = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
    if (!fine) note(result, given.size());
    if (!fine && !prepares.empty()) statements_.erase(prepares);
    if (prepares.empty() && fine) {
      given.emplace_back(result);
    } else {
      PQclear(result);
    }
    if (next_result() != nullptr) lose();  // each has one result and an end
    if (failure_ && failure_->sqlstate.empty()) return {};
  }
  take_sync();
  if (failure_) return {};
  return given;
}

PgRows PgSession::execute(std::string_view sql, const PgValues& values) {
  send(sql, values);
  auto given = finish();
  return given.empty() ? PgRows() : std::move(given[0]);
}

void PgSession::run(const char* sql) {
  if (failure_) return;
  PQexitPipelineMode(connection_);
  if (PQsendQuery(connection_, sql) != 1 || !flush()) return lose();
  while (auto* result = next_result()) {
    const auto status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_EMPTY_QUERY) note(result, 0);
    PQclear(result);
  }
  if (PQstatus(connection_) != CONNECTION_OK || PQenterPipelineMode(connection_) != 1) lose();
}

// Reads up to the end of what was sent together.
void PgSession::take_sync() {
  for (;;) {
    auto* result = next_result();
    if (result == nullptr) return lose();
    const bool is_sync = PQresultStatus(result) == PGRES_PIPELINE_SYNC;
    if (!is_sync) note(result, std::nullopt);
    PQclear(result);
    if (is_sync) return;
  }
}

bool PgSession::wait(bool to_write) {
  pollfd watched{PQsocket(connection_), static_cast<int16_t>(to_write ? POLLIN | POLLOUT : POLLIN), 0};
  int ready = 0;
  do {
    ready = ::poll(&watched, 1, answer_ms_max_);
  } while (ready < 0 && errno == EINTR);
  if (ready == 0) lose();
  return ready > 0;
}

bool PgSession::flush() {
  for (;;) {
    const int left = PQflush(connection_);
    if (left <= 0) return left == 0;
    // It may have to be read before it goes on taking.
    if (!wait(true) || PQconsumeInput(connection_) != 1) return false;
  }
}

pg_result* PgSession::next_result() {
  while (PQisBusy(connection_) != 0) {
    if (!wait(false)) return nullptr;
    if (PQconsumeInput(connection_) != 1) break;  // PQgetResult has the server's last words, if there were some
  }
  return PQgetResult(connection_);
}

void PgSession::note(pg_result* result, std::optional<std::size_t> statement) {
  if (failure_) return;
  const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  failure_ = PgFailure{state == nullptr ? "" : state, scrubbed(trimmed(PQresultErrorMessage(result))), statement};
  if (state == nullptr) failure_->refused.reset();
  if (const char* constraint = PQresultErrorField(result, PG_DIAG_CONSTRAINT_NAME)) failure_->constraint = constraint;
}

void PgSession::lose() {
  if (!failure_) failure_ = PgFailure{"", scrubbed(trimmed(PQerrorMessage(connection_))), std::nullopt};
  if (failure_->what.empty()) failure_->what = "it does not answer";
  // Nobody must go on with half an answer: from here on there is no connection.
  if (PQsocket(connection_) >= 0) ::shutdown(PQsocket(connection_), SHUT_RDWR);
}

void PgSession::fail_corrupt(std::string what) {
  if (!failure_) failure_ = PgFailure{"XX001", std::move(what), std::nullopt};
}

std::string PgSession::scrubbed(std::string what) const {
  const std::string_view password = PQpass(connection_) == nullptr ? "" : PQpass(connection_);
  if (password.empty()) return what;
  for (auto at = what.find(password); at != std::string::npos; at = what.find(password, at)) {
    what.replace(at, password.size(), "…");
  }
  return what;
}

void PgSession::on_remark(void* self, const pg_result* remark) {
  const char* severity = PQresultErrorField(remark, PG_DIAG_SEVERITY_NONLOCALIZED);
  if (severity == nullptr) return;
  const std::string_view word(severity);
  if (word == "FATAL" || word == "PANIC") static_cast<PgSession*>(self)->is_gone_ = true;
}

bool PgSession::is_alive() {
  pollfd watched{PQsocket(connection_), POLLIN, 0};
  while (!failure_ && !is_gone_ && PQstatus(connection_) == CONNECTION_OK) {
    if (::poll(&watched, 1, 0) == 0) return true;
    if (PQconsumeInput(connection_) != 1) return false;
    PQisBusy(connection_);  // reads what came
  }
  return false;
}

int PgSession::process() const { return PQbackendPID(connection_); }

int PgSession::fd() const { return PQsocket(connection_); }

std::vector<PgNotice> PgSession::take_notices() {
  std::vector<PgNotice> taken;
  if (failure_) return taken;
  if (PQconsumeInput(connection_) != 1) lose();
  while (auto* notice = PQnotifies(connection_)) {
    taken.push_back({notice->be_pid, notice->extra});
    PQfreemem(notice);
  }
  return taken;
}

}  // namespace sluice::store
