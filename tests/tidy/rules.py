"""The rules of the codebase that a program can check: which module may include which, how large files and functions
may grow, and what documents may say. faults(root) yields one sentence for each violation."""
import os
import pathlib
import re

import measures
import source
import steps
from measures import FOR_TESTS

# Each module with the modules that it may include, in order of dependency.
MODULES = {
    "base": "",
    "model": "base",
    "world": "base",
    "http": "base",
    "tls": "base",
    "net": "base world http tls",
    "journal": "base model world",
    "store": "base model world journal",
    "upkeep": "base model store",
    "gates": "base model",
    "vault": "base model world",
    "egress": "base model world http tls gates vault",
    "notices": "base model world net store",
    "dispatch": "base model",
    "wire": "base model journal dispatch",
    "models": "base model",
    "mcp": "base model",
    "harness": "base model",
    "files": "base",
    "sandbox": "base world",
    "workspace": "base world",
    "skills": "base workspace",
    "runs": "base model world net models dispatch sandbox workspace gates vault",
    "inference": "base model world net models vault runs",
    "sessions": "base model world net dispatch sandbox workspace gates vault egress runs",
    "tools": "base model world net models mcp dispatch sandbox workspace gates vault egress runs sessions",
    "agents": "base model world net dispatch runs inference sessions tools",
    "native": "base model world net models dispatch vault egress runs inference sessions tools agents",
    "programs": "base model world net models dispatch harness sandbox gates vault egress runs inference sessions tools agents",
    "runner": "base model world net models dispatch sandbox workspace vault egress runs inference sessions tools agents native programs",
    "engine": "base model world journal store wire dispatch vault gates",
    "flow": "base model world net journal store wire dispatch engine",
    "remote": "base model world net journal store dispatch",
    "client": "base world net",
    "station": "base model world http net dispatch workspace",
    "api": "base model world http net journal store files workspace skills wire dispatch engine flow gates vault notices",
    "cli": "base model world net client gates",
    "config": "base",
    "installation": "base model world net store files sandbox workspace dispatch harness inference sessions programs runner engine vault egress cli config",
    "app": "base model world net journal store upkeep files sandbox workspace skills dispatch inference sessions tools programs runner engine flow remote station gates vault egress "
           "notices api cli config installation",
    "ops": "base world net store upkeep files sandbox workspace harness client vault cli config installation app",
}
WITHOUT_PUBLIC_HEADER = {"base", "http", "installation", "model"}  # each of their headers may be included from other modules
FURTHER_PUBLIC_HEADERS = {"dispatch/envelope.h", "engine/materials.h", "files/upkeep.h", "journal/run_rules.h", "store/on_disk.h", "world/disk_room.h",
                "world/metrics.h", "world/shared_workers.h", "world/worker_job.h"}

LINES_MAX = {".h": 250, ".cc": 500, ".py": 500}
FUNCTION_LINES_MAX = 60
BANNED_PARTS = {"legacy", "v2", "manager", "helper", "helpers", "util", "utils"}
FOREIGN = re.compile(r"(sqlite3|curl|CURL|SSL|EVP|BIO|X509|ZSTD)_")  # names of other libraries
SLEEPS = re.compile(r"\b(sleep_for|sleep_until|usleep|nanosleep)\b")
# Names of values that prove an identity, and functions that compute seals. The time that a comparison of them takes must not
# reveal how much of a guess was right.
PROOF = r"(?:\w*(?:_mac|_key_sha256|_seal)|mac|csrf_token|admin_key|runner_key|service_key|hmac_sha256(?=\()|bearer_of)"
TIMED = re.compile(rf"\b{PROOF}_?(?:\([^()]*\))*\)*\s*[!=]=|[!=]=\s*(?:[\w.:]|->)*\b{PROOF}_?\b(?!\.empty)|"
                   rf"\bCRYPTO_memcmp\b|\bmemcmp\([^;]*{PROOF}")
COMPARES = "src/base/digest.cc"
DISABLED = re.compile(r"\bDISABLED_\w+|\bGTEST_SKIP\b|unittest\.skip|\.skipTest\(")
# The patterns are spelt in pieces because this file is checked too.
UNMENTIONABLE = [re.compile(p) for p in (r"\.\./" + "shared", "/work/" + "(main|shared)", "/far" + r"m/\w", "TODO" + r"\(now\)")]

