"""One page of the documents, typed into one shell beside a server of its own. What a block sets, later ones find."""
import os
import re
import shlex
import subprocess

from ports import lasting_port
from server_process import BINARY, PATIENCE_S, ROOT, Server

# curl must not take a refusal for an answer, and a server must not hold up the page. ./dev is only asked whether it knows
# the verb, because the tests run inside it; and `harness` whether it knows the programs, which are too large to fetch for this:
# test_harness_*.py do.
PROLOGUE = r"""
set -aeuE
curl() { command curl -sS --fail-with-body --max-time 60 "$@"; }
sluice() {
  case "${1-} ${2-}" in
    "harness install"|"harness check")
      for program in "${@:3}"; do command sluice harness list | grep "$program"; done ;;
    serve*|runner*)
      mkfifo "$PAGE_HOME/said.$#.$1"
      command sluice "$@" >"$PAGE_HOME/said.$#.$1" &
      SERVED+=("$!")
      read -r said <"$PAGE_HOME/said.$#.$1" && echo "$said" ;;
    *) command sluice "$@" ;;
  esac
}
SERVED=()
leave() { for pid in "${SERVED[@]}"; do kill "$pid" && wait "$pid" || true; done; }
trap leave EXIT
trap 'echo "$LINENO ${BASH_LINENO[*]} ${FUNCNAME[*]}" >>"$PAGE_HOME/failed"' ERR
"""
DEV = """#!/bin/sh
sed -n '/^usage()/,/^}}/p' {root}/dev | grep -q "^  $1 " || {{ echo "./dev has no verb $1" >&2; exit 1; }}
"""
# What test machines have and have not.
LINKED = ("examples", "deploy", "clients", "openapi", "docs")
PLACES = ("var/lib", "backup", "srv")
INTERPRETERS = {"python": "python3", "js": "node", "ts": "node", "perl": "perl"}
ENDINGS = {"python": "py", "js": "cjs", "ts": "mjs", "perl": "pl"}


class PageSession:
    def __init__(self, blocks, compiled):
        """`compiled` has the JavaScript of each TypeScript block, by its place."""
        self.blocks, self.compiled = blocks, compiled
        self.server = Server("--tools.urls", "*")
        self.home = self.server.home
        self.server.data = self.home / "sluice-data"
        self.lines = []  # of the script: the place in the page that each came from

    def furnish(self):
        (self.home / "bin").mkdir()
        (self.home / "bin" / "sluice").symlink_to(BINARY)
        (self.home / "build").mkdir()
        (self.home / "build" / "sluice").symlink_to(BINARY)
        (self.home / "dev").write_text(DEV.format(root=shlex.quote(str(ROOT))))
        (self.home / "dev").chmod(0o755)
        for name in PLACES:
            (self.home / name).mkdir(parents=True)
        (self.home / "var/lib/sluice").symlink_to(self.server.data)
        for name in LINKED:
            (self.home / name).symlink_to(ROOT / name)

    def localized(self, text):
        """The page's addresses, keys and directories, as they are here."""
        runner = f"127.0.0.1:{self.runner_port}"
        for there, here in (("https://sluice.example", self.server.url), ("127.0.0.1:8080", f"127.0.0.1:{self.server.port}"),
                            ("127.0.0.1:8081", "127.0.0.1:0"), ("10.0.0.5:8090", runner), ("127.0.0.1:8090", runner),
                            ("sk_int_…", self.server.bootstrap["service_key"])):
            text = text.replace(there, here)
        return re.sub(rf"(?<![\w.])/({'|'.join(PLACES)})/", rf"{self.home}/\1/", text)

    def script(self):
        whole = PROLOGUE
        self.lines = [None] * PROLOGUE.count("\n")
        for block in self.blocks:
            if block.language == "sh":
                part = block.setup + "\n" + block.text if block.setup else block.text
                first = block.line + 1 - (part.count("\n") - block.text.count("\n"))
            else:
                path = self.home / f"block-{block.line}.{ENDINGS[block.language]}"
                code = self.compiled[block.place] if block.language == "ts" else block.setup + "\n" + block.text
                path.write_text(self.localized(code))
                part, first = f"{INTERPRETERS[block.language]} {path.name}\n", block.line
            whole += f'echo {block.line} >"$PAGE_HOME/reached"\n' + self.localized(part)
            self.lines += [block.place] + [f"{block.page}:{max(first + offset, block.line)}" for offset in range(part.count("\n"))]
        return whole

    def place_of_failure(self):
        """The trap reports the line and the calls that led there, innermost first; otherwise only the block is known."""
        failed, reached = self.home / "failed", self.home / "reached"
        words = failed.read_text().split("\n", 1)[0].split() if failed.exists() else []
        numbers, functions = [int(word) for word in words if word.isdigit()], [word for word in words if not word.isdigit()]
        if not numbers:
            return f"{self.blocks[0].page}:{reached.read_text().strip()}"
        return self.lines[numbers[functions.index("main") if "main" in functions else 0] - 1]

    def run(self):
        """What the page printed. AssertionError names the line that failed."""
        self.server.start()
        self.runner_port = lasting_port()
        self.furnish()
        script = self.home / "page.sh"
        script.write_text(self.script())
        environment = self.server.environment() | {
            "PATH": f"{self.home / 'bin'}:{os.environ['PATH']}", "PAGE_HOME": str(self.home), "HOME": str(self.home)}
        done = subprocess.run(["bash", "page.sh"], cwd=self.home, env=environment, input="say typed by a person\n", text=True,
                              capture_output=True, timeout=4 * PATIENCE_S, check=False)
        if done.returncode != 0:
            raise AssertionError(f"{self.place_of_failure()} failed with {done.returncode}\n{done.stdout[-1500:]}\n"
                                 f"{done.stderr[-1500:]}\n{self.server.log()[-500:]}")
        return done.stdout

    def close(self):
        self.server.remove()


