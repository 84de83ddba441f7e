"""The fenced blocks of the documents, and what is to be done with each.

A comment right before a block says what its reader need not see:

    <!-- setup            lines of the block's own language that come before it
    ... -->
    <!-- run by FILE -->        FILE is a test that runs this block; it names this page
    <!-- part of FILE -->       each line stands in FILE, an example that is tested
    <!-- not run: REASON -->    it cannot be run by a test, and why
"""
import pathlib
import re

from server_process import ROOT

RUN = {"sh", "python", "js", "ts", "perl"}
PARSED = {"json", "ndjson", "yaml", "toml"}
PICTURES = {"text"}  # drawings, grammars, what is printed: nothing that a machine reads
COMMENT = re.compile(r"<!--\s*(?:(setup)\n(.*?)|run by (\S+?)|part of (\S+?)|not run: (.*?))\s*-->\s*\Z", re.S)


class Block:
    def __init__(self, page, line, language, text, before):
        self.page, self.line, self.language, self.text = page, line, language, text
        found = COMMENT.search(before)
        _, setup, self.run_by, self.part_of, self.excuse = found.groups() if found else (None,) * 5
        self.setup = setup or ""

    @property
    def place(self):
        return f"{self.page}:{self.line}"

    @property
    def is_run_here(self):
        return self.language in RUN and not (self.run_by or self.part_of or self.excuse)


def pages():
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "clients" / "ts" / "README.md"]


def blocks_of(path):
    lines = path.read_text().split("\n")
    found, number, after = [], 0, 0
    while number < len(lines):
        fence = re.match(r"```(\S*)", lines[number])
        if fence:
            end = lines.index("```", number + 1)
            before = "\n".join(lines[after:number])
            found.append(Block(str(path.relative_to(ROOT)), number + 1, fence[1], "\n".join(lines[number + 1:end]) + "\n", before))
            number = after = end + 1
        else:
            number += 1
    return found


def without_elisions(json_text):
    """JSON in prose may leave things out with a bare … where a value, a member or an element would stand."""
    kept = re.split(r'("(?:[^"\\]|\\.)*")', json_text)
    for position in range(0, len(kept), 2):
        kept[position] = re.sub(r",\s*…|…\s*,?", "", kept[position])
    return "".join(kept)


def all_blocks():
    return [block for path in pages() for block in blocks_of(pathlib.Path(path))]
