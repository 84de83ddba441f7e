#include "tests/sim/checks.h"

#include <algorithm>
#include <ranges>
#include <regex>

#include "base/json.h"

namespace sluice::sim {
namespace {

// The Integration API's events are counted, so what a reader who returns must get is what is left of the whole: by
// counting, not by asking the fold again. Other surfaces are asked.
bool is_counted(const wire::View& view) { return view.format <= wire::Format::full_sse; }

wire::View whole_of(wire::View view) {
  if (is_counted(view)) view.after = -1;
  return view;
}

std::string rest_of(std::string whole, const wire::View& view) {
  if (!is_counted(view)) return whole;
  const std::string_view end = wire::is_sse(view.format) ? "\n\n" : "\n";
  std::size_t at = 0;
  for (int64_t i = 0; i <= view.after && at != std::string::npos; ++i) {
    at = whole.find(end, at);
    if (at != std::string::npos) at += end.size();
  }
  return at == std::string::npos ? "" : whole.substr(at);
}

}  // namespace

using model::EventKind;

Checks::Checks(Needs needs) : needs_(needs), store_(needs.disk, loop_) {}

void Checks::wrong(const std::string& rule, const Told& told, const std::string& what) {
  needs_.verdict.wrong(rule, told.run.id.text() + " " + what);
}

// ── what the disk has ───────────────────────────────────────────────────────────────────────────

void Checks::look() {
  for (const auto& tenant : needs_.clients.tenants()) look_at_tenant(tenant.id);
}

void Checks::look_at_tenant(model::TenantId tenant) {
  const auto approvals = have<store::Page<model::Approval>>(
      [&](auto done) { store::approvals(store_.database(), tenant, {}, {.limit = 1'000}, std::move(done)); });
  for (const auto& approval : approvals.rows) approvals_[approval.id] = approval;
  const auto runs = have<store::Page<model::Run>>(
      [&](auto done) { store::runs(store_.database(), tenant, {}, {.limit = 1'000}, std::move(done)); });
  for (const auto& run : runs.rows) {
    auto& told = told_[run.id];
    told.run = run;
    auto page = have<journal::JournalPage>([&](auto done) { store_.read(run.id, {}, 1 << 30, std::move(done)); });
    told.journal = std::move(page.events);
    told.message = have<store::StoredMessage>([&](auto done) {
                     store::message(store_.database(), tenant, run.message_id, std::move(done));
                   }).json;
    const auto asked = have<store::StoredMessage>(
        [&](auto done) { store::message(store_.database(), tenant, run.user_message_id, std::move(done)); });
    if (auto message = model::message_from_json(asked.json)) told.user_message = std::move(message).take();
    ++contents_[told.user_message.content];
    for (const auto& approval : approvals.rows) {
      if (approval.run_id == run.id) told.approvals.push_back(approval);
    }
  }
}

std::string Checks::fold(const Told& told, const wire::View& view) const {
  wire::Fold fold(view, told.run);
  std::string text;
  for (const auto& committed : told.journal) {
    if (!fold.ended()) fold.apply(committed, text);
  }
  return text;
}

void Checks::judge() {
  look();
  for (const auto& [id, told] : told_) {
    check_journal(told);
    check_stream(told);
    check_interruption(told);
    check_gates(told);
  }
  check_sendings();
  check_readings();
  check_awaitings();
  check_decidings();
  check_cancellings();
  if (needs_.fair) {
    check_holds();
    check_fairness();
  }
  check_sealing();
  check_audit();
  check_notices();
  check_secrets();
  needs_.verdict.count("runs", static_cast<int64_t>(told_.size()));
  for (const auto& [id, told] : told_) needs_.verdict.count("runs " + std::string(model::name_of(told.run.state)));
  needs_.verdict.count("approvals", static_cast<int64_t>(approvals_.size()));
}

// ── one run ─────────────────────────────────────────────────────────────────────────────────────

void Checks::check_journal(const Told& told) {
  const auto ends = std::ranges::count_if(
      told.journal, [](const auto& committed) { return model::is_terminal(committed.event().kind); });
  if (told.journal.empty() || ends != 1 || !model::is_terminal(told.journal.back().event().kind)) {
    return wrong("I-7", told, "has " + std::to_string(ends) + " ends, or not at its end");
  }
  const auto kind = told.journal.back().event().kind;
  const auto state = kind == EventKind::completed ? model::RunState::completed
                     : kind == EventKind::failed  ? model::RunState::failed
                                                  : model::RunState::cancelled;
  if (told.run.state != state) wrong("I-10", told, "ends otherwise than its record says");
  if (told.run.head.value != told.journal.size()) wrong("I-7", told, "has a head that is not its journal's");
}

// I-5, I-6, I-7: one letter an event.
void Checks::check_stream(const Told& told) {
  static constexpr std::pair<std::string_view, char> letters[] = {
      {"queued", 'q'},  {"message_start", 's'}, {"content_delta", 'd'}, {"approval_required", 'a'},
      {"resumed", 'r'}, {"message_end", 'm'},   {"error", 'e'}};
  const auto text = fold(told, {.format = wire::Format::ndjson});
  std::string types;
  std::string deltas;
  std::string last;
  int64_t seq = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = text.find('\n', at);
    const auto line = std::string_view(text).substr(at, end - at);
    at = end + 1;
    const auto document = json::Document::parse(line);
    if (!document) return wrong("I-6", told, "tells what is no JSON");
    const auto root = document.value().root();
    const auto type = root.find("type")->string().value_or("");
    const auto* letter = std::ranges::find(letters, type, &std::pair<std::string_view, char>::first);
    types += letter == std::end(letters) ? '?' : letter->second;
    if (root.find("seq")->integer().value_or(-1) != seq++) return wrong("I-7", told, "tells a seq with a gap");
    const auto data = *root.find("data");
    if (type == "content_delta" && !data.find("filler")) deltas += data.find("text")->string().value_or("");
    if (type == "message_end") last = data.find("message")->to_text();
  }
  check_end(told, types, deltas, last);
}

void Checks::check_end(const Told& told, const std::string& types, const std::string& deltas, const std::string& last) {
  static constexpr const char* whole = "q*(e|s(d*ar)*d*(m|e|ae))";
  if (!std::regex_match(types, std::regex(whole))) wrong("I-7", told, "breaks the grammar: " + types);
  const auto message = model::message_from_json(told.message);
  if (!message) return wrong("I-9", told, "has a message that cannot be read");
  if (message.value().status != model::message_status(told.run.state)) wrong("I-10", told, "has a wrong status");
  if (told.run.state != model::RunState::completed) return;
  if (last != told.message) wrong("I-9", told, "ends with another message than the list's: " + last);
  if (message.value().content != deltas) wrong("I-9", told, "has deltas that are not its content");
  const auto script = script_of(told.user_message.content);
  if (deltas != script.whole_text()) {
    wrong("I-8", told, "says \"" + deltas + "\" where \"" + script.whole_text() + "\" was said");
  }
}

void Checks::check_interruption(const Told& told) {
  if (told.journal.empty()) return;
  const auto& last = told.journal.back().event();
  if (last.kind != EventKind::failed || last.body.find("run-interrupted") == std::string::npos) return;
  needs_.verdict.count("runs interrupted");
  if (!needs_.interruptions.is_excused(told.run.id)) {
    wrong("interruption", told, "is interrupted, and no fault took its server or its sandbox away: " + last.body);
  }
}

// I-14 to I-16: each gate is closed once, and as its approval says.
void Checks::check_gates(const Told& told) {
  std::map<std::string, int> raised;
  std::map<std::string, int> resumed;
  std::string open;
  for (const auto& committed : told.journal) {
    const auto& event = committed.event();
    if (event.kind != EventKind::gate && event.kind != EventKind::resumed) continue;
    const auto document = json::Document::parse(event.body);
    const bool is_gate = event.kind == EventKind::gate;
    const std::string id(document.value().root().find(is_gate ? "id" : "approval_id")->string().value_or(""));
    if (is_gate == !open.empty()) wrong("I-16", told, "has gates that overlap");
    if (!is_gate && id != open) wrong("I-16", told, "goes on by another approval than it waits for");
    open = is_gate ? id : "";
    ++(is_gate ? raised : resumed)[id];
  }
  for (const auto& approval : told.approvals) {
    const auto id = approval.id.text();
    if (raised[id] != 1) wrong("I-14", told, "tells " + std::to_string(raised[id]) + " times of " + id);
    if (approval.status == model::ApprovalStatus::pending) wrong("I-14", told, "is over, and " + id + " is pending");
    const bool goes_on = approval.status == model::ApprovalStatus::approved;
    if (resumed[id] != (goes_on ? 1 : 0)) wrong("I-16", told, "went on as if " + id + " had been decided otherwise");
  }
  if (raised.size() != told.approvals.size()) wrong("I-14", told, "asked for approvals that there are no records of");
}

// A journal reads the same, from any position, when it is sealed.
void Checks::check_sealing() {
  const auto sealed = have<int>([&](auto done) { store_.tidy_up(loop_.now(), std::move(done)); });
  needs_.verdict.count("journals sealed in the end", sealed);
  for (const auto& [id, told] : told_) {
    const model::Position middle{told.journal.size() / 2};
    for (const auto after : {model::Position{}, middle}) {
      const auto page =
          have<journal::JournalPage>([&](auto done) { store_.read(id, after, 1 << 30, std::move(done)); });
      const bool is_same =
          std::ranges::equal(page.events, told.journal | std::views::drop(static_cast<std::ptrdiff_t>(after.value)),
                             [](const auto& one, const auto& other) {
                               return one.position() == other.position() && one.event() == other.event();
                             });
      if (!is_same) wrong("I-8", told, "reads otherwise when it is sealed, after " + std::to_string(after.value));
    }
  }
}

// ── what clients were told ──────────────────────────────────────────────────────────────────────

void Checks::check_sendings() {
  for (const auto& sending : needs_.clients.testimony().sendings) {
    const auto what = "message " + std::to_string(sending->number);
    const auto count = contents_.contains(sending->content) ? contents_.at(sending->content) : 0;
    if (count > 1) needs_.verdict.wrong("I-19", what + " became " + std::to_string(count) + " runs");
    if (sending->runs.size() > 1) needs_.verdict.wrong("I-19", what + " was told to be several runs");
    for (const auto& run : sending->runs) {
      const auto found = told_.find(run);
      if (found == told_.end() || found->second.user_message.content != sending->content) {
        needs_.verdict.wrong("I-8", what + " was accepted as " + run.text() + ", which the disk does not have");
      }
    }
  }
}

void Checks::check_readings() {
  for (const auto& reading : needs_.clients.testimony().readings) {
    const auto found = told_.find(reading->run.id);
    if (found == told_.end()) continue;  // told of already
    const auto all = rest_of(fold(found->second, whole_of(reading->view)), reading->view);
    if (!all.starts_with(reading->text)) {
      const auto differs = std::ranges::mismatch(all, reading->text).in2 - reading->text.begin();
      wrong("I-8", found->second,
            "was told otherwise than it is in the end, to a reader of " + reading->server->name() + " in format " +
                std::to_string(static_cast<int>(reading->view.format)) + " after " +
                std::to_string(reading->view.after) + ": …" +
                reading->text.substr(static_cast<std::size_t>(differs), 200));
    }
    if (reading->ended && reading->text != all) wrong("I-7", found->second, "ended for a reader who has not all of it");
    needs_.verdict.count("bytes read", static_cast<int64_t>(reading->text.size()));
  }
}

namespace {

bool is_ending(const wire::Ending& ending, const model::RunEvent& last) {
  const auto says = [&](const auto& end, const std::string& body) {
    return end.kind == last.kind && body == last.body;
  };
  if (const auto* completed = std::get_if<model::events::Completed>(&ending))
    return says(*completed, completed->message);
  if (const auto* failed = std::get_if<model::events::Failed>(&ending)) return says(*failed, failed->problem);
  const auto& cancelled = std::get<model::events::Cancelled>(ending);
  return says(cancelled, cancelled.problem);
}

}  // namespace

void Checks::check_awaitings() {
  for (const auto& awaiting : needs_.clients.testimony().awaitings) {
    const auto found = told_.find(awaiting->run.id);
    if (found == told_.end() || !awaiting->ending || found->second.journal.empty()) continue;
    const auto& last = found->second.journal.back().event();
    if (!is_ending(*awaiting->ending, last)) {
      wrong("I-9", found->second, "ended otherwise for the caller that waited for its end");
    }
  }
}

void Checks::check_decidings() {
  std::map<model::ApprovalId, int> told;
  for (const auto& deciding : needs_.clients.testimony().decidings) {
    const auto found = approvals_.find(deciding->approval.id);
    const auto id = deciding->approval.id.text();
    if (found == approvals_.end()) {
      needs_.verdict.wrong("I-14", id + " was seen, and is gone");
      continue;
    }
    if (!deciding->told) continue;
    const auto wanted = deciding->approve ? model::ApprovalStatus::approved : model::ApprovalStatus::denied;
    if (*deciding->told != wanted || found->second.status != wanted || found->second.resolved_by != deciding->by) {
      needs_.verdict.wrong("I-15", id + " was decided by " + deciding->by + ", and the disk says " +
                                       found->second.resolved_by.value_or("nobody"));
    }
    if (++told[deciding->approval.id] > 1) needs_.verdict.wrong("I-15", id + " was decided twice");
  }
}

void Checks::check_cancellings() {
  for (const auto& cancelling : needs_.clients.testimony().cancellings) {
    const auto found = told_.find(cancelling->run.id);
    if (found == told_.end()) continue;
    const bool cancelled = found->second.run.state == model::RunState::cancelled;
    if (cancelling->told_cancelled && !cancelled) wrong("S-2", found->second, "was told to be cancelled, and is not");
    if (cancelling->told_finished && cancelled)
      wrong("S-2", found->second, "was told to be finished, and is cancelled");
  }
}

}  // namespace sluice::sim
