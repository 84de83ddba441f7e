"""Every command and snippet of the documents works as it is printed: README.md, docs and the client's README. Shell, Python,
JavaScript, TypeScript and Perl are run, page by page, against a real server with the offline model; JSON, YAML and TOML are
read by whoever reads them. What cannot be run says why (snippets.py), and is counted."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

import yaml

from browser_fixture import install
from page_session import PageSession
from server_process import BINARY, ROOT
from snippets import PARSED, PICTURES, RUN, all_blocks, pages, without_elisions

EXCUSED_MAX = 12
CLIENT = ROOT / "clients" / "ts"
# What a page must have printed, where that it did not fail is not enough.
PRINTED = {"README.md": (r'"type":"message_end".*hello there', r"typed by a person\n\Z")}
TSCONFIG = {"compilerOptions": {"target": "es2022", "module": "nodenext", "lib": ["es2022", "dom", "dom.iterable"], "strict": True,
                                "types": ["node"], "skipLibCheck": True, "outDir": "out"}, "exclude": ["out"]}


class Fences(unittest.TestCase):
    def test_each_says_what_is_in_it(self):
        for block in all_blocks():
            self.assertIn(block.language, RUN | PARSED | PICTURES, f"{block.place}: name the language; text for what nobody runs")

    def test_few_are_not_run_and_each_says_why(self):
        excused = [block for block in all_blocks() if block.excuse]
        for block in excused:
            print(f"\n  {block.place} is not run: {block.excuse}", end="", flush=True)
        print(flush=True)
        self.assertLessEqual(len(excused), EXCUSED_MAX, "mend the page, or the test, but do not excuse more")

    def test_what_other_tests_run_they_run_from_the_page(self):
        for block in all_blocks():
            if block.run_by:
                test = ROOT / block.run_by
                self.assertTrue(test.is_file(), f"{block.place}: there is no {block.run_by}")
                self.assertIn(pathlib.Path(block.page).name, test.read_text(), f"{block.place}: {block.run_by} does not read it")


    def test_parts_of_examples_stand_there(self):
        for block in all_blocks():
            if block.part_of:
                there = {line.strip() for line in (ROOT / block.part_of).read_text().split("\n")}
                for offset, line in enumerate(block.text.split("\n"), 1):
                    self.assertIn(re.sub(r"\s+//.*", "", line).strip(), there | {""},
                                  f"{block.page}:{block.line + offset} is not in {block.part_of}")


class Data(unittest.TestCase):
    def of(self, language):
        return [block for block in all_blocks() if block.language == language]

    def test_json_is_json(self):
        for block in self.of("json") + self.of("ndjson"):
            whole = [without_elisions(block.text)] if block.language == "json" else without_elisions(block.text).splitlines()
            for text in filter(str.strip, whole):
                try:
                    json.loads(text)
                except ValueError as error:
                    self.fail(f"{block.place}: {error}\n{text}")

    def test_yaml_is_yaml(self):
        for block in self.of("yaml"):
            try:
                list(yaml.safe_load_all(block.text))
            except yaml.YAMLError as error:
                self.fail(f"{block.place}: {error}")

    def test_the_program_takes_each_piece_of_configuration(self):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")}
        for block in self.of("toml"):
            with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
                file.write(block.text)
                file.flush()
                done = subprocess.run([str(BINARY), "config", "--config", file.name], env=kept, text=True, timeout=60,
                                      capture_output=True, check=False)
            self.assertEqual(done.returncode, 0, f"{block.place}: {done.stderr}")


class TypeScript:
    """The blocks in TypeScript, checked against the client's own types, and compiled together with it."""

    def __init__(self, blocks):
        self.javascript = {}  # by the block's place
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="sluice-docs-"))
        if blocks:
            install(CLIENT)
            self.compile({block.place: f"block{number}" for number, block in enumerate(blocks)}, blocks)

    def compile(self, names, blocks):
        shutil.copytree(CLIENT / "src", self.home / "client")
        (self.home / "node_modules").symlink_to(CLIENT / "node_modules")
        (self.home / "package.json").write_text('{"type": "module"}')
        (self.home / "tsconfig.json").write_text(json.dumps(TSCONFIG))
        for block in blocks:
            code = (block.setup + "\n" + block.text).replace("'@sluice/client'", "'./client/index.js'")
            (self.home / f"{names[block.place]}.ts").write_text(code)
        tsc = self.home / "node_modules" / "typescript" / "bin" / "tsc"
        done = subprocess.run(["node", tsc, "-p", self.home], capture_output=True, text=True, timeout=240, check=False)
        said = done.stdout + done.stderr
        for place, name in names.items():
            said = said.replace(f"{name}.ts", f"{place} (setup and block) ")
        if done.returncode != 0:
            raise AssertionError(said)
        client = (self.home / "out" / "client" / "index.js").as_uri()
        for place, name in names.items():
            self.javascript[place] = (self.home / "out" / f"{name}.js").read_text().replace("'./client/index.js'", f"'{client}'")

    def remove(self):
        shutil.rmtree(self.home, ignore_errors=True)


