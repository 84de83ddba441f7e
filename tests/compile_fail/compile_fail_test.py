"""Mistakes that the compiler must refuse, each for its own reason. control.cc shows that the right
way compiles with the same flags."""
import pathlib
import re
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
COMPILER = sys.argv.pop(1) if len(sys.argv) > 1 else "clang++-16"


def compile_only(path):
    return subprocess.run([COMPILER, "-std=c++20", "-fsyntax-only", "-fno-caret-diagnostics", "-Werror=unused-result",
                           f"-I{HERE.parents[1] / 'src'}", str(path)], capture_output=True, text=True, check=False)


class CompileFail(unittest.TestCase):
    def test_the_right_way_compiles(self):
        result = compile_only(HERE / "control.cc")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_each_mistake_is_refused_for_its_own_reason(self):
        mistakes = sorted(path for path in HERE.glob("*.cc") if path.name != "control.cc")
        self.assertTrue(mistakes)
        for path in mistakes:
            with self.subTest(path.stem):
                expected = re.match(r"// expect: (.+)\n", path.read_text()).group(1)
                result = compile_only(path)
                errors = re.findall(r" error: (.+)", result.stderr)
                self.assertNotEqual(result.returncode, 0, f"{path.name} compiles")
                self.assertEqual(len(errors), 1, errors)
                self.assertIn(expected, errors[0])


if __name__ == "__main__":
    unittest.main()
