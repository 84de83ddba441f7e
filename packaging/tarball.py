"""The tarball: the program with every library it needs beside it, for any Linux with a glibc as new as Debian 12's."""
import os
import re
import shutil

from tree import DEPLOY, ROOT, architecture, copy_program, empty, epoch, run, write_completions, write_manual

# They are one with the kernel's loader, and with what the machine itself is set up for: names, users, locales.
OF_GLIBC = re.compile(r"^(ld-linux.*|lib(c|m|dl|pthread|rt|resolv|util|nss_\w+|anl|mvec))\.so\.\d+$")


def libraries(binary):
    """Every library that the program loads, but for glibc's: name and file."""
    for name, file in re.findall(r"^\s+(\S+) => (\S+)", run("ldd", binary), re.M):
        if not OF_GLIBC.match(name):
            yield name, os.path.realpath(file)


def owner_of(file):
    """The Debian package that a library is from; its licence goes along."""
    for path in (file, file.removeprefix("/usr")):
        found = re.match(r"([^:,\s]+)", run("sh", "-c", f"dpkg-query -S '{path}' 2>/dev/null || true"))
        if found:
            return found[1]
    raise SystemExit(f"no package owns {file}, so its licence is not known")


def add_libraries(binary, folder):
    program, lib, licences = folder / "bin/sluice", folder / "lib", folder / "share/doc/libraries"
    lib.mkdir()
    licences.mkdir(parents=True)
    for name, file in libraries(binary):
        shutil.copy(file, lib / name)
        owner = owner_of(file)
        shutil.copy(f"/usr/share/doc/{owner}/copyright", licences / owner)
    # DT_RPATH, not DT_RUNPATH: it holds for what the libraries load too. Not LD_LIBRARY_PATH: children would inherit it.
    run("patchelf", "--force-rpath", "--set-rpath", "$ORIGIN/../lib", program)


def build(binary, version, out):
    """Gives the file."""
    name = f"sluice-{version}-linux-{architecture()}"
    folder = empty(out / "tarball-work" / name)
    copy_program(binary, folder / "bin/sluice")
    run("strip", folder / "bin/sluice")
    add_libraries(binary, folder)
    write_completions(binary, folder / "share")
    write_manual(binary, version, folder / "share/man")
    for source in (DEPLOY / "etc", DEPLOY / "systemd"):
        shutil.copytree(source, folder / source.name)
    for file in ("LICENSE", "README.md", "CHANGELOG.md"):
        shutil.copy(ROOT / file, folder / file)
    made = out / f"{name}.tar.gz"
    run("tar", "--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mode=u+w,go-w", f"--mtime=@{epoch()}",
        "--use-compress-program=gzip -n", "-cf", made, "-C", folder.parent, name)
    shutil.rmtree(folder.parent)
    return made
