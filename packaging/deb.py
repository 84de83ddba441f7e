"""The package for Debian: packaging/debian says what it is, debhelper does the rest.

It is called sluice-server: Debian has a program called sluice, which is another, with a higher version."""
import email.utils
import os
import shutil

from tree import DEPLOY, ROOT, architecture, copy_program, empty, epoch, run, write, write_completions, write_manual

PACKAGE = "sluice-server"


def changelog(version):
    when = email.utils.formatdate(epoch())
    return (f"{PACKAGE} ({version}) unstable; urgency=medium\n\n  * See changelog.gz, the changes as their authors tell them.\n\n"
            f" -- The Sluice authors <sluice@sluice.example>  {when}\n")


def lay_out(binary, version, stage):
    """Everything that debhelper packs, as it wants to find it."""
    shutil.copytree(ROOT / "packaging" / "debian", stage / "debian")
    write(stage / "debian" / "changelog", changelog(version))
    shutil.copy(DEPLOY / "systemd" / "sluice.service", stage / "debian" / f"{PACKAGE}.sluice.service")
    shutil.copy(DEPLOY / "systemd" / "sluice-runner.service", stage / "debian" / f"{PACKAGE}.sluice-runner.service")
    for name in ("README.md", "CHANGELOG.md"):
        shutil.copy(ROOT / name, stage / name)
    copy_program(binary, stage / "tree/usr/bin/sluice")
    shutil.copytree(DEPLOY / "etc", stage / "tree/etc/sluice")
    write_completions(binary, stage / "tree/usr/share")
    write_manual(binary, version, stage / "man")


def build(binary, version, out):
    """Gives the file."""
    stage = empty(out / "deb" / f"{PACKAGE}-{version}")
    lay_out(binary, version, stage)
    run("dpkg-buildpackage", "-b", "-d", "-us", "-uc", cwd=stage, env=os.environ | {"SOURCE_DATE_EPOCH": str(epoch())})
    name = f"{PACKAGE}_{version}_{architecture()}.deb"
    made = out / name
    shutil.move(out / "deb" / name, made)
    shutil.rmtree(out / "deb")
    return made


def complaints(deb):
    """What lintian has to say; nothing, or a reason to stop."""
    run("lintian", "--fail-on", "error,warning", "--allow-root", deb)
