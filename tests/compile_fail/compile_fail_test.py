"""Mistakes that the compiler must refuse, each for its own reason. control.cc shows that the right
way compiles with the same flags."""
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
COMPILER = sys.argv.pop(1) if len(sys.argv) > 1 else "clang++-19"


def compile_only(path):
    return subprocess.run([COMPILER, "-std=c++20", "-fsyntax-only", "-fno-caret-diagnostics", "-ferror-limit=0",
                           "-Werror=unused-result", f"-I{HERE.parents[1] / 'src'}", str(path)],
                          capture_output=True, text=True, check=False)


def compile_together(paths):
    """All of them in one go, as what they include takes far longer than they do; each in a namespace of its own, as
    they use the same names. Their headers come first, outside of these."""
    lines = []
    for path in paths:
        lines += re.findall(r"#include .+", path.read_text())
    for path in paths:
        lines += [f"namespace {path.stem} {{ using namespace ::sluice;", f'#include "{path}"', "}"]
    with tempfile.TemporaryDirectory() as folder:
        together = pathlib.Path(folder, "together.cc")
        together.write_text("\n".join(lines) + "\n")
        return compile_only(together)


class CompileFail(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.mistakes = sorted(path for path in HERE.glob("*.cc") if path.name != "control.cc")
        with concurrent.futures.ThreadPoolExecutor() as side_by_side:
            control = side_by_side.submit(compile_only, HERE / "control.cc")
            refused = side_by_side.submit(compile_together, cls.mistakes)
            cls.control, cls.refused = control.result(), refused.result()

    def test_the_right_way_compiles(self):
        self.assertEqual(self.control.returncode, 0, self.control.stderr)

    def test_each_mistake_is_refused_for_its_own_reason(self):
        self.assertTrue(self.mistakes)
        errors = re.findall(r"^(.+?):\d+:\d+: (?:fatal )?error: (.+)", self.refused.stderr, re.MULTILINE)
        self.assertEqual(sorted({path for path, _ in errors} - {str(path) for path in self.mistakes}), [], errors)
        for path in self.mistakes:
            with self.subTest(path.stem):
                expected = re.match(r"// expect: (.+)\n", path.read_text()).group(1)
                own = [error for where, error in errors if where == str(path)]
                self.assertEqual(len(own), 1, own or f"{path.name} compiles")
                self.assertIn(expected, own[0])


if __name__ == "__main__":
    unittest.main()
