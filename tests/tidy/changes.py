"""What differs from the branch that changes go into."""
import pathlib
import subprocess


def changed_files(root):
    """Files that differ from the merge base with origin/main or main: committed, staged, not staged, or new and not
    ignored. None where there is no such branch, which means that everything may have changed."""
    def git(*arguments):
        return subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, check=False)

    for branch in ("origin/main", "main"):
        base = git("merge-base", "HEAD", branch)
        if base.returncode == 0:
            break
    else:
        return None
    # Against the work tree: that covers commits, the index and what is not in it. A file that was renamed is both names.
    against_base = git("diff", "--name-only", "--no-renames", "--relative", "-z", base.stdout.decode().strip())
    new = git("ls-files", "--others", "--exclude-standard", "-z")
    if against_base.returncode != 0 or new.returncode != 0:
        return None
    return {pathlib.Path(root, name.decode()) for name in (against_base.stdout + new.stdout).split(b"\0") if name}
