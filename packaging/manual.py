"""The manual pages, from what the program says of itself: `sluice --help`, each command's --help, and the reference of
its configuration. So they are never written, and never behind."""
import re
import subprocess

EVERY = "flags of every command:"
CONFIGURED = "flags (docs/configuration.md says more):"
EXITS = [("0", "It went well."), ("1", "The server said no, or the run failed."), ("2", "Wrong use."),
         ("3", "The server cannot be reached, or what became of the request is not known."),
         ("130", "Interrupted.")]
FILES = [("/etc/sluice/sluice.toml", "Configuration of the server, see sluice.toml(5); sluice-runner.toml is a runner's."),
         ("/etc/sluice/sluice.env", "What is secret of it, as environment variables; sluice-runner.env is a runner's."),
         ("/var/lib/sluice", "The data directory of the server: database, files, keys, bootstrap.json."),
         ("/var/lib/sluice-runner", "The data directory of a runner.")]


def said(binary, *words):
    return subprocess.run([binary, *words], capture_output=True, text=True, check=True).stdout


def plain(text):
    """Text that roff takes for nothing but text."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def prose(text):
    """A paragraph of Markdown: its links lose their targets, its code gets bold."""
    text = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", text)
    return re.sub(r"`([^`]+)`", r"\\fB\1\\fR", plain(text))


def item(term, text):
    return f".TP\n\\fB{plain(term)}\\fR\n{plain(text) or 'A switch.'}\n"


def flags(lines):
    found = [re.match(r"  (--\S+(?: \S+)?)  +(.*)", line) for line in lines]
    return "".join(item(one[1], one[2]) for one in found)


def described(text):
    """What --help of one command says, without the flags that many commands share."""
    out = ""
    for block in text.split(CONFIGURED)[0].split(EVERY)[0].strip("\n").split("\n\n"):
        lines = block.splitlines()
        if lines[0].startswith("usage: "):
            for line in lines:
                out += f".PP\n\\fB{plain(line.removeprefix('usage: ').strip())}\\fR\n"
        elif lines[0] == "flags:":
            out += flags(lines[1:])
        elif all(line.startswith("  ") for line in lines if line != "for example:"):
            shown = "\n".join(line[2:] for line in lines if line != "for example:")
            out += f".PP\n.EX\n{plain(shown)}\n.EE\n"
        else:
            out += f".PP\n{plain(block)}\n"
    return out


def commands(binary):
    """Every command in the words that ask for its help."""
    for line in said(binary, "--help").splitlines():
        if found := re.match(r"  (\S+(?: \S+)?)  +\S", line):
            word, _, verbs = found[1].partition(" ")
            if word == "vault" and verbs == "new-key":
                yield (word, verbs)  # vault alone asks for those that talk to a server
            elif "|" in verbs or word == "sandbox":
                yield (word,)
            else:
                yield tuple(found[1].split())


def page(name, section, stamp, what, body):
    version, date = stamp
    body = re.sub(r"^(\.S[HS] .*\n)\.PP\n", r"\1", body, flags=re.M)  # a heading begins a paragraph itself
    return f'.TH {name.upper()} {section} "{date}" "sluice {version}" "Sluice"\n.SH NAME\n{name} \\- {what}\n{body}'


def program_page(binary, stamp):
    body = ".SH SYNOPSIS\n\\fBsluice\\fR \\fICOMMAND\\fR [\\fIflags\\fR]\n.SH DESCRIPTION\n"
    body += ("A server that runs AI agents, each in a Linux sandbox of its own, and streams what they do; the runner that\n"
             "carries them on other machines; and the commands that talk to a server.\n.SH COMMANDS\n")
    for words in commands(binary):
        body += f".SS {plain(' '.join(words))}\n" + described(said(binary, *words, "--help"))
    body += ".SH FLAGS\nCommands that talk to a server all take these:\n"
    body += flags(said(binary, "runs", "list", "--help").split(EVERY)[1].strip("\n").splitlines())
    body += (".PP\nCommands that take the flags of serve take every key of the configuration as a flag, see\n"
             "\\fBsluice.toml\\fR(5).\n")
    body += ".SH EXIT STATUS\n" + "".join(item(*one) for one in EXITS)
    body += ".SH FILES\n" + "".join(item(*one) for one in FILES)
    return page("sluice", 1, stamp, "run AI agents in sandboxes and stream what they do",
                body + ".SH SEE ALSO\n\\fBsluice.toml\\fR(5)\n")


def configuration_page(binary, stamp):
    body = ".SH DESCRIPTION\n"
    for block in said(binary, "config", "--reference").split("\n\n"):
        lines = block.strip().splitlines()
        if block.startswith("# "):
            continue
        if block.startswith("## "):
            body += f".SH {plain(lines[0][3:].upper())}\n"
        elif block.startswith("|"):
            for line in lines[2:]:
                key, kind, fallback, text = (cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:5])
                more = f" ({kind}; {fallback})" if fallback else f" ({kind})"
                body += f".TP\n\\fB{plain(key.strip('`'))}\\fR{prose(more)}\n{prose(text)}\n"
        else:
            body += f".PP\n{prose(block.strip())}\n"
    return page("sluice.toml", 5, stamp, "configuration of Sluice", body + ".SH SEE ALSO\n\\fBsluice\\fR(1)\n")


def pages(binary, version, date):
    stamp = (version, date)
    return {"sluice.1": program_page(binary, stamp), "sluice.toml.5": configuration_page(binary, stamp)}