class Pages(unittest.TestCase):
    at_once = 4  # a page mostly waits for its servers to start and to stop

    def printed_by(self, blocks, compiled):
        """What a page prints; `compiled` is awaited where there is TypeScript in it."""
        javascript = compiled.result() if any(block.language == "ts" for block in blocks) else {}
        session = PageSession(blocks, javascript)
        try:
            return session.run()
        finally:
            session.close()

    def compiled(self, run):
        typescript = TypeScript([block for block in run if block.language == "ts"])
        self.addCleanup(typescript.remove)
        return typescript.javascript

    def test_each_page_works_as_it_is_printed(self):
        begun = time.monotonic()
        run = [block for block in all_blocks() if block.is_run_here]
        with ThreadPoolExecutor(self.at_once) as pool:
            compiled = pool.submit(self.compiled, run)
            printed = {page: pool.submit(self.printed_by, [block for block in run if block.page == page], compiled)
                       for page in dict.fromkeys(block.page for block in run)}
            for page, printing in printed.items():
                with self.subTest(page=page):
                    text = printing.result()
                    for pattern in PRINTED.get(page, ()):
                        self.assertTrue(re.search(pattern, text), f"{page} did not print {pattern}:\n{text[-1500:]}")
        counts = {"run": len(run), "run by other tests": sum(bool(b.run_by or b.part_of) for b in all_blocks()),
                  "read": sum(b.language in PARSED for b in all_blocks()), "not run": sum(bool(b.excuse) for b in all_blocks())}
        print(f"\n  snippets: {counts}, {time.monotonic() - begun:.0f} s", flush=True)


def headings(path):
    """The anchors of a page, as GitHub makes them."""
    prose = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.S | re.M)
    return {re.sub(r"[^\w\- ]", "", line.lower()).strip().replace(" ", "-") for line in re.findall(r"^#+ (.*)", prose, re.M)}


class Names(unittest.TestCase):
    def test_every_link_leads_somewhere(self):
        for page in pages():
            for path, anchor in re.findall(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)", page.read_text()):
                target = (page.parent / path).resolve() if path else page
                self.assertTrue(target.exists(), f"{page.relative_to(ROOT)}: there is no {path}")
                if anchor and target.suffix == ".md":
                    self.assertIn(anchor, headings(target), f"{page.relative_to(ROOT)}: {path} has no heading {anchor}")

    def test_every_page_can_be_found_from_the_index(self):
        index = (ROOT / "docs" / "README.md").read_text()
        for page in sorted((ROOT / "docs").glob("*.md")) + sorted((ROOT / "docs" / "formats").glob("*.md")):
            self.assertIn(f"({page.relative_to(ROOT / 'docs')})", index + "(README.md)")

    def test_the_page_on_the_command_line_has_every_command(self):
        helped = subprocess.run([str(BINARY), "--help"], text=True, timeout=60, capture_output=True, check=True).stdout
        page = (ROOT / "docs" / "cli.md").read_text()
        listed = re.findall(r"^  ((?:[a-z|-]+ )+) ", helped, re.M)
        self.assertGreater(len(listed), 70, helped)
        for name, *verbs in map(str.split, listed):
            for verb in "".join(verbs).split("|"):
                # As `sluice NAME VERB` or, where some share a row, `sluice NAME OTHER\|VERB`.
                words = rf"{name} (?:[a-z-]+(?: [A-Z]+)?\\?\|)*{verb}" if verb else name
                found = re.search(rf"sluice {words}\b", page)
                self.assertTrue(found, f"docs/cli.md does not have sluice {name} {verb}")

    def test_every_metric_that_a_page_names_is_one(self):
        source = "".join(path.read_text() for path in (ROOT / "src").rglob("*.cc"))
        source += "".join(path.read_text() for path in (ROOT / "src").rglob("*.h"))
        for path in (ROOT / "docs").glob("*.md"):
            for name in set(re.findall(r"`(sluice_[a-z0-9_]+)", path.read_text())):
                self.assertIn(f'"{name}"', source, f"{path.relative_to(ROOT)}: nothing is called {name}")


if __name__ == "__main__":
    unittest.main()
