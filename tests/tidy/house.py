"""The rules of the house that a machine can hold: who may know whom, how big a thing may grow, and
what documents may say. faults(root) gives one sentence for each thing that is out of order."""
import os
import pathlib
import re

import source

# A room may include the rooms named after it, and nothing else. From the ground up.
ROOMS = {
    "base": "",
    "model": "base",
    "world": "base",
    "http": "base",
    "tls": "base",
    "net": "base world http tls",
    "store": "base model world",
    "gates": "base model",
    "vault": "base model world",
    "egress": "base model world http tls gates vault",
    "notices": "base model world net store",
    "wire": "base model store harness",
    "models": "base model",
    "mcp": "base model",
    "harness": "base model vault",
    "files": "base",
    "sandbox": "base world",
    "workspace": "base world",
    "skills": "base workspace",
    "runner": "base model world net models mcp harness sandbox workspace gates vault egress",
    "engine": "base model world store wire harness vault gates",
    "flow": "base model world net store wire harness engine",
    "remote": "base model world net store harness",
    "client": "base world net",
    "station": "base model world http net harness workspace",
    "api": "base model world http net store files workspace skills wire harness engine flow gates vault notices",
    "cli": "base model world net client gates",
    "app": "base model world net store files sandbox workspace skills wire models mcp harness runner engine flow remote client station "
           "gates vault egress notices api cli",
}
DOORLESS = {"base", "http", "model"}  # all of their headers may be included singly
SECOND_DOORS = {"engine/materials.h", "files/upkeep.h", "harness/dialect.h", "harness/envelope.h", "store/maintenance.h", "world/disk_room.h",
                "world/metrics.h", "world/shared_workers.h"}
# What only tests may include: fakes, fixtures, the suites that several backends share.
FOR_TESTS = re.compile(r"(^|/)(fake|simulated|contract)_[a-z_]+\.(h|cc)$|_(fixture|contract|test)\.(h|cc)$")

LINES_MAX = {".h": 250, ".cc": 500, ".py": 500}
FUNCTION_LINES_MAX = 60
BANNED_PARTS = {"legacy", "v2", "manager", "helper", "helpers", "util", "utils"}
FOREIGN = re.compile(r"(sqlite3|curl|CURL|SSL|EVP|BIO|X509|ZSTD)_")  # names that others gave
SLEEPS = re.compile(r"\b(sleep_for|sleep_until|usleep|nanosleep)\b")
# Whatever proves that somebody is who he says: how long a comparison takes must not tell how near a guess was. Names
# that end so, and what the functions give that make seals.
PROOF = r"(?:\w*(?:_mac|_key_sha256|_seal)|mac|csrf_token|admin_key|runner_key|service_key|hmac_sha256(?=\()|bearer_of)"
TIMED = re.compile(rf"\b{PROOF}_?(?:\([^()]*\))*\)*\s*[!=]=|[!=]=\s*(?:[\w.:]|->)*\b{PROOF}_?\b(?!\.empty)|"
                   rf"\bCRYPTO_memcmp\b|\bmemcmp\([^;]*{PROOF}")
COMPARES = "src/base/digest.cc"
DISABLED = re.compile(r"\bDISABLED_\w+|\bGTEST_SKIP\b|unittest\.skip|\.skipTest\(")
# Spelt in pieces, because this file is read too.
UNMENTIONABLE = [re.compile(p) for p in (r"\.\./" + "shared", "/work/" + "(main|shared)", "/far" + r"m/\w", "TODO" + r"\(now\)")]

REQUIREMENTS = [*(f"I-{n}" for n in range(1, 26)), *(f"S-{n}" for n in range(1, 13)),
                *(f"H-{n}" for n in range(1, 9)), *(f"A-{n}" for n in range(1, 8)),
                *(f"B-{n}" for n in range(1, 4))]
TEXT = {".cc", ".h", ".py", ".md", ".txt", ".cmake", ".json", ".yaml", ".sh", ".js", ".mjs", ".toml", ""}
UNREAD = {".git", "build", "node_modules", "__pycache__", ".cache", "sluice-data", "corpus"}


def faults(root):
    root = pathlib.Path(root)
    found = []
    for check in (includes_go_down, own_header_first, headers_are_doors, sizes, names_say_what_they_are, tests_are_honest,
                  tests_have_a_namespace, proofs_are_not_timed, rooms_list_their_sources, stories_are_run,
                  documents_name_what_exists, nothing_unmentionable, requirements_are_tested):
        found += check(root)
    return found


