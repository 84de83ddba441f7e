"""What the codebase measures: sizes, classes, include cycles, checks, comments, words. `python3 tests/tidy/measures.py` prints them."""
import collections
import pathlib
import re
import sys

import source

# Files that only tests may include: fakes, fixtures, and suites that several backends share. They do not count as production.
FOR_TESTS = re.compile(r"(^|/)(fake|simulated|contract)_[a-z_]+\.(h|cc)$|_(fixture|contract|test)\.(h|cc)$")
METHODS_MAX = 40
CHECK = re.compile(r"\b(?:SLUICE_CHECK\w*|static_assert)\s*\(")
# Words of a private language, each with the plain one in docs/HACKING.md.
DIALECT = ("told", "teller", "whoever", "whosever", "nobody", "gone on with", "goes on with", "of one that names none", "premises", "postman",
           "errand", "herald", "storeroom")
# Names of the public contract that are spelt like such a word, in code or in a page: docs/runner.md.
PUBLIC_NAMES = re.compile(r'"told"|`told`')
OWN_FILE = re.compile(r"^// .*\bOwn file: \S", re.M)
_CLASS = re.compile(r"\b(?:class|struct)\s+(?:\[\[\w+\]\]\s*)?(\w+)(?:\s+final)?\s*(?::[^:{;][^{;]*)?\{")
_METHOD = re.compile(r"(~?\w+|operator\W{1,3})\s*\(")
_NO_METHOD = {"if", "for", "while", "switch", "return", "sizeof", "decltype", "static_assert", "alignas", "requires", "noexcept", "explicit",
              "catch", "SLUICE_CHECK"}


def production(root):
    """(name below src, text) of everything that is shipped."""
    for path in sorted((pathlib.Path(root) / "src").rglob("*")):
        if path.suffix in (".h", ".cc") and path.is_file():
            name = str(path.relative_to(pathlib.Path(root) / "src"))
            if not FOR_TESTS.search(name):
                yield name, path.read_text()


def classes(text):
    """(name, number of methods) of each class that a file declares. A method is a function declared in the class's own body:
    overloads count, members of nested classes do not."""
    code = re.sub(r"^[ ]*#[^\n]*$", "", source.bare(text), flags=re.M)
    for match in _CLASS.finditer(code):
        yield match.group(1), sum(1 for _ in _methods(code[match.end():_end_of_block(code, match.end())]))


def _end_of_block(code, at):
    depth = 1
    while at < len(code) and depth:
        depth += {"{": 1, "}": -1}.get(code[at], 0)
        at += 1
    return at - 1


def _methods(body):
    """Walks the declarations at the top of a class's body."""
    head, depth, parens = "", 0, 0
    for char in body:
        if depth == 0 and parens == 0 and char in ";{":
            declared = re.sub(r"^\s*(?:(?:public|private|protected)\s*:\s*)*", "", head)
            name = _METHOD.search(_without_angles(declared))
            is_type = re.match(r"(?:template.*>\s*)?(?:class|struct|enum|union|using|typedef|friend|static_assert)\b", declared, re.S)
            if name and not is_type and name.group(1) not in _NO_METHOD and "=" not in declared[:declared.find("(")].replace("operator=", ""):
                yield name.group(1)
            head = ""
        if char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            head = ""
            continue
        elif char in "()":
            parens += 1 if char == "(" else -1
        if depth == 0 and char not in ";{}":
            head += char


def _without_angles(text):
    """`Callback<void(int)> member` declares no method."""
    kept, depth = [], 0
    for at, char in enumerate(text):
        if char == "<" and not text[:at].endswith("operator"):
            depth += 1
        elif char == ">" and depth and text[at - 1] != "-":
            depth -= 1
        elif depth == 0:
            kept.append(char)
    return "".join(kept)


def methods_by_class(root):
    return {f"{name}:{owner}": count for name, text in production(root) for owner, count in classes(text)}


def cycles(root):
    """Groups of files of one module that include each other in a circle. A header and its source are one file."""
    graph = collections.defaultdict(set)
    for name, text in production(root):
        stem = name.rsplit(".", 1)[0]
        graph[stem] |= {included.rsplit(".", 1)[0] for included in source.includes(text)
                        if included.split("/")[0] == name.split("/")[0]} - {stem}
    return [sorted(group) for group in _components(graph) if len(group) > 1]


