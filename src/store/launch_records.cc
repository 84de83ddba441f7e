#include "store/launch_records.h"

#include <algorithm>

#include "base/check.h"
#include "store/database.h"
#include "store/gates.h"
#include "store/room.h"
#include "store/sql_parts.h"
#include "store/sql_rows.h"

namespace sluice::store {
namespace {

// All runs of the server wait for the one writer, so a long history is read by a reader.
constexpr std::size_t at_once_bytes_max = 64 * 1024;

enum class TooMuch : uint8_t { leaves_out_the_oldest, is_refused };

Result<std::vector<Turn>> history(Connection& db, const model::Run& run, int turns_max, std::size_t bytes_max,
                                  TooMuch too_much) {
  Query place(db,
              "SELECT messages.number, conversation FROM messages JOIN conversations ON conversations.number = "
              "conversation WHERE messages.id = ? AND conversations.id = ?",
              run.user_message_id, run.conversation_id);
  if (!place.next()) return journal::no_such("message");
  int64_t number = 0;
  int64_t of = 0;
  place.read(number, of);
  Query query(db,
              "SELECT json FROM messages WHERE conversation = ? AND number < ? AND status = 'completed' "
              "ORDER BY number DESC LIMIT ?",
              of, number, turns_max);
  std::vector<Turn> turns;
  std::string text;
  Room room(turns_max, bytes_max);
  while (query.next()) {
    query.read(text);
    auto kept = model::message_from_json(text);
    if (!kept) return kept.error();
    if (!room.take(kept.value().content.size())) {
      if (too_much == TooMuch::is_refused) return Error{ErrorKind::overloaded, "the history is long"};
      break;
    }
    turns.push_back({kept.value().role, std::move(kept.value().content), kept.value().created_at});
  }
  SLUICE_CHECK(std::ssize(turns) <= turns_max);
  std::reverse(turns.begin(), turns.end());
  return turns;
}

Result<LaunchRecords> read(Connection& db, const model::Run& run, const LaunchQuestion& question, std::size_t bytes_max,
                           TooMuch too_much) {
  auto turns = history(db, run, question.turns_max, bytes_max, too_much);
  if (!turns) return turns.error();
  LaunchRecords found;
  found.history = std::move(turns).take();
  if (!question.names.empty()) found.materials = sql::materials(db, run.tenant_id, question.names);
  found.secrets = sql::secrets_in_reach(db, {run.tenant_id, run.conversation_id, run.agent_id});
  return found;
}

}  // namespace

void launch_records(Database& database, const model::Run& run, LaunchQuestion question, Done<LaunchRecords> done) {
  database.read(run.tenant_id, std::move(done), [run, question = std::move(question)](Connection& db) {
    return read(db, run, question, limits::history_bytes_max, TooMuch::leaves_out_the_oldest);
  });
}

std::optional<LaunchRecords> sql::launch_records_at_once(Connection& db, const Accepted& accepted,
                                                         const AskForLaunch& ask) {
  const auto question = ask(accepted.agent, accepted.conversation);
  auto found = read(db, accepted.run, question, at_once_bytes_max, TooMuch::is_refused);
  return found ? std::optional(std::move(found).take()) : std::nullopt;
}

}  // namespace sluice::store
