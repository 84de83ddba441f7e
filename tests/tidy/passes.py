"""What has passed before. A pass is an empty file whose name is the hash of all that it depended on; complaints are not
kept, so that they are said again."""
import contextlib
import hashlib
import os
import pathlib


def default_folder():
    if given := os.environ.get("SLUICE_LINT_CACHE"):
        return pathlib.Path(given)
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "sluice-lint"


def key(*parts):
    """Parts are texts; where one ends and the next begins is part of the key."""
    digest = hashlib.sha256()
    for part in parts:
        encoded = str(part).encode()
        digest.update(f"{len(encoded)}:".encode() + encoded)
    return digest.hexdigest()


class Passes:
    def __init__(self, folder, most=20000):
        self._folder = pathlib.Path(folder)
        self._most = most

    def has(self, name):
        try:
            os.utime(self._folder / name)  # what is still used is not the oldest
        except OSError:
            return False  # also where nothing can be kept, e.g. because the folder is root's
        return True

    def add(self, name):
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / name).touch()

    def trim(self):
        """Removes the oldest until at most `most` are left. Another lint may be doing the same."""
        if not self._folder.is_dir():
            return
        by_age = []
        for entry in os.scandir(self._folder):
            with contextlib.suppress(OSError):
                by_age.append((entry.stat().st_mtime_ns, entry.path))
        by_age.sort()
        for _, path in by_age[:max(0, len(by_age) - self._most)]:
            with contextlib.suppress(OSError):
                pathlib.Path(path).unlink()
