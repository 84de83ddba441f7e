"""JSON schemas as people read them: a type in a few words, and a table of members."""
import html
import json

from words import inline, paragraphs

SHAPES = {"string": "text", "integer": "integer", "number": "number", "boolean": "true or false", "null": "null",
          "object": "object", "array": "list"}
BOUNDS = (("minLength", "≥ {} characters"), ("maxLength", "≤ {} characters"), ("minimum", "≥ {}"), ("maximum", "≤ {}"),
          ("minItems", "≥ {} items"), ("maxItems", "≤ {} items"))


def literal(value):
    return f"<code>{html.escape(json.dumps(value, ensure_ascii=False))}</code>"


class Schemas:
    def __init__(self, spec):
        self.spec = spec

    def resolved(self, node):
        while "$ref" in node:
            target = self.spec
            for part in node["$ref"].removeprefix("#/").split("/"):
                target = target[part]
            node = target
        return node

    def brief(self, schema):
        """The type in a few words; named ones are links."""
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[-1]
            return f'<a href="#schema-{name}">{name}</a>'
        if "const" in schema:
            return literal(schema["const"])
        if "enum" in schema:
            return " | ".join(map(literal, schema["enum"]))
        for word, glue in (("oneOf", " | "), ("anyOf", " | "), ("allOf", " &amp; ")):
            if word in schema and "type" not in schema:
                return glue.join(dict.fromkeys(self.brief(part) for part in schema[word]))
        shapes = schema.get("type", "object" if "properties" in schema else [])
        shapes = [shapes] if isinstance(shapes, str) else shapes
        return " | ".join(self.shape(shape, schema) for shape in shapes) or "anything"

    def shape(self, shape, schema):
        if shape == "array" and "items" in schema:
            return f"list of {self.brief(schema['items'])}"
        if shape == "string" and "format" in schema:
            return f"text ({html.escape(schema['format'])})"
        if shape == "object" and isinstance(schema.get("additionalProperties"), dict) and "properties" not in schema:
            return f"map of {self.brief(schema['additionalProperties'])}"
        return SHAPES[shape]

    def bounds(self, schema):
        said = [words.format(f"{schema[word]:,}") for word, words in BOUNDS if word in schema]
        if "pattern" in schema:
            said.append(f"<code>{html.escape(schema['pattern'])}</code>")
        if "default" in schema:
            said.append(f"default {literal(schema['default'])}")
        return f" <small>{', '.join(said)}</small>" if said else ""

    def members(self, schema):
        """A table of what an object has. Objects without a name of their own are shown where they stand."""
        schema = self.resolved(schema)
        parts = [self.members(part) for part in schema.get("allOf", [])]
        if "properties" in schema:
            required = schema.get("required", [])
            rows = []
            for name, member in schema["properties"].items():
                need = ' <span class="must">required</span>' if name in required else ""
                inner = self.nested(member)
                rows.append(f"<tr><td><code>{html.escape(name)}</code>{need}<td>{self.brief(member)}{self.bounds(member)}"
                            f"<td>{inline(member.get('description', ''))}{inner}")
            parts.append('<table class="members">' + "".join(rows) + "</table>")
        return "".join(parts)

    def nested(self, schema):
        if "$ref" in schema:
            return ""
        inside = [schema, schema.get("items", {}), *schema.get("oneOf", []), *schema.get("anyOf", [])]
        return "".join(self.members(part) for part in inside
                       if isinstance(part, dict) and "$ref" not in part and "properties" in part)

    def sample(self, schema):
        """A value to begin with: what must be there, and nothing else."""
        schema = self.resolved(schema)
        for word in ("example", "const", "default"):
            if word in schema:
                return schema[word]
        if "enum" in schema:
            return schema["enum"][0]
        if "allOf" in schema:
            return {name: value for part in schema["allOf"] for name, value in self.sample(part).items()}
        if "oneOf" in schema and "properties" not in schema:
            return self.sample(schema["oneOf"][0])
        shape = schema.get("type", "object")
        shape = shape if isinstance(shape, str) else shape[0]
        if shape == "object":
            return {name: self.sample(schema["properties"][name]) for name in schema.get("required", [])
                    if name in schema.get("properties", {})}
        return {"array": [], "boolean": True, "integer": schema.get("minimum", 1), "number": 1}.get(shape, "…")

    def variants(self, schema):
        """Of a choice between objects that have no names: each of them."""
        return "".join(self.members(part) for part in schema.get("oneOf", []) + schema.get("anyOf", []) if "$ref" not in part)

    def section(self):
        shown = []
        for name, schema in sorted(self.spec["components"]["schemas"].items()):
            example = f"<pre>{html.escape(json.dumps(schema['example'], indent=2, ensure_ascii=False))}</pre>" \
                if "example" in schema else ""
            shown.append(f'<article id="schema-{name}" data-words="{name.lower()}"><h3><a href="#schema-{name}">{name}</a></h3>'
                         f'<p class="kind">{self.brief(schema)}{self.bounds(schema)}</p>{paragraphs(schema.get("description", ""))}'
                         f"{self.members(schema)}{self.variants(schema)}{example}</article>")
        return '<section id="schemas"><h2>Schemas</h2>' + "".join(shown) + "</section>"
