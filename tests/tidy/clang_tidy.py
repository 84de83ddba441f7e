"""Has clang-tidy judge sources, and knows which need not be judged again."""
import os
import pathlib
import shutil
import subprocess
import tempfile

import passes as kept
import pieces
import tasks

# More at once costs less in all but leaves little for the other processor, and takes more memory (up to 1 GB each at 32).
MOST_TOGETHER = 32
COMPILE_ERROR = "[clang-diagnostic-error]"


def version(tool):
    """What it says of itself, and which file it is: a package may be replaced by one that says the same."""
    said = subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout
    status = os.stat(os.path.realpath(shutil.which(tool)))
    return f"{said}\n{status.st_size} {status.st_mtime_ns}"


def own_code():
    """Of what judges: what passed before it was changed need not pass now."""
    return [path.read_text() for path in sorted(pathlib.Path(__file__).parent.glob("*.py")) if not path.name.endswith("_test.py")]


def without_root(root, flags):
    return "\0".join(flag.replace(str(root), "ROOT") for flag in flags)


class ClangTidy:
    def __init__(self, root, includes, passed, tool="clang-tidy-19"):
        self._root = root
        self._includes = includes
        self._passed = passed
        self._tool = tool
        self._rules = root / ".clang-tidy"
        self._common = kept.key(version(tool), self._rules.read_text(), *own_code())

    def key(self, source):
        return kept.key("clang-tidy", self._common, without_root(self._root, source.flags), self._includes.digest(source.path))

    def judge(self, sources, all_sources, say=print):
        """(how many had to be judged, complaints). What passes is kept."""
        stale = [source for source in sources if not self._passed.has(self.key(source))]
        most = max(1, min(MOST_TOGETHER, -(-len(stale) // len(os.sched_getaffinity(0)))))
        complaints = []
        waiting = pieces.join(self._root, stale, most)
        build = self._root / "build"
        build.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="lint-", dir=build) as folder:
            while waiting:
                waiting = self._round(waiting, all_sources, pathlib.Path(folder), complaints)
        for output in complaints:
            say(output)
        return len(stale), complaints

    def _round(self, batches, all_sources, folder, complaints):
        """Judges each batch once, biggest first; returns those to be judged instead of some that failed."""
        batches = sorted(batches, key=lambda batch: sum(source.path.stat().st_size for source in batch), reverse=True)
        again = []
        for index, passed, output in tasks.run_all([self._command(batch, folder) for batch in batches]):
            batch = batches[index]
            if passed:
                for source in batch:
                    self._passed.add(self.key(source))
            elif smaller := self._otherwise(batch, all_sources, output):
                again += smaller
            else:
                complaints.append(self._plain(output))
        return again

    def _otherwise(self, batch, all_sources, output):
        """Which batches to try instead, if it may be our joining that is complained about: first what the build joins
        alone, then all that it joins, which is how the build knows that they compile."""
        clusters = pieces.by_piece(batch)
        if len(clusters) > 1:
            return clusters
        piece, flags = batch[0].piece, batch[0].flags
        whole = [source for source in all_sources if source.piece == piece and source.flags == flags]
        return [whole] if COMPILE_ERROR in output and len(batch) < len(whole) else None

    def _command(self, batch, folder):
        path = batch[0].path
        if len(batch) > 1:
            text = "".join(f'#include "{source.path}"\n' for source in batch)
            path = folder / f"joined_{kept.key(text)[:16]}.cc"
            path.write_text(text)
        return [self._tool, "--quiet", "--warnings-as-errors=*", f"--config-file={self._rules}", str(path), "--",
                *batch[0].flags], None

    @staticmethod
    def _plain(output):
        """Without the counts of what was left out, which are in headers of others."""
        return "\n".join(line for line in output.splitlines() if not line.endswith((" warnings generated.", " warning generated.")))
