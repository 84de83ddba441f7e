"""What clang-tidy is given: every piece that the program's own sources are compiled in, one path a line. Fails when a
source is in none of them."""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDED = re.compile(r'^#include "(.*\.cc)"$', re.MULTILINE)


def is_ours(path):
    return path.is_relative_to(ROOT / "src") and path.suffix == ".cc" and not path.name.endswith("_test.cc")


def sources_of(piece):
    """The sources that a piece joins, or the piece itself."""
    if piece.suffix != ".cxx":
        return [piece]
    return [pathlib.Path(name).resolve() for name in INCLUDED.findall(piece.read_text())]


def main(database):
    pieces = {}
    for entry in json.loads(pathlib.Path(database).read_text()):
        piece = pathlib.Path(entry["directory"], entry["file"]).resolve()
        ours = [source for source in sources_of(piece) if is_ours(source)]
        if ours:
            pieces[piece] = ours
    seen = {source for ours in pieces.values() for source in ours}
    missed = sorted(path for path in (ROOT / "src").rglob("*.cc") if is_ours(path) and path not in seen)
    if missed:
        sys.exit("in no piece, so nothing looks at them: " + ", ".join(str(path.relative_to(ROOT)) for path in missed))
    print("\n".join(str(piece) for piece in sorted(pieces)))


if __name__ == "__main__":
    main(*sys.argv[1:])