REQUIREMENTS = [*(f"I-{n}" for n in range(1, 26)), *(f"S-{n}" for n in range(1, 13)),
                *(f"H-{n}" for n in range(1, 9)), *(f"A-{n}" for n in range(1, 8)),
                *(f"B-{n}" for n in range(1, 4))]
TEXT = {".cc", ".h", ".py", ".md", ".txt", ".cmake", ".json", ".yaml", ".sh", ".js", ".mjs", ".toml", ""}
UNREAD = {".git", "build", "node_modules", "__pycache__", ".cache", "sluice-data", "corpus"}


def faults(root):
    root = pathlib.Path(root)
    found = []
    for check in (includes_go_down, own_header_first, headers_say_what_they_are, sizes, measures_hold, names_say_what_they_are, tests_are_honest,
                  tests_have_a_namespace, proofs_are_not_timed, modules_list_their_sources, process_tests_are_run,
                  documents_name_what_exists, nothing_unmentionable, requirements_are_tested, *steps.CHECKS):
        found += check(root)
    return found


def walked(top):
    """All files below a folder, except the output of builds and of npm, which may vanish during the walk."""
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(set(folders) - UNREAD)
        yield from (pathlib.Path(folder, name) for name in sorted(names) if name not in UNREAD)


def files(root, *suffixes, under=("src", "tests", "bench")):
    for top in under:
        for path in walked(root / top):
            if path.suffix in suffixes and path.is_file():
                yield str(path.relative_to(root)), path.read_text()


def is_test(name):
    return FOR_TESTS.search(name) or name.startswith("tests/")


def includes_go_down(root):
    for name, text in files(root, ".h", ".cc", under=["src"]):
        module = name.split("/")[1]
        if module not in MODULES:
            yield f"{name}: {module} is not a module; add it to MODULES and to the drawing in docs/ARCHITECTURE.md"
            continue
        for header in source.includes(text):
            other = header.split("/")[0]
            if not (root / "src" / header).exists():
                yield f'{name}: "{header}" is not a header of this codebase; include headers of others with <>'
            elif FOR_TESTS.search(header):
                if not is_test(name):
                    yield f"{name}: {header} is for tests"
            elif other == module:
                continue
            elif not is_test(name) and other not in MODULES[module].split():
                yield f"{name}: {module} must not include headers of {other}"
            elif other not in WITHOUT_PUBLIC_HEADER and header != f"{other}/{other}.h" and header not in FURTHER_PUBLIC_HEADERS:
                yield f"{name}: include {other}/{other}.h, the public header of {other}, instead of {header}"


# A header that is its own source's first include is thereby compiled without other headers before it.
def own_header_first(root):
    for name, text in files(root, ".cc", under=["src"]):
        stem = name[len("src/"):-len(".cc")]
        found = re.findall(r'^#include ["<]([^">]+)', text, re.M)
        if (root / "src" / f"{stem}.h").exists() and (not found or found[0] != f"{stem}.h"):
            yield f'{name}: the first include must be "{stem}.h"'


def headers_say_what_they_are(root):
    for name, text in files(root, ".h"):
        if not text.startswith("//"):
            yield f"{name}: begin with a sentence that says what this is"
        if "\n#pragma once\n" not in text:
            yield f"{name}: no #pragma once"


def over_limits(root):
    """(what, how many, of what, the most, what to do) of everything that is larger than it should be."""
    for name, text in files(root, ".h", ".cc", ".py"):
        lines = text.count("\n")
        if lines > LINES_MAX[pathlib.Path(name).suffix]:
            yield name, lines, "lines", LINES_MAX[pathlib.Path(name).suffix], "Split it by noun"
        if name.endswith((".h", ".cc")):
            for function, length in source.functions(source.bare(text)):
                if length > FUNCTION_LINES_MAX:
                    yield f"{name}:{function}", length, "lines", FUNCTION_LINES_MAX, "Split it by noun"
    for owner, count in measures.methods_by_class(root).items():
        if count > measures.METHODS_MAX:
            yield owner, count, "methods", measures.METHODS_MAX, "Split the class by its jobs"
    for owner, sources in measures.sources_by_class(root).items():
        yield owner, len(sources), "sources", 1, f"Split the class, not its source ({', '.join(sources)})"
    for circle in measures.cycles(root):
        yield f"{circle[0]}:circle", len(circle), "files", 1, f"They include each other: {', '.join(circle)}. Move a type down"
    for word, count in measures.dialect(root).items():
        if count > 0:
            yield f"word:{word}", count, "uses", 0, "Say it in plain words"


