"""Steps of a change that no compiler misses: see "Where to make a change" in docs/HACKING.md. Each check yields one sentence
for each step that was forgotten."""
import re

import source

# Limits that no test names yet: some are tested by their value. The list may only shrink.
UNTESTED_LIMITS = set("""
request_body_bytes_per_ms_min connection_count_max unread_answers_bytes_max chat_message_chars_max chat_title_chars_max
attachments_max name_chars_max metadata_keys_max metadata_key_chars_max metadata_value_chars_max
idempotency_key_chars_max env_entries_max env_name_chars_max env_value_bytes_max skill_ids_max skill_bundle_bytes_max
page_default page_max tables_per_tenant_max table_bytes_max table_row_bytes_max table_insert_rows_max
filter_conditions_max workflow_edges_max workflow_inputs_max http_block_answer_bytes_max workflow_runs_at_once_max
program_events_bytes_max journal_event_overhead_bytes history_messages_max due_notices_of_tenant_max
strangers_unread_answers_bytes_max agents_per_tenant_max environments_per_tenant_max repositories_per_tenant_max
workflows_per_tenant_max
""".split())


def _text(root, name):
    path = root / name
    return path.read_text() if path.exists() else ""


def configuration_keys_are_used(root):
    """A key that nothing reads would be accepted and do nothing."""
    schema = root / "src/config/schema.cc"
    if not schema.exists():
        return
    readers = "".join(path.read_text() for module in ("installation", "app", "ops") for path in sorted((root / "src" / module).rglob("*.cc"))
                      if not path.name.endswith("_test.cc"))
    for key in re.findall(r'^    \{"([\w.]+)", (?:text|integer|boolean|list)\b', schema.read_text(), re.M):
        if f'"{key}"' not in readers:
            yield f"src/config/schema.cc: {key} is read nowhere in installation, app and ops"


def dialects_are_complete(root):
    """A dialect of a model provider has a row, a choice in the configuration, and the tests that all dialects share."""
    rows = _text(root, "src/models/dialects.cc")
    choices = _text(root, "src/config/schema.cc")
    shared = ("src/models/failure_test.cc", "tests/fuzz/dialect_fuzz.cc")
    for path in sorted((root / "src/models").glob("*.cc")):
        text = path.read_text()
        for function in re.findall(r"^const Dialect& (\w+_dialect)\(\) \{", text, re.M):
            if f"&{function}()" not in rows:
                yield f"src/models/dialects.cc: has no row for {function}() of src/models/{path.name}, so it is never found"
        for name in re.findall(r'name\(\) const override \{ return "([\w-]+)"; \}', text):
            if not re.search(rf"[\"|]{name}[\"|]", choices):
                yield f"src/config/schema.cc: the choices of `dialect` lack {name}"
            for test in shared:
                if f'"{name}"' not in _text(root, test):
                    yield f"{test}: does not test the dialect {name}"


def limits_are_tested(root):
    """A limit that no test names is one that a change can remove."""
    declared = []
    for path in sorted((root / "src/base").glob("*limits.h")):
        declared += [(path.name, name) for name in re.findall(r"^inline constexpr [\w:]+ (\w+) =", path.read_text(), re.M)]
    if not declared:
        return
    tests = [path.read_text() for top in ("src", "tests") for end in ("*_test.cc", "*_fixture.h", "*_fuzz.cc", "*_contract.h", "contract_*.h")
             for path in sorted((root / top).rglob(end))]
    named = set(re.findall(r"\b\w+\b", "\n".join(source.bare(text) for text in tests)))
    for header, name in declared:
        if name not in named and name not in UNTESTED_LIMITS:
            yield f"src/base/{header}: no test names {name}; test what happens at the limit"
        if name in named and name in UNTESTED_LIMITS:
            yield f"tests/tidy/steps.py: {name} is tested now; remove it from UNTESTED_LIMITS"


CHECKS = (configuration_keys_are_used, dialects_are_complete, limits_are_tested)
