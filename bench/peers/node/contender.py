"""The same job made by hand in Node: plain node:http, server-sent events, SQLite."""
import json

from contender import HERE
from peers.peer import HandMade, NpmPackage, node_runtime_bytes

FOLDER = HERE / "peers" / "node"


class Node(HandMade):
    name = "Node by hand"
    package = NpmPackage(FOLDER, built="better-sqlite3/build/Release/better_sqlite3.node")

    def command(self):
        return ["node", FOLDER / "server.mjs", self.home, self.key]

    def install(self):
        self.package.install()

    def version(self):
        pinned = json.loads((FOLDER / "package.json").read_text())["dependencies"]["better-sqlite3"]
        return f"node:http, better-sqlite3 {pinned}"

    def installed_bytes(self):
        return node_runtime_bytes() + self.package.bytes()
