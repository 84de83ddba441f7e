"""Which files a C++ file reads, found by following #include lines, and a hash that changes whenever one of them does."""
import functools
import hashlib
import os
import pathlib
import re
import subprocess

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include(?:_next)?[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.M)


def system_folders(compiler="clang++-19"):
    """Where the compiler looks for headers that are not ours, in its order."""
    said = subprocess.run([compiler, "-E", "-v", "-x", "c++", "/dev/null"], capture_output=True, text=True, check=True).stderr
    listed = said.partition("#include <...> search starts here:")[2].partition("End of search list.")[0]
    return [pathlib.Path(line.strip()) for line in listed.splitlines() if line.strip()]


class Includes:
    """The include lines of one checkout, each file read once. Conditions around an include are ignored: a file that is
    read only sometimes counts as read, so a hash may change without need but never stays the same wrongly."""

    def __init__(self, root, folders):
        self.root = pathlib.Path(root)
        self._ours = [self.root / "src", self.root]
        self._system = list(folders)
        self._closures = {}

    @functools.cache
    def direct(self, path):
        """(our files, system headers) that the file itself includes."""
        ours, system = [], []
        for quoted, angled in _INCLUDE.findall(path.read_text(errors="replace")):
            if quoted and (found := self._find(quoted, path.parent)):
                ours.append(found)
            elif found := self._find_system(quoted or angled, path.parent):
                system.append(found)
        return tuple(dict.fromkeys(ours)), tuple(dict.fromkeys(system))

    def _find(self, name, beside):
        for folder in (beside, *self._ours):
            path = folder / name
            if path.is_relative_to(self.root) and path.is_file():
                return pathlib.Path(os.path.normpath(path))
        return None

    @functools.cache
    def _find_system(self, name, beside):
        """`beside` matters inside of system headers only; #include_next takes the same names, so each folder's is meant."""
        for folder in self._system:
            path = folder / name
            if path.is_file():
                return path
        path = beside / name
        return path if path.is_file() else None

    def reached(self, path):
        """Our files that the file includes, directly or through others; without itself."""
        if path not in self._closures:
            seen, waiting = set(), [path]
            while waiting:
                for found in self.direct(waiting.pop())[0]:
                    if found not in seen:
                        seen.add(found)
                        waiting.append(found)
            self._closures[path] = frozenset(seen - {path})
        return self._closures[path]

    def system_names(self, path):
        """The system headers that the file and ours that it reaches include themselves."""
        return frozenset(found for ours in (path, *self.reached(path)) for found in self.direct(ours)[1])

    @functools.cache
    def _contents(self, path):
        return hashlib.sha256(path.read_bytes()).digest()

    @functools.cache
    def _system_includes(self, path):
        try:
            text = path.read_text(errors="replace")
        except OSError:
            return ()
        names = {quoted or angled for quoted, angled in _INCLUDE.findall(text)}
        # A header of a system folder may mean the one beside it, or (include_next) the one of a later folder: all count.
        places = [path.parent, *self._system]
        return tuple({place / name for name in names for place in places if (place / name).is_file()})

    @functools.cache
    def _system_stamp(self, path):
        """Of a system header and all that it reaches: packages replace files, and with them size or time."""
        seen, waiting = {path}, [path]
        while waiting:
            for found in self._system_includes(waiting.pop()):
                if found not in seen:
                    seen.add(found)
                    waiting.append(found)
        digest = hashlib.sha256()
        for found in sorted(seen):
            status = found.stat()
            digest.update(f"{found}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
        return digest.digest()

    def digest(self, path):
        """Of everything that is read when the file is compiled. Says nothing of where the checkout is."""
        digest = hashlib.sha256()
        for found in sorted({path, *self.reached(path)}):
            digest.update(os.fsencode(found.relative_to(self.root)) + b"\0" + self._contents(found))
        for found in sorted(self.system_names(path)):
            digest.update(os.fsencode(found) + b"\0" + self._system_stamp(found))
        return digest.hexdigest()
