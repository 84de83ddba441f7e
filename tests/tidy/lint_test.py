"""./dev lint judges what changed, remembers what passed, and says all that there is to say: in tiny checkouts whose path
has a space in it, among stand-ins for the tools."""
import contextlib
import io
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import changes
import clang_tidy
import headers
import includes
import lint
import openapi_lint
import passes
import pieces

# Stands for clang-tidy and for the compiler: writes down what it was given, and complains about every file that has the
# word BAD in it.
TOOL = """#!/usr/bin/python3
import pathlib, re, sys
if "--version" in sys.argv:
    print(pathlib.Path(__file__).with_suffix(".version").read_text())
    sys.exit(0)
def read(text):
    return text + "".join(read(pathlib.Path(name).read_text()) for name in re.findall('#include "(/[^"]*)"', text))
given = sys.stdin.read() if sys.argv[-1] == "-" else pathlib.Path(
    sys.argv[sys.argv.index("--") - 1]).read_text()
text = read(given)
with open(pathlib.Path(__file__).with_suffix(".log"), "a") as log:
    print(" ".join(sorted(set(re.findall("NAME_[a-z]+", text)))), file=log)
if "CLASH" in text and "#include" in given:
    print("x.cc:1:1: error: redefinition of 'x' [clang-diagnostic-error]")
    sys.exit(1)
if "BAD" in text:
    print("a complaint about BAD")
    sys.exit(1)
"""


class ACheckout(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="a checkout ")
        self.addCleanup(folder.cleanup)
        outside = pathlib.Path(folder.name).resolve()
        self.root = outside / "with a space"
        self.tool = outside / "tool"
        self.tool.write_text(TOOL)
        self.tool.chmod(0o755)
        self.tool.with_suffix(".version").write_text("1")
        self.tool.with_suffix(".log").touch()
        self.system = outside / "system"
        self.system.mkdir()
        (self.system / "string").write_text("#include <bits>\n")
        (self.system / "bits").write_text("")
        self.passed = passes.Passes(outside / "passed")
        self.write(".clang-tidy", "Checks: all\n")
        self.write("src/base/ground.h", "#include <string>\n")
        self.write("src/net/pipe.h", '#include "base/ground.h"\n')
        self.write("src/net/pipe.cc", '#include "net/pipe.h"\n// NAME_pipe\n')
        self.write("src/net/valve.cc", "// NAME_valve\n")
        self.write("src/net/pipe_test.cc", '#include "net/pipe.h"\n')
        self.write("src/store/shelf.cc", '#include "base/ground.h"\n// NAME_shelf\n')
        self.flags = ["-DX"]
        self.build()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def build(self, joined=("src/net/pipe.cc", "src/net/valve.cc"), single=("src/store/shelf.cc", "src/net/pipe_test.cc")):
        """Writes a database as CMake does, with one piece that joins sources."""
        piece = self.write("build/asan/unity_0_cxx.cxx", "".join(f'#include "{self.root / name}"\n\n' for name in joined))
        self.database = self.write("build/asan/compile_commands.json", json.dumps([
            {"directory": str(self.root / "build/asan"), "file": str(path), "command": shlex.join(
                ["/usr/bin/clang++-19", f"-I{self.root / 'src'}", *self.flags, "-Winvalid-pch",
                 "-Xclang", "-include-pch", "-Xclang", f"{self.root}/often.pch", "-Xclang", "-include", "-Xclang", "often.hxx",
                 "-o", "a.o", "-c", str(path)])}
            for path in (piece, *(self.root / name for name in single))]))

    def includes(self):
        return includes.Includes(self.root, [self.system])

    def judge(self, changed=None):
        """What the tool was shown, by name."""
        linted = lint.Lint.__new__(lint.Lint)
        linted.root, linted.changed, linted.includes = self.root, changed, self.includes()
        sources, _ = pieces.read(self.root, self.database)
        wanted = [source for source in sources if linted._may_differ(source.path)]
        tidy = clang_tidy.ClangTidy(self.root, linted.includes, self.passed, str(self.tool))
        self.tool.with_suffix(".log").write_text("")
        self.said = []
        _, self.complaints = tidy.judge(wanted, sources, self.said.append)
        return sorted(self.tool.with_suffix(".log").read_text().replace("NAME_", "").split())


