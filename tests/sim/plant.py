"""Plants one bug in a copy of a source: `plant.py NAME SOURCE OUT`. Each bug is a line that somebody might have written;
a program is built with each of them, and the simulation must find it (docs/simulation.md)."""
import pathlib
import sys

# What is there, and what is put in its stead; twice for a bug that takes two places.
BUGS = {
    "lost_append": ("if (row > 0) open_runs.add_row(append.run, row, append.events.size());",
                    "if (row > 0) open_runs.add_row(append.run, row, append.events.size());"
                    " if (!append.state && append.events.size() == 1)"
                    " execute(db, \"DELETE FROM journal WHERE number = ?\", row);"),
    "two_flights": ("if (flight) looked", "if (flight && made.idempotency) looked",
                    '"INSERT INTO flights VALUES (?, ?)"', '"INSERT OR REPLACE INTO flights VALUES (?, ?)"'),
    "flight_kept": ('execute(db, "DELETE FROM flights', 'if (run.state == model::RunState::completed) '
                    'execute(db, "DELETE FROM flights'),
    "key_forgotten": ("if (made.idempotency) keep_key(", "if (false) keep_key("),
    "fence_forgotten": ("if (append.epoch != run.epoch)", "if (append.epoch > run.epoch)"),
    "slot_kept": ("  pool_.give_back(kept.mapped());\n  call_next();", ""),
    "undo_forgotten": ("      open.rows.go_back(former->mark);\n", ""),
    "epoch_kept": ("  ++run.epoch.value;\n", ""),
    "second_decision": ("if (progress_.run().state != RunState::parked) return done(not_open(open_->approval));", ""),
    "gate_forever": ("open_->approval = std::move(approval);\n  watch(left);", "open_->approval = std::move(approval);"
                     "\n  static_cast<void>(left);"),
    "box_kept": ("needs_.dispatcher.release(conversation);", "static_cast<void>(conversation);"),
    "cancelled_early": ("cancelling_.add(std::move(done));", "if (!is_over(run().state)) { auto early = run(); "
                        "early.state = RunState::cancelled; done(early); done = [](const Result<model::Run>&) {}; } "
                        "cancelling_.add(std::move(done));"),
    "unfair_queue": ("best->next_start += best->stride;", "best->next_start += 1;"),
    "position_off_by_one": ("if (seq <= after_) return false;", "if (seq < after_) return false;"),
    "checkpoint_twice": ("from_checkpoint ? progress.use_up_checkpoint(std::move(written)) :", "from_checkpoint ? written() :"),
    "layers_left": ("  leftovers_.find();\n", ""),
    "layers_taken": ("if (page && is_over(page.value().run.state)) {", "if (page) {"),
    "step_unseen": ("work.witness = std::make_shared<WrittenWitness>(live);", ""),
    "resumed_unasked": ("if (live == nullptr || is_on_) return;", "return resume(run);"),
    "look_idle": ("void Recoveries::take_up_unattended() { run(); }", "void Recoveries::take_up_unattended() {}"),
    "all_doubted": ("    needs_.host.end_recovery();\n    if (!std::exchange(patient_, true)) {",
                    "    needs_.host.end_recovery();\n    needs_.host.drop_all(why);\n"
                    "    if (!std::exchange(patient_, true)) {"),
    "conflict_believed": ("if (is_outcome_unknown(why)) return be_unsure(why);\n  if (why.kind != ErrorKind::overloaded && !name_is_taken)",
                          "if (why.kind == ErrorKind::unavailable) return be_unsure(why);\n"
                          "  if (why.kind != ErrorKind::overloaded && !name_is_taken)"),
    "list_given_up": ("if (heard.error().kind != ErrorKind::overloaded) co_return heard.error();", "co_return heard.error();"),
    "cut_off_kills": ("if (peers_.knows_others()) needs_.suspension.begin();",
                      "needs_.host.drop_all({ErrorKind::unavailable, \"this server cannot reach the store\"});"),
    "audit_forgotten": ("  keep_audit(db, append.audit);\n", "  if (append.state == model::RunState::parked) keep_audit(db, append.audit);\n"),
    "notice_forgotten": ("  for (const auto& notice : append.notices) {\n", "  for (const auto& notice : append.notices) {\n"
                         "    if (append.state && model::is_over(*append.state)) continue;\n"),
    "secret_of_refused": ("if (auto* outcome = std::get_if<AcceptOutcome>(&decided.value())) return std::move(*outcome);",
                          "if (auto* outcome = std::get_if<AcceptOutcome>(&decided.value())) {\n"
                          "    keep_secrets_of(db, made);\n    return std::move(*outcome);\n  }"),
    "text_repeated": ("case text: past_.told_text += event.body; return;", "case text: return;"),
}


def plant(name, text):
    words = iter(BUGS[name])
    for there, instead in zip(words, words):
        if text.count(there) != 1:
            sys.exit(f"plant.py: {name}: its line is there {text.count(there)} times; look at the source, and at BUGS here")
        text = text.replace(there, instead)
    return text


if __name__ == "__main__":
    bug, source, out = sys.argv[1:]
    pathlib.Path(out).write_text(plant(bug, pathlib.Path(source).read_text()))
