"""The little Markdown that descriptions in openapi.yaml use: paragraphs, lists, indented blocks, code, bold."""
import html
import re


def inline(text):
    """One run of text; code first, so that nothing inside it means anything."""
    out = []
    for position, piece in enumerate(re.split(r"`([^`]+)`", text.strip())):
        piece = html.escape(piece)
        if position % 2:
            out.append(f"<code>{piece}</code>")
            continue
        piece = re.sub(r"\*\*([^*]+)\*\*", r"<b>\1</b>", piece)
        out.append(re.sub(r"\[([^\]]+)\]\((https?://[^)]+|#[\w-]+)\)", r'<a href="\2">\1</a>', piece))
    return "".join(out)


def paragraphs(text):
    out = []
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        lines = [line for line in block.split("\n") if line.strip()]
        if not lines:
            continue
        if all(line.startswith("    ") for line in lines):
            out.append(f"<pre>{html.escape(chr(10).join(line[4:] for line in lines))}</pre>")
            continue
        items = re.split(r"\n(?=[-*] )", "\n" + block)
        before, items = items[0].strip(), items[1:]
        if before:
            out.append(f"<p>{inline(before)}</p>")
        if items:
            out.append("<ul>" + "".join(f"<li>{inline(item[2:])}" for item in items) + "</ul>")
    return "".join(out)