class WhatIsJudged(ACheckout):
    def test_everything_where_everything_may_have_changed(self):
        self.assertEqual(self.judge(), ["pipe", "shelf", "valve"])

    def test_what_reaches_a_changed_header(self):
        self.assertEqual(self.judge({self.root / "src/base/ground.h"}), ["pipe", "shelf"])
        self.assertEqual(self.judge({self.root / "src/net/pipe.h"}), [])
        self.write("src/net/pipe.h", '#include "base/ground.h"\n// more\n')
        self.assertEqual(self.judge({self.root / "src/net/pipe.h"}), ["pipe"])

    def test_a_changed_source_alone(self):
        self.assertEqual(self.judge({self.root / "src/net/valve.cc"}), ["valve"])
        self.assertEqual(self.judge({self.root / "README.md"}), [])

    def test_all_when_the_rules_changed(self):
        self.assertEqual(self.judge({self.root / ".clang-tidy"}), ["pipe", "shelf", "valve"])

    def test_a_source_in_no_piece_is_complained_about(self):
        lost = self.write("src/net/lost.cc", "")
        self.assertEqual(pieces.read(self.root, self.database)[1], [lost])

    def test_flags_without_what_is_about_output_and_precompiled_headers(self):
        sources, _ = pieces.read(self.root, self.database)
        self.assertEqual({source.flags for source in sources}, {(f"-I{self.root / 'src'}", "-DX")})

    def test_sources_with_the_same_private_names_are_not_joined(self):
        for name, private in {"a": "most", "b": "most", "c": "least"}.items():
            self.write(f"src/api/admin/{name}.cc",
                       f"namespace {{\nvoid first_{name}() {{\n}}\nconstexpr int {private} = 3;\n}}  // namespace\n")
        sources = [pieces.Source(self.root / "src/api/admin" / f"{name}.cc", (), pathlib.Path(name)) for name in "abc"]
        batches = [[source.path.stem for source in batch] for batch in pieces.join(self.root, sources, 8)]
        self.assertEqual(batches, [["a", "c"], ["b"]])


class WhatIsRemembered(ACheckout):
    def setUp(self):
        super().setUp()
        self.judge()

    def test_nothing_is_judged_twice(self):
        self.assertEqual(self.judge(), [])

    def test_not_what_reads_a_header_that_changed(self):
        self.write("src/base/ground.h", "// other\n")
        self.assertEqual(self.judge(), ["pipe", "shelf"])

    def test_not_what_reads_a_system_header_that_changed(self):
        os.utime(self.system / "bits", ns=(1, 1))
        self.assertEqual(self.judge(), ["pipe", "shelf"])

    def test_not_under_other_flags(self):
        self.flags = ["-DY"]
        self.build()
        self.assertEqual(self.judge(), ["pipe", "shelf", "valve"])

    def test_not_under_other_rules(self):
        self.write(".clang-tidy", "Checks: none\n")
        self.assertEqual(self.judge(), ["pipe", "shelf", "valve"])

    def test_not_by_another_version(self):
        self.tool.with_suffix(".version").write_text("2")
        self.assertEqual(self.judge(), ["pipe", "shelf", "valve"])

    def test_in_another_checkout_of_the_same(self):
        elsewhere = self.root.with_name("else where")
        self.root.rename(elsewhere)
        self.root = elsewhere
        self.build()
        self.assertEqual(self.judge(), [])

    def test_nothing_where_nothing_can_be_kept_and_that_is_no_complaint(self):
        (self.root / "a file").touch()
        nowhere = passes.Passes(self.root / "a file" / "passed")
        nowhere.add("x")
        nowhere.trim()
        self.assertFalse(nowhere.has("x"))

    def test_folders_of_the_system_that_flags_name_are_looked_into(self):
        self.flags = ["-isystem", str(self.system / "database"), "-DX"]
        self.build()
        self.assertEqual(pieces.system_folders(self.root / "build" / "asan" / "compile_commands.json"),
                         [self.system / "database"])

    def test_no_complaint(self):
        self.write("src/net/pipe.cc", "// BAD NAME_pipe\n")
        for _ in range(2):
            self.assertIn("pipe", self.judge())
            self.assertEqual(self.said, ["a complaint about BAD"])

    def test_only_so_many_and_the_latest(self):
        few = passes.Passes(self.root / "few", most=2)
        for at, name in enumerate("abc"):
            few.add(name)
            os.utime(self.root / "few" / name, ns=(at, at))
        self.assertTrue(few.has("a"))  # and is now the latest
        few.trim()
        self.assertEqual([few.has(name) for name in "abc"], [True, False, True])


