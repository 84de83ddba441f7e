// A SQLite store with a little of everything in it, for the tests of what is done to whole stores.
#pragma once

#include "store/sqlite_fixture.h"

namespace sluice::store {

class FilledStoreTest : public SqliteFiles {
 public:
  // A run that is over and sealed, one that is over, one that is not and has written since its row was, an audit
  // chain, a skill, a file, an approval's tenant's key.
  void fill() {
    open();
    tenant = make_tenant();
    const auto conversation = make_conversation(tenant);
    sealed = finished(conversation.id, "The first answer.");
    get(&Store::tidy_up, Timestamp{10'000});
    over = finished(conversation.id, "The second answer, " + std::string(3000, 'x'));
    open_conversation = make_conversation(tenant).id;
    unfinished = accepted(tenant, open_conversation);
    get(&journal::Journal::append,
        Append{.run = unfinished.run.id,
               .epoch = unfinished.run.epoch,
               .head = unfinished.run.head,
               .events = {{model::EventKind::started, {6100}, ""}, {model::EventKind::text, {6200}, "Half"}}});
    for (const auto* action : {"secret.put", "secret.used", "secret.deleted"}) {
      get(&store::append_audit,
          std::vector{model::AuditEntry{
              .tenant_id = tenant, .action = action, .subject = "s", .actor = "a", .detail = "{}", .at = {7000}}});
    }
    get(&store::create_files, std::vector{model::RunFile{.id = make_id<model::FileId>(),
                                                         .tenant_id = tenant,
                                                         .run_id = over.run.id,
                                                         .name = "a.txt",
                                                         .size_bytes = 5,
                                                         .sha256 = std::string(64, 'a'),
                                                         .created_at = {8000}}});
    store_.reset();
  }
  Accepted finished(model::ConversationId conversation, const std::string& answer) {
    auto begun = accepted(tenant, conversation);
    auto end = the_end(begun, answer);
    end.events.insert(end.events.begin(), {model::EventKind::started, {6100}, ""});
    get(&journal::Journal::append, end);
    return begun;
  }

  static constexpr auto quiet = [](std::string_view, int64_t) {};
  static std::string bytes_of_file(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  const std::string place = "sqlite:" + path;
  model::TenantId tenant;
  Accepted sealed;
  Accepted over;
  Accepted unfinished;
  model::ConversationId open_conversation;
};

}  // namespace sluice::store
