"""C++ text as the rules see it: without comments and strings, cut into names and functions."""
import re

_SKIPPED = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([^()\\ ]{0,16})\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Za-z_])\'(?:\\.|[^\'\\\n])+\'',
    re.S)
_PLAIN_BLOCK = re.compile(r"\s*(?:extern|namespace|class|struct|enum|union)\b")
_INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)


def bare(text):
    """The code alone. Lines stay where they are."""
    def blank(match):
        found = match.group(0)
        return ('""' if found[0] in '"R\'' else "") + "\n" * found.count("\n")
    return _SKIPPED.sub(blank, text)


def includes(text):
    return _INCLUDE.findall(text)


def names(code):
    """Every identifier, once."""
    return sorted(set(re.findall(r"[A-Za-z_]\w*", re.sub(r"^\s*#.*$", "", code, flags=re.M))))


def functions(code):
    """(name, lines) of each function body that stands in a namespace or a class. Leans on the format:
    a body's brace follows a blank, an initialiser's does not."""
    code = re.sub(r"^[ ]*#(?:[^\n]*\\\n)*[^\n]*$", lambda m: "\n" * m.group(0).count("\n"), code, flags=re.M)
    found, open_braces = [], []
    head_at, body_of, parens = 0, 0, 0
    for at, char in enumerate(code):
        if char in "()":
            parens += 1 if char == "(" else -1
        elif char == "{":
            kind = _kind_of_brace(code[head_at:at]) if parens == 0 and "function" not in open_braces else "inner"
            open_braces.append(kind)
            if kind == "function":
                body_of = at - len(code[head_at:at].lstrip())
            if kind == "block":
                head_at = at + 1
        elif char == "}" and open_braces:
            kind = open_braces.pop()
            if kind == "function":
                name = re.search(r"(operator\W{1,2}|[~\w:]+)\s*\(", _without_template(code[body_of:at]))
                found.append((name.group(1) if name else "?", code.count("\n", body_of, at) + 1))
            if kind in ("function", "block"):
                head_at = at + 1
        elif char == ";" and parens == 0 and "function" not in open_braces:
            head_at = at + 1
    return found


def _kind_of_brace(head):
    if not head.endswith((" ", "\n")) or head.rstrip().endswith(("=", ",", "return")):
        return "inner"
    if _PLAIN_BLOCK.match(_without_template(head)) or "(" not in head:
        return "block"
    return "function"


def _without_template(head):
    head = re.sub(r"^\s*(?:public|private|protected):", "", head)
    while head.lstrip().startswith("template"):
        depth = 0
        for at, char in enumerate(head):
            depth += {"<": 1, ">": -1}.get(char, 0)
            if char == ">" and depth == 0:
                break
        head = head[at + 1:]
    return re.sub(r"^\s*requires\s*\((?:[^()]|\([^()]*\))*\)", "", head)