def ratchet(root):
    path = root / "tests/tidy/ratchet.txt"
    lines = [line.rsplit(maxsplit=1) for line in path.read_text().splitlines()] if path.exists() else []
    return {what: float(count) for what, count in lines}


# What was too large when a limit was introduced is listed in ratchet.txt and may only shrink.
def sizes(root):
    allowed = {what: int(count) for what, count in ratchet(root).items() if not what.startswith("measure:")}
    for what, count, unit, most, advice in over_limits(root):
        known = allowed.pop(what, None)
        if known is None:
            yield f"{what}: {count} {unit}; the most is {most}. {advice}"
        elif count > known:
            yield f"{what}: {count} {unit}, and it was {known}: what is over a limit must not grow. {advice}"
        elif count < known:
            yield f"{what}: {count} {unit} now. Lower its line in tests/tidy/ratchet.txt from {known}"
    for what in allowed:
        yield f"{what}: within its limit now, or deleted. Remove it from tests/tidy/ratchet.txt"


# Measures of the whole codebase are listed too, as `measure:lines 112875`: they may not get worse than the line. A line that is
# far behind holds nothing, so it must be renewed.
def measures_hold(root):
    known = {what.removeprefix("measure:"): value for what, value in ratchet(root).items() if what.startswith("measure:")}
    if not known:
        return
    for what, value, more_is_better, slack in measures.held(root):
        if what not in known:
            continue
        better = value - known[what] if more_is_better else known[what] - value
        if better < -slack - 1e-9:
            advice = ". `python3 tests/tidy/measures.py lone` names them: fold one into its reader, or give the reason in a line " \
                     "`// Own file: …`" if what == "lone-headers" else ""
            yield f"measure:{what}: {value:.4g} now, and it was {known[what]:.4g}: it must not get worse{advice}"
        elif better > max(0.1 * known[what], 5 * slack, 10 if what == "lone-headers" else 0):
            yield f"measure:{what}: {value:.4g} now. Renew its line in tests/tidy/ratchet.txt, which says {known[what]:.4g}"


def names_say_what_they_are(root):
    for name, text in files(root, ".h", ".cc", ".py"):
        words = {pathlib.Path(name).stem}
        if not name.endswith(".py"):
            words |= set(source.names(source.bare(text)))
        for word in sorted(word for word in words if not FOREIGN.match(word)):
            parts = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", word).lower().split("_")
            if BANNED_PARTS & set(parts) or word.startswith("new_"):
                yield f"{name}: '{word}' does not say what it is"


def tests_are_honest(root):
    for name, text in files(root, ".cc", ".h", ".py"):
        if not is_test(name) or name.startswith("tests/tidy/"):
            continue
        if match := SLEEPS.search(source.bare(text)):
            yield f"{name}: {match.group(0)}: tests do not sleep; move a fake clock, or wait for an event with a deadline"
        if match := DISABLED.search(text):
            yield f"{name}: {match.group(0)}: delete or repair tests that do not run"


# Eight test files are compiled as one translation unit and would share one unnamed namespace.
def tests_have_a_namespace(root):
    for name, text in files(root, ".cc", under=["src"]):
        if not name.endswith("_test.cc"):
            continue
        own = pathlib.Path(name).stem
        if re.search(r"^namespace \{", text, re.M) or not re.search(rf"^namespace {own} \{{", text, re.M):
            yield f"{name}: its names collide with those of other tests; put them into a namespace {own}"


def proofs_are_not_timed(root):
    for name, text in files(root, ".cc", ".h", under=("src",)):
        if is_test(name) or name == COMPARES:
            continue
        if match := TIMED.search(source.bare(text)):
            yield f"{name}: '{match.group(0)}': compare it with equal_in_constant_time() of base/digest.h"


