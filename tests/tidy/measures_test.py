"""The measures are right on small examples."""
import pathlib
import tempfile
import unittest

import measures


class Measures(unittest.TestCase):
    def tree(self, files):
        folder = tempfile.TemporaryDirectory(prefix="measures-")
        self.addCleanup(folder.cleanup)
        root = pathlib.Path(folder.name)
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return root

    def test_a_class_has_the_methods_that_its_own_body_declares(self):
        text = """
        class Slots final : public Pool {
         public:
          explicit Slots(int count);
          ~Slots() override;
          int free() const { return inner(free_); }
          void take(Callback<void(int)> done);
          Slots& operator=(const Slots&) = delete;
          template <typename T>
          void put(T value) { if (value) { go(value); } }
          struct Inner {
            void of_inner();
          };
          using Done = Callback<void(int)>;
         private:
          Callback<void(Result<int>)> done_;
          const int count_ = count_of(3);
          world::Timer timer_;
        };
        """
        self.assertEqual(dict(measures.classes(text)), {"Slots": 6, "Inner": 1})

    def test_a_header_and_its_source_are_one_file_of_a_cycle(self):
        root = self.tree({"src/a/one.h": '#include "a/two.h"\n', "src/a/two.h": "", "src/a/two.cc": '#include "a/two.h"\n#include "a/one.h"\n',
                     "src/a/three.h": '#include "a/one.h"\n#include "b/four.h"\n', "src/b/four.h": '#include "a/three.h"\n'})
        self.assertEqual(measures.cycles(root), [["a/one", "a/two"]])

    def test_a_class_that_is_cut_over_two_sources_is_named(self):
        root = self.tree({"src/a/one.cc": "void Slots::take(int n) {\n}\n", "src/a/two.cc": "int Slots::free() const {\n}\n",
                     "src/a/slots_test.cc": "void Slots::in_a_test() {\n}\n", "src/a/other.cc": "void Other::take() {\n  Slots::none();\n}\n"})
        self.assertEqual(measures.sources_by_class(root), {"a:Slots": ["a/one.cc", "a/two.cc"]})

    def test_a_header_with_one_reader_besides_its_source_is_named(self):
        root = self.tree({"src/a/one.h": "", "src/a/one.cc": '#include "a/one.h"\n', "src/a/two.h": '#include "a/one.h"\n',
                     "src/b/x.cc": '#include "a/two.h"\n', "src/b/y.cc": '#include "a/two.h"\n'})
        self.assertEqual(measures.lone_headers(root), ["a/one.h"])
        (root / "src/a/one.h").write_text("// One. Own file: it has a job of its own.\n")
        self.assertEqual(measures.lone_headers(root), [])

    def test_checks_and_comments_are_counted_by_line(self):
        root = self.tree({"src/engine/a.cc": "// Why.\nSLUICE_CHECK(a == b);\nint x;\nint y;\n"})
        self.assertEqual(measures.checks_per_thousand(root, "engine/"), 250)
        self.assertEqual(measures.share_of_comments(["// Why.\nint x;\n\nint y;\nint z;\n"]), 25)

    def test_words_of_the_private_language_are_counted_as_words(self):
        root = self.tree({"src/a/a.cc": "// Whoever is told; untold.\n", "docs/a.md": "told\n"})
        counted = measures.dialect(root)
        self.assertEqual((counted["told"], counted["whoever"]), (2, 1))

    def test_a_name_of_the_public_contract_is_no_word_of_the_private_language(self):
        root = self.tree({"src/a/a.cc": 'writer.key("told");\n', "docs/a.md": "The member `told`.\n"})
        self.assertEqual(measures.dialect(root)["told"], 0)


if __name__ == "__main__":
    unittest.main()
