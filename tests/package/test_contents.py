"""What is in the package, without installing it; and that it says what the program says. Cheap, so always run."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "packaging"))
import deb  # noqa: E402  (found by the line above)
import manual  # noqa: E402
import tree  # noqa: E402

BINARY = pathlib.Path(os.environ["SLUICE_BINARY"])

# For a zsh with a terminal: on a tab, says what could stand there. It asks the builtin that takes the matches, because
# a list on a terminal may be laid out in any way.
ZSHRC = r"""
fpath=($ZDOTDIR/zsh/vendor-completions $fpath)
autoload -Uz compinit
compinit -u -D
compadd() {
  local -a taken
  (( ${@[(I)-[OAD]]} )) || { builtin compadd -O taken "$@"; offered+=($taken) }
  builtin compadd "$@"
}
tell() {
  local -a offered
  _main_complete
  compstate[insert]= compstate[list]=
  print -r -- "<<$offered>>"
}
zle -C tell complete-word tell
bindkey '^I' tell
"""
# Types $1 and a tab there, and prints what was said.
ZSH_AT_A_TERMINAL = r"""
zmodload zsh/zpty
zpty inner zsh -d -i
zpty -w -n inner "$1"$'\t'
zpty -r -m inner said '*<<*>>*'
print -r -- "${${said##*<<}%%>>*}"
zpty -d inner
"""


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        stage = pathlib.Path(cls.folder.name) / "stage"
        deb.lay_out(BINARY, "1.2.3", stage)
        (stage / "tree/usr/bin/sluice").write_text("#!/bin/sh\n")  # packing the program is slow, and proves nothing here
        tree.run("dpkg-buildpackage", "-b", "-d", "-us", "-uc", cwd=stage)
        cls.file = pathlib.Path(cls.folder.name) / f"sluice-server_1.2.3_{tree.architecture()}.deb"
        cls.root = pathlib.Path(cls.folder.name) / "root"
        tree.run("dpkg-deb", "-R", cls.file, cls.root)

    def test_has_the_program_its_units_its_users_and_its_places(self):
        for path in ("usr/bin/sluice", "lib/systemd/system/sluice.service", "lib/systemd/system/sluice-runner.service",
                     "usr/lib/sysusers.d/sluice-server.conf", "usr/lib/tmpfiles.d/sluice-server.conf",
                     "usr/share/man/man1/sluice.1.gz", "usr/share/man/man5/sluice.toml.5.gz",
                     "usr/share/doc/sluice-server/copyright", "usr/share/doc/sluice-server/changelog.gz"):
            self.assertTrue((self.root / path).is_file(), path)

    def test_what_is_configured_survives_an_upgrade(self):
        kept = (self.root / "DEBIAN/conffiles").read_text().split()
        self.assertEqual(kept, [f"/etc/sluice/{name}" for name in ("sluice-runner.env", "sluice-runner.toml", "sluice.env",
                                                                   "sluice.toml")])
        for name in ("sluice.env", "sluice-runner.env"):
            self.assertEqual((self.root / "etc/sluice" / name).stat().st_mode & 0o777, 0o600)

    def test_never_stands_in_for_the_program_of_the_same_name_in_debian(self):
        control = (self.root / "DEBIAN/control").read_text()
        self.assertIn("Package: sluice-server\n", control)
        self.assertIn("Conflicts: sluice\n", control)

    def test_its_files_are_understood_by_the_program(self):
        for name in ("sluice.toml", "sluice-runner.toml"):
            text = (self.root / "etc/sluice" / name).read_text()
            # As it is, and with every example in it in force.
            for shown in (text, re.sub(r"^# (?=\[|\w+ = )", "", text, flags=re.M)):
                file = self.root / "tried.toml"
                file.write_text(shown)
                tried = subprocess.run([BINARY, "config", "--config", file], env={}, capture_output=True, text=True,
                                       check=False)
                self.assertEqual(tried.returncode, 0, f"{name}: {tried.stderr}")


class Manual(unittest.TestCase):
    def setUp(self):
        self.pages = manual.pages(BINARY, "1.2.3", "2026-11-16")

    def test_is_sound_roff(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, page in self.pages.items():
                (pathlib.Path(folder) / name).write_text(page)
                judged = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", pathlib.Path(folder) / name],
                                        capture_output=True, text=True, check=False)
                self.assertEqual(judged.stdout, "")

    def test_has_every_command_and_every_key(self):
        headings = re.findall(r"^\.SS (\S+)", self.pages["sluice.1"], re.M)
        listed = re.findall(r"^  ([a-z][\w-]*)", manual.said(BINARY, "--help"), re.M)
        self.assertEqual(set(headings), {manual.plain(word) for word in listed})
        for key in re.findall(r"^\| `([\w.]+)` \|", manual.said(BINARY, "config", "--reference"), re.M):
            self.assertTrue(f"\\fB{key}\\fR" in self.pages["sluice.toml.5"], key)


class Completion(unittest.TestCase):
    """Shells that find the scripts where packages put them, and the program on the PATH."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.share = pathlib.Path(folder.name)
        tree.write_completions(BINARY, self.share)
        os.symlink(BINARY.resolve(), self.share / "sluice")
        self.environment = os.environ | {"PATH": f"{self.share}:/usr/bin:/bin", "HOME": folder.name, "TERM": "dumb"}

    def said(self, *command, **more):
        return subprocess.run(command, env=self.environment | more, cwd=self.share, capture_output=True, text=True, timeout=60,
                              check=True).stdout

    def test_bash_completes_from_the_installed_script(self):
        script = self.share / tree.COMPLETIONS["bash"]
        said = self.said("bash", "-c", f"source {script}; COMP_WORDS=(sluice runs t); COMP_CWORD=2; _sluice; "
                         'echo "${COMPREPLY[@]}"')
        self.assertEqual(said, "tail trace\n")

    def test_fish_completes_from_the_installed_script(self):
        for typed, words in (("se", ["secrets", "send", "serve"]), ("runs t", ["tail", "trace"]), ("serve fis", ["fish/"])):
            with self.subTest(typed=typed):
                said = self.said("fish", "-c", f"complete -C 'sluice {typed}'", XDG_DATA_DIRS=str(self.share))
                self.assertEqual([line.split("\t")[0] for line in said.splitlines()], words)

    def test_zsh_completes_from_the_installed_script(self):
        (self.share / ".zshrc").write_text(ZSHRC)
        for typed, words in (("se", ["secrets", "send", "serve"]), ("runs t", ["tail", "trace"]), ("serve fis", ["fish"])):
            with self.subTest(typed=typed):
                said = self.said("zsh", "-f", "-c", ZSH_AT_A_TERMINAL, "zsh", f"sluice {typed}", ZDOTDIR=str(self.share))
                self.assertEqual(sorted(said.split()), words)


if __name__ == "__main__":
    unittest.main(verbosity=2)
