"""The codebase follows its rules, and each rule refuses what it forbids."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import measures
import rules
import source

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Codebase(unittest.TestCase):
    def test_the_codebase_follows_its_rules(self):
        if faults := rules.faults(ROOT):
            self.fail("\n  " + "\n  ".join(faults))


    def test_every_measure_is_held(self):
        held = {what for what in rules.ratchet(ROOT) if what.startswith("measure:")}
        self.assertEqual(held, {"measure:" + what for what, *_ in measures.held(ROOT)})


class Violations(unittest.TestCase):
    """A small tree that follows all rules, with one violation in each test, which must be reported."""

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.root = pathlib.Path(self.directory.name)
        self.write("src/base/base.h", "// Basics.\n#pragma once\n")
        self.write("src/base/CMakeLists.txt", "sluice_module(base)\n")
        self.write("src/world/world.h", '// World.\n#pragma once\n#include "base/base.h"\n')
        self.write("src/world/inner.h", "// Inside.\n#pragma once\n")
        self.write("src/world/fake_world.h", "// Fake.\n#pragma once\n")
        self.write("src/world/CMakeLists.txt", "sluice_module(world)\n")
        self.write("src/net/CMakeLists.txt", "sluice_module(net SOURCES pipe.cc TESTS pipe_test.cc)\n")
        self.write("src/net/pipe.h", "// A pipe.\n#pragma once\n")
        self.write("src/net/pipe.cc", '#include "net/pipe.h"\n')
        self.write("src/net/pipe_test.cc", '#include "net/pipe.h"\n\n#include "world/fake_world.h"\n// '
                   + " ".join(rules.REQUIREMENTS) + "\nnamespace pipe_test {\n}\n")
        self.write("README.md", "See `src/net/pipe.cc`, [the pipe](src/net/pipe.h) and `text/plain`.\n")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def refuses(self, *words):
        faults = rules.faults(self.root)
        self.assertEqual(len(faults), 1, faults)
        for word in words:
            self.assertIn(word, faults[0])

    def test_the_tree_without_a_violation_is_accepted(self):
        self.assertEqual(rules.faults(self.root), [])

    def test_an_include_of_a_higher_module_is_refused(self):
        self.write("src/base/base.h", '// Basics.\n#pragma once\n#include "world/world.h"\n')
        self.refuses("src/base/base.h", "base must not include headers of world")

    def test_an_include_of_a_private_header_of_another_module_is_refused(self):
        self.write("src/net/pipe.cc", '#include "net/pipe.h"\n#include "world/inner.h"\n')
        self.refuses("include world/world.h, the public header of world, instead of world/inner.h")

    def test_a_fake_included_outside_of_tests_is_refused(self):
        self.write("src/net/pipe.cc", '#include "net/pipe.h"\n#include "world/fake_world.h"\n')
        self.refuses("world/fake_world.h is for tests")

    def test_an_include_of_a_missing_header_is_refused(self):
        self.write("src/net/pipe.cc", '#include "net/pipe.h"\n#include "net/gone.h"\n')
        self.refuses("net/gone.h")

    def test_a_source_that_does_not_include_its_own_header_first_is_refused(self):
        self.write("src/net/pipe.cc", '#include <string>\n#include "net/pipe.h"\n')
        self.refuses("src/net/pipe.cc", 'the first include must be "net/pipe.h"')

    def test_a_header_without_a_first_sentence_is_refused(self):
        self.write("src/net/pipe.h", "\n#pragma once\n")
        self.refuses("begin with a sentence")

    def test_a_header_that_is_too_long_is_refused(self):
        self.write("src/net/pipe.h", "// A pipe.\n#pragma once\n" + "\n" * 249)
        self.refuses("src/net/pipe.h: 251 lines; the most is 250")

    def test_a_class_with_too_many_methods_is_refused(self):
        methods = "".join(f"  void method_{i}();\n" for i in range(41))
        self.write("src/net/pipe.h", f"// A pipe.\n#pragma once\nclass Pipe {{\n public:\n{methods}}};\n")
        self.refuses("net/pipe.h:Pipe: 41 methods; the most is 40")

    def test_a_class_in_two_sources_is_refused(self):
        self.write("src/net/CMakeLists.txt", "sluice_module(net SOURCES pipe.cc pipe_end.cc TESTS pipe_test.cc)\n")
        self.write("src/net/pipe.cc", '#include "net/pipe.h"\nvoid Pipe::open() {\n}\n')
        self.write("src/net/pipe_end.cc", '#include "net/pipe.h"\nvoid Pipe::close() {\n}\n')
        self.refuses("net:Pipe: 2 sources", "net/pipe_end.cc")

    def test_files_that_include_each_other_are_refused(self):
        self.write("src/net/hose.h", '// A hose.\n#pragma once\n#include "net/pipe.h"\n')
        self.write("src/net/pipe.cc", '#include "net/pipe.h"\n#include "net/hose.h"\n')
        self.refuses("net/hose:circle: 2 files", "net/pipe")

    def test_a_word_of_the_private_language_is_refused(self):
        self.write("src/net/pipe.cc", '#include "net/pipe.h"\n// Whoever reads.\n')
        self.refuses("word:whoever: 1 uses; the most is 0")

    def test_a_function_that_is_too_long_is_refused(self):
        body = "  go();\n"
        self.write("src/net/pipe.cc", '#include "net/pipe.h"\nvoid fits() {\n' + body * 58 + "}\n")
        self.assertEqual(rules.faults(self.root), [])
        self.write("src/net/pipe.cc", '#include "net/pipe.h"\nvoid grows() {\n' + body * 59 + "}\n")
        self.refuses("src/net/pipe.cc:grows: 61 lines; the most is 60")

    def test_a_listed_exception_that_grew_or_shrank_is_refused(self):
        self.write("src/net/pipe.h", "// A pipe.\n#pragma once\n" + "\n" * 298)
        self.write("tests/tidy/ratchet.txt", "src/net/pipe.h 300\n")
        self.assertEqual(rules.faults(self.root), [])
        self.write("tests/tidy/ratchet.txt", "src/net/pipe.h 299\n")
        self.refuses("must not grow")
        self.write("tests/tidy/ratchet.txt", "src/net/pipe.h 301\n")
        self.refuses("Lower its line")

    def test_headers_with_a_single_reader_are_refused_beyond_a_slack_of_two_unless_they_give_a_reason(self):
        self.write("tests/tidy/ratchet.txt", f"measure:lone-headers {len(measures.lone_headers(self.root)) - 2}\n")
        self.assertEqual(rules.faults(self.root), [])
        self.write("src/net/hose.h", "// A hose.\n#pragma once\n")
        self.refuses("measure:lone-headers", "must not get worse", "Own file")
        self.write("src/net/hose.h", "// A hose. Own file: pipes of others are made of it.\n#pragma once\n")
        self.assertEqual(rules.faults(self.root), [])

    def test_a_measure_that_gets_worse_is_refused(self):
        self.write("tests/tidy/ratchet.txt", "measure:comments-sources 0.1\n")
        self.assertEqual(rules.faults(self.root), [])
        self.write("tests/tidy/ratchet.txt", "measure:comments-sources 5.0\n")
        self.refuses("measure:comments-sources", "must not get worse")

    def test_lines_and_files_may_grow_by_two_percent_and_an_old_number_must_be_renewed(self):
        files = len(list(measures.production(self.root)))
        for number, words in ((files, None), (files * 0.99, None), (files * 0.9, "must not get worse"), (files * 2, "Renew its line")):
            self.write("tests/tidy/ratchet.txt", f"measure:files {number}\n")
            if words:
                self.refuses("measure:files", words)
            else:
                self.assertEqual(rules.faults(self.root), [])

    def test_a_listed_exception_that_is_not_needed_is_refused(self):
        self.write("tests/tidy/ratchet.txt", "src/net/pipe.h 300\n")
        self.refuses("Remove it from")

    def test_names_without_a_meaning_are_refused(self):
        for word in ("pipe_manager", "PipeHelper", "new_pipe", "pipe_v2", "StringUtils"):
            self.write("src/net/pipe.cc", f'#include "net/pipe.h"\nint {word};\n')
            self.refuses(word)
        self.write("src/net/pipe.cc", '#include "net/pipe.h"\n// a helper\nauto x = "legacy"; auto y = EVP_PKEY_new_raw();\n')
        self.assertEqual(rules.faults(self.root), [])

    def test_a_file_name_without_a_meaning_is_refused(self):
        self.write("src/net/net_utils.h", "// Bits.\n#pragma once\n")
        self.refuses("net_utils")

    def test_a_test_that_sleeps_is_refused(self):
        self.write("tests/slow_test.cc", "void f() { std::this_thread::sleep_for(1s); }\n")
        self.refuses("sleep_for", "tests do not sleep")

    def test_a_test_in_an_unnamed_namespace_is_refused(self):
        text = (self.root / "src/net/pipe_test.cc").read_text()
        self.write("src/net/pipe_test.cc", text + "namespace {\n}\n")
        self.refuses("src/net/pipe_test.cc", "namespace pipe_test")

    def test_a_test_without_its_own_namespace_is_refused(self):
        text = (self.root / "src/net/pipe_test.cc").read_text()
        self.write("src/net/pipe_test.cc", text.replace("namespace pipe_test", "namespace sluice"))
        self.refuses("src/net/pipe_test.cc", "namespace pipe_test")

    def test_a_disabled_test_is_refused(self):
        self.write("tests/lame_test.cc", "TEST(Lame, DISABLED_Duck) {}\n")
        self.refuses("DISABLED_Duck")

    def test_a_comparison_that_an_attacker_could_time_is_refused(self):
        for line in ("given == hmac_sha256(root, text)", "cookie.mac != expected", "given != options_.runner_key_sha256",
                     "std::memcmp(a, session_mac, 32) == 0", "CRYPTO_memcmp(a, b, 32) == 0",
                     "seal.csrf_token(session) == token"):
            self.write("src/net/proof.h", f"// Proves.\n#pragma once\ninline bool f() {{ return {line}; }}\n")
            self.refuses("src/net/proof.h", "equal_in_constant_time")

    def test_a_source_that_is_not_built_is_refused(self):
        self.write("src/net/lost.cc", "")
        self.refuses("src/net/lost.cc", "not listed")

    def test_a_process_test_that_is_not_listed_is_refused(self):
        self.write("tests/CMakeLists.txt", "foreach(story nodes)\nforeach(program codex)\n")
        self.write("tests/process/test_nodes.py", "")
        self.write("tests/process/test_harness_codex.py", "")
        self.assertEqual(rules.faults(self.root), [])
        self.write("tests/process/test_nodes_queue.py", "")
        self.refuses("tests/process/test_nodes_queue.py", "not listed")

    def test_a_listed_source_that_does_not_exist_is_refused(self):
        self.write("src/net/CMakeLists.txt", "sluice_module(net SOURCES pipe.cc gone.cc TESTS pipe_test.cc)\n")
        self.refuses("lists gone.cc")

    def test_a_document_that_names_a_missing_file_is_refused(self):
        self.write("docs/a.md", "See `net/gone.h`.\n")
        self.refuses("docs/a.md: names net/gone.h")
        self.write("docs/a.md", "See [this](gone.md).\n")
        self.refuses("docs/a.md: links to gone.md")

    def test_a_document_that_names_a_line_is_refused(self):
        self.write("docs/a.md", "See " + "pipe.cc:" + "12.\n")
        self.refuses("pipe.cc:12")

    def test_text_that_means_nothing_to_a_reader_is_refused(self):
        self.write("docs/a.md", "As in .." + "/shared.\n")
        self.refuses("means nothing to a reader")
        self.write("docs/a.md", "TODO" + "(now): finish\n")
        self.refuses("means nothing to a reader")

    def test_a_requirement_without_a_test_is_refused(self):
        self.write("src/net/pipe_test.cc", '#include "net/pipe.h"\n// ' + " ".join(rules.REQUIREMENTS[1:]) + "\nnamespace pipe_test {\n}\n")
        self.refuses("no test names I-1:")

    def test_a_configuration_key_that_nothing_reads_is_refused(self):
        self.write("src/config/schema.cc", 'constexpr Key keys[] = {\n    {"log.level", text, "info", "…"},\n};\n')
        self.write("src/config/CMakeLists.txt", "sluice_module(config SOURCES schema.cc)\n")
        self.refuses("src/config/schema.cc", "log.level is read nowhere")

    def test_a_dialect_without_its_row_is_refused(self):
        self.write("src/models/CMakeLists.txt", "sluice_module(models SOURCES dialects.cc other.cc)\n")
        self.write("src/models/dialects.cc", "// No rows.\n")
        self.write("src/models/other.cc", "const Dialect& other_dialect() {\n}\n")
        self.refuses("src/models/dialects.cc", "no row for other_dialect()")

    def test_a_limit_that_no_test_names_is_refused(self):
        self.write("src/base/limits.h", "// Limits.\n#pragma once\ninline constexpr int wheels_max = 4;\n")
        self.refuses("src/base/limits.h", "no test names wheels_max")


class Functions(unittest.TestCase):
    def test_functions_are_found_with_their_names_and_lengths(self):
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
