"""The house is in order; and each rule refuses what it is there to refuse."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import house
import source

ROOT = pathlib.Path(__file__).resolve().parents[2]


class TheHouse(unittest.TestCase):
    def test_is_in_order(self):
        if faults := house.faults(ROOT):
            self.fail("\n  " + "\n  ".join(faults))


class ABadHouse(unittest.TestCase):
    """A tree that is in order but for one thing, which must be named."""

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.root = pathlib.Path(self.directory.name)
        self.write("src/base/base.h", "// Ground.\n#pragma once\n")
        self.write("src/base/CMakeLists.txt", "sluice_room(base)\n")
        self.write("src/world/world.h", '// World.\n#pragma once\n#include "base/base.h"\n')
        self.write("src/world/inner.h", "// Inside.\n#pragma once\n")
        self.write("src/world/fake_world.h", "// Fake.\n#pragma once\n")
        self.write("src/world/CMakeLists.txt", "sluice_room(world)\n")
        self.write("src/net/CMakeLists.txt", "sluice_room(net SOURCES pipe.cc TESTS pipe_test.cc)\n")
        self.write("src/net/pipe.h", "// A pipe.\n#pragma once\n")
        self.write("src/net/pipe.cc", '#include "net/pipe.h"\n')
        self.write("src/net/pipe_test.cc", '#include "net/pipe.h"\n\n#include "world/fake_world.h"\n// '
                   + " ".join(house.REQUIREMENTS) + "\nnamespace pipe_test {\n}\n")
        self.write("README.md", "See `src/net/pipe.cc`, [the pipe](src/net/pipe.h) and `text/plain`.\n")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def refuses(self, *words):
        faults = house.faults(self.root)
        self.assertEqual(len(faults), 1, faults)
        for word in words:
            self.assertIn(word, faults[0])

    def test_without_the_one_thing_is_in_order(self):
        self.assertEqual(house.faults(self.root), [])

    def test_a_room_that_looks_up(self):
        self.write("src/base/base.h", '// Ground.\n#pragma once\n#include "world/world.h"\n')
        self.refuses("src/base/base.h", "base must not know world")

    def test_a_room_entered_by_the_window(self):
        self.write("src/net/pipe.cc", '#include "net/pipe.h"\n#include "world/inner.h"\n')
        self.refuses("enter world by world/world.h, not world/inner.h")

    def test_a_fake_outside_of_tests(self):
        self.write("src/net/pipe.cc", '#include "net/pipe.h"\n#include "world/fake_world.h"\n')
        self.refuses("world/fake_world.h is for tests")

    def test_a_header_that_does_not_exist(self):
        self.write("src/net/pipe.cc", '#include "net/pipe.h"\n#include "net/gone.h"\n')
        self.refuses("net/gone.h")

    def test_a_header_that_may_lean_on_its_source(self):
        self.write("src/net/pipe.cc", '#include <string>\n#include "net/pipe.h"\n')
        self.refuses("src/net/pipe.cc", 'the first include must be "net/pipe.h"')

    def test_a_header_that_does_not_say_what_it_is(self):
        self.write("src/net/pipe.h", "\n#pragma once\n")
        self.refuses("open with a sentence")

    def test_a_header_that_is_too_long(self):
        self.write("src/net/pipe.h", "// A pipe.\n#pragma once\n" + "\n" * 249)
        self.refuses("src/net/pipe.h: 251 lines; the most is 250")

    def test_a_function_that_is_too_long(self):
        body = "  go();\n"
        self.write("src/net/pipe.cc", '#include "net/pipe.h"\nvoid fits() {\n' + body * 58 + "}\n")
        self.assertEqual(house.faults(self.root), [])
        self.write("src/net/pipe.cc", '#include "net/pipe.h"\nvoid grows() {\n' + body * 59 + "}\n")
        self.refuses("src/net/pipe.cc:grows: 61 lines; the most is 60")

    def test_something_too_big_that_grew_or_shrank(self):
        self.write("src/net/pipe.h", "// A pipe.\n#pragma once\n" + "\n" * 298)
        self.write("tests/tidy/ratchet.txt", "src/net/pipe.h 300\n")
        self.assertEqual(house.faults(self.root), [])
        self.write("tests/tidy/ratchet.txt", "src/net/pipe.h 299\n")
        self.refuses("must not grow")
        self.write("tests/tidy/ratchet.txt", "src/net/pipe.h 301\n")
        self.refuses("Lower its line")

    def test_an_exception_nobody_needs(self):
        self.write("tests/tidy/ratchet.txt", "src/net/pipe.h 300\n")
        self.refuses("Take it out")

    def test_names_that_say_nothing(self):
        for word in ("pipe_manager", "PipeHelper", "new_pipe", "pipe_v2", "StringUtils"):
            self.write("src/net/pipe.cc", f'#include "net/pipe.h"\nint {word};\n')
            self.refuses(word)
        self.write("src/net/pipe.cc", '#include "net/pipe.h"\n// a helper\nauto x = "legacy"; auto y = EVP_PKEY_new_raw();\n')
        self.assertEqual(house.faults(self.root), [])

    def test_a_file_whose_name_says_nothing(self):
        self.write("src/net/net_utils.h", "// Bits.\n#pragma once\n")
        self.refuses("net_utils")

    def test_a_test_that_sleeps(self):
        self.write("tests/slow_test.cc", "void f() { std::this_thread::sleep_for(1s); }\n")
        self.refuses("sleep_for", "tests do not sleep")

    def test_a_test_in_an_unnamed_namespace(self):
        text = (self.root / "src/net/pipe_test.cc").read_text()
        self.write("src/net/pipe_test.cc", text + "namespace {\n}\n")
        self.refuses("src/net/pipe_test.cc", "namespace pipe_test")

    def test_a_test_without_a_namespace_of_its_own(self):
        text = (self.root / "src/net/pipe_test.cc").read_text()
        self.write("src/net/pipe_test.cc", text.replace("namespace pipe_test", "namespace sluice"))
        self.refuses("src/net/pipe_test.cc", "namespace pipe_test")

    def test_a_test_that_does_not_run(self):
        self.write("tests/lame_test.cc", "TEST(Lame, DISABLED_Duck) {}\n")
        self.refuses("DISABLED_Duck")

    def test_a_comparison_that_an_attacker_could_time(self):
        for line in ("given == hmac_sha256(root, text)", "cookie.mac != expected", "given != options_.runner_key_sha256",
                     "std::memcmp(a, session_mac, 32) == 0", "CRYPTO_memcmp(a, b, 32) == 0",
                     "seal.csrf_token(session) == token"):
            self.write("src/net/proof.h", f"// Proves.\n#pragma once\ninline bool f() {{ return {line}; }}\n")
            self.refuses("src/net/proof.h", "equal_in_constant_time")

    def test_a_source_that_nobody_builds(self):
        self.write("src/net/lost.cc", "")
        self.refuses("src/net/lost.cc", "not listed")

    def test_a_file_of_stories_that_nobody_runs(self):
        self.write("tests/CMakeLists.txt", "foreach(story nodes)\nforeach(program codex)\n")
        self.write("tests/process/test_nodes.py", "")
        self.write("tests/process/test_harness_codex.py", "")
        self.assertEqual(house.faults(self.root), [])
        self.write("tests/process/test_nodes_queue.py", "")
        self.refuses("tests/process/test_nodes_queue.py", "not listed")

    def test_a_listed_source_that_is_not_there(self):
        self.write("src/net/CMakeLists.txt", "sluice_room(net SOURCES pipe.cc gone.cc TESTS pipe_test.cc)\n")
        self.refuses("lists gone.cc")

    def test_documents_that_name_what_is_gone(self):
        self.write("docs/a.md", "See `net/gone.h`.\n")
        self.refuses("docs/a.md: names net/gone.h")
        self.write("docs/a.md", "See [this](gone.md).\n")
        self.refuses("docs/a.md: links to gone.md")

    def test_documents_that_name_a_line(self):
        self.write("docs/a.md", "See " + "pipe.cc:" + "12.\n")
        self.refuses("pipe.cc:12")

    def test_things_a_reader_cannot_follow(self):
        self.write("docs/a.md", "As in .." + "/shared.\n")
        self.refuses("means nothing to a reader")
        self.write("docs/a.md", "TODO" + "(now): finish\n")
        self.refuses("means nothing to a reader")

    def test_a_requirement_without_a_test(self):
        self.write("src/net/pipe_test.cc", '#include "net/pipe.h"\n// ' + " ".join(house.REQUIREMENTS[1:]) + "\nnamespace pipe_test {\n}\n")
        self.refuses("no test names I-1:")


class FunctionsAreFound(unittest.TestCase):
    def test_with_their_names_and_lengths(self):
        code = source.bare('''
namespace a {
constexpr Row rows[] = {
    {1, 2},
};
struct Thing final : Base {
  int one() const { return 1; }
  Thing(int x)
      : x_{x} {
    go("}{");
  }
};
TEST(Suite, Name) {
  if (x) {
    // } not here
  }
}
Result<int> Thing::two(std::function<void()> f = {}) {
  f([] {
    return R"(}})";
  });
}
}
''')
        self.assertEqual(source.functions(code),
                         [("one", 1), ("Thing", 4), ("TEST", 5), ("Thing::two", 5)])


if __name__ == "__main__":
    unittest.main()
