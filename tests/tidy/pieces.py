"""What clang-tidy is given: the program's own sources, as the build's database of compile commands knows them, several
joined into one file because most of its time goes into headers."""
import dataclasses
import json
import pathlib
import re
import shlex

import source as text

_INCLUDED = re.compile(r'^#include "(.*\.cc)"$', re.MULTILINE)
# A precompiled header would spare no time (it is walked through as a whole) and hides what a source forgot to include.
_ABOUT_PRECOMPILED_HEADERS = {"-Winvalid-pch", "-fpch-instantiate-templates"}
_UNNAMED = re.compile(r"^namespace \{$(.*?)(?:^\}  // namespace$|\Z)", re.M | re.S)
_DECLARED = re.compile(r"^(?![#}\s])[\w:<>,&* \[\]]*?(\w+)\s*[({=;\[]", re.M)
_TOLD_TO_CLANG = {"-fno-pch-timestamp": 0, "-emit-pch": 0, "-include-pch": 1, "-include": 1}


@dataclasses.dataclass(frozen=True)
class Source:
    path: pathlib.Path
    flags: tuple
    piece: pathlib.Path  # what the build compiles it in, with others or alone


def flags_of(command):
    """The compiler's arguments without its name, what is compiled, where to, and precompiled headers."""
    given = shlex.split(command)[1:]
    flags = []
    at = 0
    while at < len(given):
        word = given[at]
        if word in ("-o", "-c"):
            at += 2
        elif word == "-Xclang" and at + 1 < len(given) and given[at + 1] in _TOLD_TO_CLANG:
            at += 2 + 2 * _TOLD_TO_CLANG[given[at + 1]]  # each argument has an -Xclang of its own
        elif word in _ABOUT_PRECOMPILED_HEADERS:
            at += 1
        else:
            flags.append(word)
            at += 1
    return tuple(flags)


def sources_of(piece):
    """The sources that a piece joins, or the piece itself."""
    if piece.suffix != ".cxx":
        return [piece]
    return [pathlib.Path(name).resolve() for name in _INCLUDED.findall(piece.read_text())]


def entries(database):
    """(piece, sources, flags) of each compile command. The database may name what the next configuration removes."""
    for entry in json.loads(pathlib.Path(database).read_text()):
        piece = pathlib.Path(entry["directory"], entry["file"]).resolve()
        if piece.exists():
            yield piece, sources_of(piece), flags_of(entry["command"])


def is_judged(root, path):
    """Only what the program is made of: GoogleTest's macros are not ours to judge."""
    return path.is_relative_to(root / "src") and path.suffix == ".cc" and not path.name.endswith("_test.cc")


def read(root, database):
    """(sources, those of the codebase that are in no piece)."""
    found = {}
    for piece, sources, flags in entries(database):
        for path in sources:
            if is_judged(root, path):
                found.setdefault((path, flags), Source(path, flags, piece))
    seen = {path for path, _ in found}
    missed = sorted(path for path in (root / "src").rglob("*.cc") if is_judged(root, path) and path not in seen)
    return sorted(found.values(), key=lambda source: (source.path, source.flags)), missed


def system_folders(database):
    """Where flags say that more headers of the system are."""
    return sorted({pathlib.Path(folder) for _, _, flags in entries(database)
                   for flag, folder in zip(flags, flags[1:]) if flag == "-isystem"})


def flags_of_tests(database):
    """Those by which most tests are compiled: headers for tests need them, and the others mind none of them."""
    counted = {}
    for _, sources, flags in entries(database):
        if any(path.name.endswith("_test.cc") for path in sources):
            counted[flags] = counted.get(flags, 0) + 1
    return max(counted, key=lambda flags: (counted[flags], flags), default=())


def by_piece(sources):
    together = {}
    for source in sources:
        together.setdefault((source.flags, source.piece), []).append(source)
    return list(together.values())


def private_names(path):
    """What a source declares in unnamed namespaces, leaning on the format: such a declaration begins its line."""
    return {name for part in _UNNAMED.findall(path.read_text()) for name in _DECLARED.findall(text.bare(part))}


def join(root, sources, most):
    """Batches of sources that can be compiled as one file: with equal flags, at most `most`, and of each module only
    such as the build joins too or whose private names differ."""
    clusters = []
    for together in by_piece(sources):
        clusters += [together[at:at + most] for at in range(0, len(together), most)]
    batches = []
    for cluster in sorted(clusters, key=len, reverse=True):
        module = cluster[0].path.relative_to(root / "src").parts[0]
        names = {(module, name) for source in cluster for name in private_names(source.path)}
        for batch in batches:
            if batch["flags"] == cluster[0].flags and batch["names"].isdisjoint(names) \
                    and len(batch["sources"]) + len(cluster) <= most:
                break
        else:
            batch = {"flags": cluster[0].flags, "names": set(), "sources": []}
            batches.append(batch)
        batch["names"] |= names
        batch["sources"] += cluster
    return [batch["sources"] for batch in batches]
