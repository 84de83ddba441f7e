#!/usr/bin/env python3
"""Writes the API reference, one HTML page that needs nothing from elsewhere, from openapi.yaml:

    build.py OPENAPI_YAML OUT.pack     for the program: the page, and under which policy (src/api/answers/assets.h reads it)
    build.py OPENAPI_YAML OUT.html     the page alone

It knows the part of OpenAPI 3.1 that openapi.yaml uses; whatever else stands there is an error, not left out."""
import base64
import gzip
import hashlib
import html
import json
import pathlib
import re
import sys

import yaml

from schema import Schemas
from words import inline, paragraphs

HERE = pathlib.Path(__file__).parent
METHODS = ("get", "put", "post", "patch", "delete")
WHO = {"integrationKey": "service key", "adminKey": "admin key", "sandboxBearer": "a sandbox's bearer",
       "oneTimeToken": "one-time token", "consoleSession": "console session", "runnerKey": "runner's key"}
# How each is shown in an example; of several that would do, the first.
SHOWN = {"integrationKey": '-H "Authorization: Bearer $KEY"', "adminKey": '-H "Authorization: Bearer $ADMIN"',
         "oneTimeToken": '-H "Authorization: $TOKEN"', "sandboxBearer": '-H "Authorization: Bearer $BEARER"',
         "consoleSession": '-b "COOKIE=$SESSION" -H "X-CSRF-Token: $CSRF"',
         "runnerKey": '-H "Authorization: Bearer $RUNNER"'}
KNOWN = {"operationId", "tags", "security", "summary", "description", "parameters", "requestBody", "responses"}


def slug(text):
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