class WhatDoesNotCompileJoined(ACheckout):
    def test_is_judged_apart(self):
        self.write("src/store/shelf.cc", "// CLASH NAME_shelf\n")
        with mock.patch.object(os, "sched_getaffinity", return_value={0}):
            self.assertEqual(self.judge(), ["pipe", "pipe", "shelf", "shelf", "valve", "valve"])
        self.assertEqual(self.complaints, [])
        self.assertEqual(self.judge(), [])


class HeadersAlone(ACheckout):
    def judge(self):
        alone = headers.HeadersAlone(self.root, self.includes(), self.passed, ("-O2", "-DX"), str(self.tool))
        self.said = []
        return alone.judge(headers.without_source(self.root), self.said.append)[:2]

    def test_only_those_without_a_source(self):
        self.write("src/net/net.h", "")
        self.assertEqual([path.name for path in headers.without_source(self.root)], ["ground.h", "net.h"])

    def test_one_that_includes_another_is_compiled_after_it(self):
        self.write("src/net/net.h", '#include "base/ground.h"\n')
        self.write("src/net/other.h", '#include "base/ground.h"\n')
        found = headers.chains(headers.without_source(self.root), self.includes())
        self.assertEqual(sorted([path.name for path in chain] for chain in found),
                         sorted([["ground.h", "net.h"], ["other.h"]]))

    def test_one_with_code_before_an_include_is_compiled_by_itself(self):
        self.write("src/net/net.h", 'int early;\n#include "base/ground.h"\n')
        found = headers.chains(headers.without_source(self.root), self.includes())
        self.assertEqual(sorted([path.name for path in chain] for chain in found), [["ground.h"], ["net.h"]])

    def test_two_that_include_each_other_are_both_compiled(self):
        self.write("src/net/one.h", '#include "net/two.h"\n')
        self.write("src/net/two.h", '#include "net/one.h"\n')
        found = headers.chains(headers.without_source(self.root), self.includes())
        self.assertEqual(sorted(path.name for chain in found for path in chain), ["ground.h", "one.h", "two.h"])

    def test_what_passed_is_not_compiled_again_and_what_did_not_is(self):
        self.write("src/net/net.h", '#include "base/ground.h"\n')
        self.assertEqual(self.judge(), (2, 1))
        self.assertEqual(self.judge(), (0, 0))
        self.write("src/net/net.h", "// BAD\n")
        self.assertEqual(self.judge(), (1, 1))
        self.assertEqual(self.judge(), (1, 1))
        self.assertEqual(len(self.said), 1)

    def test_a_real_compiler_finds_what_is_missing(self):
        self.write("src/base/ground.h", "#pragma once\nstruct Ground { int depth; };\n")
        self.write("src/net/net.h", '#pragma once\n#include "base/ground.h"\nstruct Net { Ground ground; };\n')
        self.write("src/net/forgot.h", "#pragma once\nstruct Forgot { Ground ground; };\n")
        alone = headers.HeadersAlone(self.root, self.includes(), self.passed, (f"-I{self.root / 'src'}",))
        said = []
        alone.judge(headers.without_source(self.root), said.append)
        self.assertEqual(len(said), 1)
        self.assertIn("forgot.h", said[0])


