"""Every header compiles with nothing before it. One that has a source of its own is that source's first include; the
others are compiled here, without precompiled headers, which would hide what a header forgot.

Most of the time goes into the standard's headers, so several headers share one compilation where that proves as much:
if B includes A, directly or through others, then A followed by B shows B only what B itself would have read before its
first line of code. So headers are laid in chains, each of which a later one includes; the fewer chains, the less to do."""
import re

import clang_tidy
import passes as kept
import source as text
import tasks

_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*$", re.M)
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b", re.M)


def without_source(root):
    return sorted(path for path in (root / "src").rglob("*.h") if not path.with_suffix(".cc").exists())


def includes_come_first(path):
    """Whether no code comes before an include. Otherwise what was read before could change what that code means."""
    code = text.bare(path.read_text())
    last = max((match.start() for match in _INCLUDE.finditer(code)), default=0)
    return not _DIRECTIVE.sub("", code[:last]).strip()


def chains(headers, includes):
    """Lists of headers, each of which includes all that come before it in its list. As few as there can be: the more
    headers have a next one, the fewer chains, so this is a matching, found by augmenting paths."""
    joinable = [header for header in headers if includes_come_first(header)]
    # Two that include each other follow neither way: a chain has to begin somewhere.
    after = {header: [other for other in joinable if header in includes.reached(other)
                      and other not in includes.reached(header)] for header in joinable}
    before = {}  # header -> the one that comes before it

    def find_next(header, tried):
        for other in after[header]:
            if other in tried:
                continue
            tried.add(other)
            if other not in before or find_next(before[other], tried):
                before[other] = header
                return True
        return False

    for header in joinable:
        find_next(header, set())
    following = {first: then for then, first in before.items()}
    found = [[header] for header in headers if header not in after]
    for header in joinable:
        if header not in before:
            chain = [header]
            while chain[-1] in following:
                chain.append(following[chain[-1]])
            found.append(chain)
    return found


class HeadersAlone:
    def __init__(self, root, includes, passed, flags, tool="clang++-19"):
        self._root = root
        self._includes = includes
        self._passed = passed
        # Nothing is generated, so nothing is said about how; what the codebase asks of its code stays.
        self._flags = [flag for flag in flags if not re.match(r"-(O|g|fsanitize|fno-sanitize|fno-omit-frame)", flag)]
        self._tool = tool
        self._common = kept.key(clang_tidy.version(tool), *clang_tidy.own_code(), clang_tidy.without_root(root, self._flags))

    def key(self, header):
        return kept.key("header alone", self._common, self._includes.digest(header))

    def judge(self, headers, say=print):
        """(how many had to be compiled, in how many compilations, complaints). What passes is kept."""
        stale = [header for header in headers if not self._passed.has(self.key(header))]
        waiting = chains(stale, self._includes)
        ran, complaints = len(waiting), []
        while waiting:
            waiting.sort(key=lambda chain: len(self._includes.reached(chain[-1])), reverse=True)
            again = []
            for index, passed, output in tasks.run_all([self._command(chain) for chain in waiting]):
                if passed:
                    for header in waiting[index]:
                        self._passed.add(self.key(header))
                elif len(waiting[index]) > 1:
                    again += [[header] for header in waiting[index]]  # so that each is blamed for its own
                else:
                    complaints.append(output)
                    say(output)
            waiting = again
        return len(stale), ran, complaints

    def _command(self, chain):
        # Twice, because a header may be included twice.
        given = "".join(f'#include "{header}"\n' * 2 for header in chain)
        return [self._tool, *self._flags, "-fsyntax-only", "-x", "c++", "-"], given