class Reference:
    def __init__(self, text):
        self.spec = yaml.safe_load(text)
        self.schemas = Schemas(self.spec)

    def operations(self):
        """(tag, method, path, operation, parameters) in the order of the file."""
        for path, item in self.spec["paths"].items():
            shared = item.get("parameters", [])
            for method in METHODS:
                if method in item:
                    operation = item[method]
                    unknown = operation.keys() - KNOWN
                    if unknown:
                        raise SystemExit(f"{method} {path}: the reference does not know {sorted(unknown)}")
                    yield operation["tags"][0], method, path, operation, shared + operation.get("parameters", [])

    def who(self, operation):
        needs = operation.get("security", self.spec["security"])
        return " or ".join(WHO[name] for need in needs for name in need) or "anybody"

    def curl(self, method, path, operation):
        """The call as one would type it."""
        target = re.sub(r"\{([^}]+)\}", lambda found: "$" + found[1].upper(), path)
        content = self.schemas.resolved(operation["requestBody"])["content"] if "requestBody" in operation else {}
        flags = " -N" if re.search("x-ndjson|event-stream", str(operation["responses"])) else ""
        if method != ("post" if content else "get"):
            flags += f" -X {method.upper()}"
        lines = [f'curl{flags} "$URL{target}"']
        needs = [name for need in operation.get("security", self.spec["security"]) for name in need]
        cookie = self.spec["components"]["securitySchemes"]["consoleSession"]["name"]
        lines += [SHOWN[name].replace("COOKIE", cookie) for name in SHOWN if name in needs][:1]
        kind = next(iter(content), None)
        if kind == "application/json":
            example = next(iter(content[kind].get("examples", {}).values()), {}).get("value", content[kind].get("example"))
            value = json.dumps(self.schemas.sample(content[kind]["schema"]) if example is None else example, ensure_ascii=False)
            lines += ["-H 'Content-Type: application/json'", "-d '" + value.replace("'", "'\\''") + "'"]
        elif kind == "multipart/form-data":
            lines.append("-F files=@FILE")
        elif kind:
            lines.append(f"-H 'Content-Type: {kind}' --data-binary @FILE")
        typed = " \\\n  ".join(lines)
        return f"<h4>Call</h4><pre>{html.escape(typed)}</pre>"

    def parameters(self, parameters):
        if not parameters:
            return ""
        rows = []
        for parameter in map(self.schemas.resolved, parameters):
            need = '<span class="must">required</span>' if parameter.get("required") else ""
            rows.append(f'<tr><td><code>{html.escape(parameter["name"])}</code> {need}<td>{parameter["in"]}'
                        f'<td>{self.schemas.brief(parameter["schema"])}<td>{inline(parameter.get("description", ""))}')
        return '<h4>Parameters</h4><table class="parameters"><tr><th>name<th>in<th>type<th>' + "".join(rows) + "</table>"

    def examples(self, content):
        found = [content["example"]] if "example" in content else \
            [example["value"] for example in content.get("examples", {}).values()]
        return "".join(f"<pre>{html.escape(json.dumps(value, indent=2, ensure_ascii=False))}</pre>" for value in found)

    def body(self, operation):
        if "requestBody" not in operation:
            return ""
        body = self.schemas.resolved(operation["requestBody"])
        need = "" if body.get("required") else " <small>optional</small>"
        parts = [f"<h4>Body{need}</h4>{paragraphs(body.get('description', ''))}"]
        for kind, content in body["content"].items():
            parts.append(f'<p class="kind">{html.escape(kind)}: {self.schemas.brief(content["schema"])}</p>'
                         f'{self.schemas.members(content["schema"])}{self.examples(content)}')
        return "".join(parts)

    def responses(self, operation):
        rows = []
        for status, response in operation["responses"].items():
            response = self.schemas.resolved(response)
            kinds = [f'<code>{html.escape(kind)}</code> {self.schemas.brief(content["schema"])}'
                     for kind, content in response.get("content", {}).items() if kind != "application/problem+json"]
            headers = [name for name in response.get("headers", {}) if name != "X-Request-Id"]
            said = inline(response["description"])
            if headers:
                said += " <small>Headers: " + ", ".join(f"<code>{html.escape(name)}</code>" for name in headers) + "</small>"
            rows.append(f'<tr><td class="s{status[0]}">{status}<td>{said}<td>{"<br>".join(kinds)}')
        return '<h4>Answers</h4><table class="answers">' + "".join(rows) + "</table>"

    def operation(self, method, path, operation, parameters):
        name = operation["operationId"]
        shown = re.sub(r"(\{[^}]+\})", r"<i>\1</i>", html.escape(path))
        return (f'<article id="{name}" data-words="{html.escape(name + " " + path + " " + operation["summary"]).lower()}">'
                f'<h3><a class="verb {method}" href="#{name}">{method.upper()}</a> <code>{shown}</code></h3>'
                f'<p class="summary">{inline(operation["summary"])} <span class="who">{self.who(operation)}</span></p>'
                f'{paragraphs(operation.get("description", ""))}<details><summary>Details of <code>{name}</code></summary>'
                f'{self.curl(method, path, operation)}{self.parameters(parameters)}{self.body(operation)}'
                f'{self.responses(operation)}</details></article>')

    def sections(self):
        by_tag = {tag["name"]: [] for tag in self.spec["tags"]}
        for tag, *rest in self.operations():
            by_tag[tag].append(rest)
        nav, main = [], []
        for tag in self.spec["tags"]:
            name = tag["name"]
            links = "".join(f'<li><a href="#{o["operationId"]}"><b class="{m}">{m.upper()}</b><span>{inline(o["summary"])}</span></a>'
                            for m, _, o, _ in by_tag[name])
            nav.append(f'<details data-group="{slug(name)}"><summary>{html.escape(name)}</summary><ul>{links}</ul></details>')
            main.append(f'<section id="{slug(name)}"><h2>{html.escape(name)}</h2>{paragraphs(tag.get("description", ""))}'
                        + "".join(self.operation(*entry) for entry in by_tag[name]) + "</section>")
        return "".join(nav), "".join(main)

    def problems(self):
        rows = "".join(f'<tr><td class="s{p["status"] // 100}">{p["status"]}'
                       f'<td><a href="/problems/{p["slug"]}"><code>{p["slug"]}</code></a>' for p in self.spec["x-problems"])
        return ('<section id="problems"><h2>Problems</h2><p>What goes wrong is told as RFC 9457 '
                '<code>application/problem+json</code>. Each kind has a page that says what to do.</p>'
                f'<table class="answers">{rows}</table></section>')

    def keys(self):
        rows = "".join(f"<tr><td>{WHO[name]}<td><code>{html.escape(scheme.get('bearerFormat', scheme.get('name', '')))}</code>"
                       f"<td>{inline(scheme['description'])}"
                       for name, scheme in self.spec["components"]["securitySchemes"].items())
        return f'<section id="who"><h2>Who may call</h2><table>{rows}</table></section>'

    def page(self):
        info = self.spec["info"]
        nav, main = self.sections()
        parts = {"TITLE": html.escape(info["title"]), "VERSION": html.escape(info["version"]),
                 "INTRODUCTION": paragraphs(info["description"]), "SUMMARY": inline(info["summary"]), "NAV": nav,
                 "KEYS": self.keys(), "OPERATIONS": main, "PROBLEMS": self.problems(),
                 "SCHEMAS": self.schemas.section(), "STYLE": (HERE / "page.css").read_text(),
                 "SCRIPT": (HERE / "page.js").read_text()}
        return re.sub(r"@([A-Z]+)@", lambda found: parts[found[1]], (HERE / "page.html").read_text())


def policy(page):
    """Nothing is fetched, framed or sent; the one style and the one script that stand in the page are known by digest."""
    def known(element):
        text = re.search(f"<{element}>(.*?)</{element}>", page, re.S)[1]
        return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"
    return (f"default-src 'none'; style-src {known('style')}; script-src {known('script')}; base-uri 'none'; "
            "form-action 'none'; frame-ancestors 'none'")


def packed(page):
    plain, rule = page.encode(), policy(page).encode()
    squeezed = gzip.compress(plain, 9, mtime=0)
    return f"index.html {len(plain)} {len(squeezed)}\npolicy {len(rule)} 0\n\n".encode() + plain + squeezed + rule


def main():
    source, out = map(pathlib.Path, sys.argv[1:])
    page = Reference(source.read_text()).page()
    out.write_bytes(packed(page) if out.suffix == ".pack" else page.encode())


if __name__ == "__main__":
    main()
