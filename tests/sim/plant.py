"""Plants one bug in a copy of a source: `plant.py NAME SOURCE OUT`. Each bug is a line that somebody might have written;
a program is built with each of them, and the simulation must find it (docs/simulation.md)."""
import pathlib
import sys

# What is there, and what is put in its stead.
BUGS = {
    "lost_append": ("row->events.insert(row->events.end(), append.events.begin(), append.events.end());",
                    "if (append.state || append.events.size() > 1)"
                    " row->events.insert(row->events.end(), append.events.begin(), append.events.end());"),
    "two_flights": ("if (row->flight) return", "if (row->flight && made.idempotency) return"),
    "flight_kept": ("if (model::is_over(row->run.state)) disk_", "if (row->run.state == model::RunState::completed) disk_"),
    "key_forgotten": ("keep(made.idempotency, {{}, run.id, {}, run.created_at});", ""),
    "fence_forgotten": ("if (append.epoch != run.epoch)", "if (append.epoch > run.epoch)"),
    "slot_kept": ("  pool_.give_back(kept.mapped());\n  call_next();", ""),
    "epoch_kept": ("++row->run.epoch.value;", ""),
    "second_decision": ("if (run_.state != RunState::parked) return done(not_open(gate_->approval));", ""),
    "gate_forever": ("gate_->approval = std::move(approval);\n  watch_gate(left);", "gate_->approval = std::move(approval);"
                     "\n  static_cast<void>(left);"),
    "box_kept": ("needs_.dispatcher.release(conversation);", "static_cast<void>(conversation);"),
    "cancelled_early": ("cancelling_.add(std::move(done), [this] {", "if (!is_over(run_.state)) { auto early = run_; "
                        "early.state = RunState::cancelled; done(early); done = [](const Result<model::Run>&) {}; } "
                        "cancelling_.add(std::move(done), [this] {"),
    "unfair_queue": ("best->next_start += best->stride;", "best->next_start += 1;"),
    "position_off_by_one": ("if (seq <= after_) return false;", "if (seq < after_) return false;"),
    "checkpoint_twice": ("from_checkpoint ? live.use_up_checkpoint(std::move(written)) :", "from_checkpoint ? written() :"),
    "layers_left": ("  find_leftovers();\n", ""),
    "layers_taken": ("if (page && is_over(page.value().run.state)) {", "if (page) {"),
    "step_unseen": ("work.witness = std::make_shared<Journalist>(ready);", ""),
    "resumed_unasked": ("if (live == nullptr || is_on_) return;", "return resume(run);"),
    "text_repeated": ("case text: past_->told_text += event.body; return;", "case text: return;"),
}


def plant(name, text):
    there, instead = BUGS[name]
    if text.count(there) != 1:
        sys.exit(f"plant.py: {name}: its line is there {text.count(there)} times; look at the source, and at BUGS here")
    return text.replace(there, instead)


if __name__ == "__main__":
    bug, source, out = sys.argv[1:]
    pathlib.Path(out).write_text(plant(bug, pathlib.Path(source).read_text()))