def modules_list_their_sources(root):
    for module in sorted(p for p in (root / "src").iterdir() if p.is_dir()):
        cmake = module / "CMakeLists.txt"
        listed = set(re.findall(r"[\w./-]+\.cc\b", cmake.read_text())) if cmake.exists() else set()
        there = {str(p.relative_to(module)) for p in module.rglob("*.cc")}
        for name in sorted(there - listed):
            yield f"src/{module.name}/{name}: not listed in src/{module.name}/CMakeLists.txt, so it is not built"
        for name in sorted(listed - there):
            yield f"src/{module.name}/CMakeLists.txt: lists {name}, which does not exist"


def process_tests_are_run(root):
    """A test file that is in no list never fails."""
    cmake = root / "tests/CMakeLists.txt"
    named = set(re.findall(r"[\w]+", cmake.read_text())) if cmake.exists() else set()
    for path in sorted((root / "tests/process").glob("test_*.py")):
        if not {path.stem, path.stem.removeprefix("test_"), path.stem.removeprefix("test_harness_")} & named:
            yield f"tests/process/{path.name}: not listed in tests/CMakeLists.txt, so it is not run"


MEDIA = {"application", "text", "multipart"}
GENERATED = {"build", "sluice-data", "DIR"}  # by builds and runs


def documents(root):
    for path in [root / "README.md", root / "CHANGELOG.md", *sorted((root / "docs").rglob("*.md"))]:
        if path.exists():
            yield path, path.read_text()


def exists(root, word):
    return any(base.exists() and any(any(base.glob(word + end)) for end in ("", ".cc")) for base in (root, root / "src"))


def documents_name_what_exists(root):
    ignored = (root / ".gitignore").read_text().split() if (root / ".gitignore").exists() else []
    for path, text in documents(root):
        name = path.relative_to(root)
        prose = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", prose):
            if not (path.parent / target).exists():
                yield f"{name}: links to {target}, which does not exist"
        for word in re.findall(r"`((?:\./)?[\w.-]+(?:/[\w.*-]+)+/?)`", prose):
            word = word.removeprefix("./").rstrip("/")
            if word.split("/")[0] in MEDIA | GENERATED or "/" + word in ignored:
                continue
            if not exists(root, word):
                yield f"{name}: names {word}, which does not exist"
        if match := re.search(r"\b[\w/]+\.(?:h|cc|py|md|txt|cmake|json|yaml):\d+|\blines? \d+\b", prose):
            yield f"{name}: '{match.group(0)}': line numbers go stale; name only the file"


def nothing_unmentionable(root):
    for path in walked(root):
        inside = path.relative_to(root)
        if path.suffix not in TEXT or not path.is_file():
            continue
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        for pattern in UNMENTIONABLE:
            if match := pattern.search(text):
                yield f"{inside}: says '{match.group(0)}', which means nothing to a reader of this repository"


def requirements_are_tested(root):
    tested = "".join(text for name, text in files(root, ".cc", ".py", ".js", ".mjs") if is_test(name)
                     and not name.startswith("tests/tidy/"))
    for requirement in REQUIREMENTS:
        if not re.search(rf"\b{requirement}\b", tested):
            yield f"no test names {requirement}: each requirement needs a test that names it"


def lower_ratchet(root):
    """Rewrites ratchet.txt with what has become better since."""
    root = pathlib.Path(root)
    known = ratchet(root)
    now = {what: count for what, count, *_ in over_limits(root)}
    lines = {what: min(int(known[what]), count) for what, count in now.items() if what in known}
    for what, value, more_is_better, _ in measures.held(root):
        value = int(value * 10) / 10 if more_is_better else value
        lines["measure:" + what] = (max if more_is_better else min)(known.get("measure:" + what, value), value)
    text = "".join(f"{what} {count:.15g}\n" for what, count in sorted(lines.items()))
    (root / "tests/tidy/ratchet.txt").write_text(text)


if __name__ == "__main__":
    lower_ratchet(pathlib.Path(__file__).resolve().parents[2])