class WhatChanged(unittest.TestCase):
    def test_is_what_was_committed_staged_written_and_added(self):
        with tempfile.TemporaryDirectory(prefix="a checkout ") as folder:
            root = pathlib.Path(folder)

            def git(*arguments):
                subprocess.run(["git", "-C", folder, "-c", "user.name=n", "-c", "user.email=e@example.com", *arguments],
                               check=True, capture_output=True)
            git("init", "-q", "-b", "main")
            for name in ("kept", "committed", "staged", "written"):
                (root / name).write_text("1")
            git("add", ".")
            git("commit", "-q", "-m", "one")
            git("checkout", "-q", "-b", "other")
            (root / "committed").write_text("2")
            git("commit", "-q", "-a", "-m", "two")
            (root / "staged").write_text("2")
            git("add", "staged")
            (root / "written").write_text("2")
            (root / "a new one").write_text("2")
            self.assertEqual({path.name for path in changes.changed_files(root)}, {"committed", "staged", "written", "a new one"})

    def test_is_unknown_outside_of_a_repository(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertIsNone(changes.changed_files(pathlib.Path(folder)))


class Steps(unittest.TestCase):
    def run_main(self, **steps):
        output = io.StringIO()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(output), \
                mock.patch.dict(os.environ, SLUICE_LINT_CACHE=folder), mock.patch.object(lint.Lint, "steps", lambda _: steps):
            code = lint.main([])
        return code, output.getvalue().splitlines()

    def test_all_run_although_one_complains(self):
        def broken():
            raise FileNotFoundError("no such tool")
        code, said = self.run_main(first=lambda: (False, "looked"), second=broken, third=lambda: (True, "looked"))
        self.assertEqual(code, 1)
        self.assertEqual(said[-1], "lint: complaints from first, second")
        self.assertIn("lint: third: looked (passed", said[2])

    def test_nothing_to_complain_about(self):
        code, said = self.run_main(only=lambda: (True, "looked"))
        self.assertEqual((code, said[-1]), (0, "lint: nothing to complain about"))


class ShellScripts(ACheckout):
    def test_a_script_is_known_by_its_first_line(self):
        self.write("bin/tool", "#!/bin/bash\n")
        self.write("run.sh", "#!/usr/bin/env sh\n")
        self.write("lib/part", "# shellcheck shell=bash\n")
        self.write("bench.py", "#!/usr/bin/env python3\n# no sh\n")
        self.write("web/node_modules/x/tool", "#!/bin/sh\n")
        self.assertEqual([str(path.relative_to(self.root)) for path in lint.shell_scripts(self.root)],
                         ["bin/tool", "lib/part", "run.sh"])


class TheContract(unittest.TestCase):
    def test_a_linter_that_cannot_be_had_is_a_complaint(self):
        with tempfile.TemporaryDirectory(prefix="a checkout ") as folder:
            root = pathlib.Path(folder)
            (root / "openapi/lint").mkdir(parents=True)
            (root / "npm").write_text("#!/bin/sh\necho no registry\nexit 1\n")
            (root / "npm").chmod(0o755)
            said = []
            with mock.patch.dict(os.environ, PATH=folder):
                self.assertFalse(openapi_lint.judge(root, said.append))
            self.assertIn("no registry", said[0])

    def test_it_is_installed_when_the_lock_file_asks_for_something_else(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "node_modules").mkdir()
            wanted = {"packages": {"": {}, "node_modules/x": {"integrity": "a"}}}
            (root / "package-lock.json").write_text(json.dumps(wanted))
            self.assertFalse(openapi_lint.is_installed(root))
            there = root / "node_modules/.package-lock.json"
            there.write_text(json.dumps({"packages": {"node_modules/x": {"integrity": "a"}}}))
            self.assertTrue(openapi_lint.is_installed(root))
            there.write_text(json.dumps({"packages": {"node_modules/x": {"integrity": "b"}}}))
            self.assertFalse(openapi_lint.is_installed(root))


if __name__ == "__main__":
    unittest.main(verbosity=2)