def _components(graph):
    """The strongly connected ones, by Tarjan; without recursion, because a chain of includes may be long."""
    number, low, stack, on_stack, found = {}, {}, [], set(), []
    for start in sorted(graph):
        if start in number:
            continue
        work = [(start, iter(sorted(graph.get(start, ()))))]
        number[start] = low[start] = len(number)
        stack.append(start)
        on_stack.add(start)
        while work:
            at, following = work[-1]
            for other in following:
                if other not in number:
                    number[other] = low[other] = len(number)
                    stack.append(other)
                    on_stack.add(other)
                    work.append((other, iter(sorted(graph.get(other, ())))))
                    break
                if other in on_stack:
                    low[at] = min(low[at], number[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[at])
                if low[at] == number[at]:
                    group = set()
                    while at not in group:
                        group.add(stack[-1])
                        on_stack.discard(stack.pop())
                    found.append(group)
    return found


def sources_by_class(root):
    """The sources in which each class's methods are defined, for those that have more than one."""
    where = collections.defaultdict(set)
    for name, text in production(root):
        if not name.endswith(".cc"):
            continue
        code = source.bare(text)
        module = name.split("/")[0]
        for owner in set(re.findall(r"^[\w:<>*&,\s]*?\b([A-Z]\w*)::~?\w+\s*\(", code, re.M)):
            if re.search(rf"^(?:[^\s#/].*\s|)[*&]?{owner}::~?\w+\(.*[{{,]\s*$", code, re.M):
                where[f"{module}:{owner}"].add(name)
    return {owner: sorted(names) for owner, names in where.items() if len(names) > 1}


def lone_headers(root):
    """Headers with at most one reader besides their own source, and no line `// Own file: …` that gives a reason."""
    readers = collections.defaultdict(set)
    names = set()
    for path in sorted((pathlib.Path(root) / "src").rglob("*")):
        if path.suffix in (".h", ".cc") and path.is_file():
            name = str(path.relative_to(pathlib.Path(root) / "src"))
            text = path.read_text()
            if not OWN_FILE.search(text):
                names.add(name)
            for included in source.includes(text):
                if included.rsplit(".", 1)[0] != name.rsplit(".", 1)[0]:
                    readers[included].add(name)
    return sorted(name for name in names if name.endswith(".h") and not FOR_TESTS.search(name) and len(readers[name]) <= 1)


def share_of_comments(texts):
    lines = [line.strip() for text in texts for line in text.splitlines() if line.strip()]
    return 100 * sum(line.startswith("//") for line in lines) / max(len(lines), 1)


def checks_per_thousand(root, *folders):
    found = [text for name, text in production(root) if name.startswith(folders)]
    return 1000 * sum(len(CHECK.findall(source.bare(text))) for text in found) / max(sum(text.count("\n") for text in found), 1)


def dialect(root):
    """How often each word of the private language occurs."""
    root = pathlib.Path(root)
    texts = [path.read_text() for top, ends in (("src", (".h", ".cc")), ("docs", (".md",)))
             for path in sorted((root / top).rglob("*")) if path.suffix in ends and path.is_file()]
    texts = [PUBLIC_NAMES.sub("", text) for text in texts]
    return {word: sum(len(re.findall(rf"\b{word}\b", text, re.I)) for text in texts) for word in DIALECT}


def held(root):
    """(name, value, whether more is better, by how much it may get worse) of what is held in ratchet.txt for the whole codebase."""
    found = list(production(root))
    lines = sum(text.count("\n") for _, text in found)
    yield "lines", lines, False, 0.02 * lines
    yield "files", len(found), False, 0.02 * len(found)
    yield "lone-headers", len(lone_headers(root)), False, 2
    yield "checks-engine", checks_per_thousand(root, "engine/"), True, 0.2
    yield "checks-store", checks_per_thousand(root, "store/", "journal/"), True, 0.2
    yield "comments-headers", share_of_comments(text for name, text in found if name.endswith(".h")), True, 0.2
    yield "comments-sources", share_of_comments(text for name, text in found if name.endswith(".cc")), True, 0.2


def report(root):
    found = list(production(root))
    methods = methods_by_class(root)
    largest = sorted(methods, key=lambda owner: -methods[owner])[:5]
    circles = sorted(cycles(root), key=len, reverse=True)
    yield f"production lines: {sum(text.count(chr(10)) for _, text in found)} in {len(found)} files"
    yield "classes with most methods: " + ", ".join(f"{owner} {methods[owner]}" for owner in largest)
    yield f"classes over {METHODS_MAX} methods: {sum(count > METHODS_MAX for count in methods.values())}"
    yield f"classes in more than one source: {len(sources_by_class(root))}"
    yield f"largest include cycle in a module: {len(circles[0]) if circles else 0} files ({len(circles)} cycles)"
    yield f"headers with at most one reader and no reason: {len(lone_headers(root))}"
    yield f"checks in 1,000 lines: engine {checks_per_thousand(root, 'engine/'):.1f}, store {checks_per_thousand(root, 'store/', 'journal/'):.1f}"
    yield (f"comment lines: headers {share_of_comments(t for n, t in found if n.endswith('.h')):.1f} %, "
           f"sources {share_of_comments(t for n, t in found if n.endswith('.cc')):.1f} %")
    words = dialect(root)
    yield "dialect: " + ", ".join(f"{word} {count}" for word, count in words.items() if count) + f" ({sum(words.values())} in all)"


if __name__ == "__main__":
    ROOT = pathlib.Path(__file__).resolve().parents[2]
    print(*(lone_headers(ROOT) if sys.argv[1:] == ["lone"] else report(ROOT)), sep="\n")