def walked(top):
    """All files below a folder but for what builds and npm make: those come and go while one looks."""
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
        room = name.split("/")[1]
        if room not in ROOMS:
            yield f"{name}: {room} is no room; add it to ROOMS and to the drawing in docs/ARCHITECTURE.md"
            continue
        for header in source.includes(text):
            other = header.split("/")[0]
            if not (root / "src" / header).exists():
                yield f'{name}: "{header}" is no header of ours; include the world outside with <>'
            elif FOR_TESTS.search(header):
                if not is_test(name):
                    yield f"{name}: {header} is for tests"
            elif other == room:
                continue
            elif not is_test(name) and other not in ROOMS[room].split():
                yield f"{name}: {room} must not know {other}"
            elif other not in DOORLESS and header != f"{other}/{other}.h" and header not in SECOND_DOORS:
                yield f"{name}: enter {other} by {other}/{other}.h, not {header}"


# A header that its own source includes first has been compiled alone.
def own_header_first(root):
    for name, text in files(root, ".cc", under=["src"]):
        stem = name[len("src/"):-len(".cc")]
        found = re.findall(r'^#include ["<]([^">]+)', text, re.M)
        if (root / "src" / f"{stem}.h").exists() and (not found or found[0] != f"{stem}.h"):
            yield f'{name}: the first include must be "{stem}.h"'


def headers_are_doors(root):
    for name, text in files(root, ".h"):
        if not text.startswith("//"):
            yield f"{name}: open with a sentence that says what this is"
        if "\n#pragma once\n" not in text:
            yield f"{name}: no #pragma once"


def measures(root):
    for name, text in files(root, ".h", ".cc", ".py"):
        lines = text.count("\n")
        if lines > LINES_MAX[pathlib.Path(name).suffix]:
            yield f"{name}", lines, LINES_MAX[pathlib.Path(name).suffix]
        if name.endswith((".h", ".cc")):
            for function, length in source.functions(source.bare(text)):
                if length > FUNCTION_LINES_MAX:
                    yield f"{name}:{function}", length, FUNCTION_LINES_MAX


# What was too big when a limit was set may stay in ratchet.txt, and may only shrink.
def sizes(root):
    ratchet = root / "tests/tidy/ratchet.txt"
    allowed = {}
    for line in ratchet.read_text().splitlines() if ratchet.exists() else []:
        what, lines = line.split()
        allowed[what] = int(lines)
    for what, lines, most in measures(root):
        known = allowed.pop(what, None)
        if known is None:
            yield f"{what}: {lines} lines; the most is {most}. Split it by noun"
        elif lines > known:
            yield f"{what}: {lines} lines, and it was {known}: what is over the limit must not grow"
        elif lines < known:
            yield f"{what}: {lines} lines now. Lower its line in tests/tidy/ratchet.txt from {known}"
    for what in allowed:
        yield f"{what}: within its limit now, or gone. Take it out of tests/tidy/ratchet.txt"


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
            yield f"{name}: {match.group(0)}: a test that does not run is deleted or repaired"


# Eight test files are compiled as one translation unit, so an unnamed namespace would be shared by all of them.
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


def rooms_list_their_sources(root):
    for room in sorted(p for p in (root / "src").iterdir() if p.is_dir()):
        cmake = room / "CMakeLists.txt"
        listed = set(re.findall(r"[\w./-]+\.cc\b", cmake.read_text())) if cmake.exists() else set()
        there = {str(p.relative_to(room)) for p in room.rglob("*.cc")}
        for name in sorted(there - listed):
            yield f"src/{room.name}/{name}: not listed in src/{room.name}/CMakeLists.txt, so nobody builds it"
        for name in sorted(listed - there):
            yield f"src/{room.name}/CMakeLists.txt: lists {name}, which does not exist"


def stories_are_run(root):
    """A file of stories that no list names passes for ever."""
    cmake = root / "tests/CMakeLists.txt"
    named = set(re.findall(r"[\w]+", cmake.read_text())) if cmake.exists() else set()
    for path in sorted((root / "tests/process").glob("test_*.py")):
        if not {path.stem, path.stem.removeprefix("test_"), path.stem.removeprefix("test_harness_")} & named:
            yield f"tests/process/{path.name}: not listed in tests/CMakeLists.txt, so nobody runs it"


MEDIA = {"application", "text", "multipart"}
MADE = {"build", "sluice-data", "DIR"}  # by building and running


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
            if word.split("/")[0] in MEDIA | MADE or "/" + word in ignored:
                continue
            if not exists(root, word):
                yield f"{name}: names {word}, which does not exist"
        if match := re.search(r"\b[\w/]+\.(?:h|cc|py|md|txt|cmake|json|yaml):\d+|\blines? \d+\b", prose):
            yield f"{name}: '{match.group(0)}': a line number is wrong after the next change; name the file only"


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
            yield f"no test names {requirement}: a requirement is proved by a test that says so"
