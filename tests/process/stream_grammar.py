"""The rules that every stream must follow (I-5, I-6, I-7, I-9). Pure: lines in, events out."""
import json
import re

ENVELOPE = ["object", "type", "conversation_id", "message_id", "seq", "data", "created_at"]
MESSAGE = ["object", "id", "conversation_id", "role", "content", "parts", "repository_id", "skill_ids", "env",
           "status", "usage", "created_at"]
TERMINAL = ("message_end", "error")
TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$")

# The grammar as a regular expression over one letter a type. A failure may come at any point.
LETTERS = {"queued": "q", "message_start": "s", "content_delta": "d", "approval_required": "a", "resumed": "r",
           "message_end": "m", "error": "e"}
WHOLE = re.compile(r"^q*(e|s(d*ar)*d*(m|e|ae))$")
BEGUN = re.compile(r"^(q*|q*s(d*ar)*d*a?)$")


class NotAStream(AssertionError):
    """The lines break a rule of the contract."""


def demand(truth, what, line):
    if not truth:
        raise NotAStream(f"{what}: {line[:400]!r}")


def parse_line(line):
    """One event, its envelope checked."""
    demand(line == line.strip() and line, "not exactly one JSON object in the line", line)
    try:
        event = json.loads(line.decode("utf-8"))
    except ValueError as why:
        raise NotAStream(f"{why}: {line[:400]!r}") from why
    demand(isinstance(event, dict) and list(event) == ENVELOPE, "not the envelope's fields in their order", line)
    demand(event["object"] == "conversation.event", "object", line)
    demand(event["type"] in LETTERS, "unknown type", line)
    demand(re.match(r"^con_[0-9a-z]{26}$", event["conversation_id"]), "conversation_id", line)
    if event["type"] == "queued":
        demand(event["message_id"] is None, "message_id is null on queued", line)
    elif event["message_id"] is not None or event["type"] != "error":
        demand(re.match(r"^msg_[0-9a-z]{26}$", event["message_id"] or ""), "message_id", line)
    demand(type(event["seq"]) is int and event["seq"] >= 0, "seq", line)
    demand(TIME.match(event["created_at"]), "created_at is not RFC 3339 in UTC", line)
    demand(isinstance(event["data"], dict), "data", line)
    check_payload(event, line)
    return event


def check_payload(event, line):
    kind, data = event["type"], event["data"]
    if kind == "message_start":
        demand(data["role"] == "assistant" and set(data) <= {"role", "conversation"}, "message_start", line)
        if "conversation" in data:
            demand(data["conversation"]["id"] == event["conversation_id"], "another conversation rides along", line)
    elif kind == "content_delta":
        demand(isinstance(data["text"], str) and data["text"], "a delta without text", line)
        demand(set(data) <= {"text", "filler"} and data.get("filler", True) is True, "filler is true or absent", line)
    elif kind == "message_end":
        check_message(data["message"], event, line)
    elif kind == "error":
        demand({"type", "title", "status"} <= set(data), "a problem has type, title and status", line)
        demand("/problems/" in data["type"], "a problem's type leads to its page", line)
    elif kind == "resumed":
        demand(data["decision"] == "approved" and data["approval_id"].startswith("apr_"), "resumed", line)
    elif kind == "queued":
        demand(data["position"] >= 1 and set(data) <= {"position", "retry_hint_seconds"}, "queued", line)
    elif kind == "approval_required":
        demand(data["object"] == "approval" and data["status"] == "pending", "approval_required", line)


def check_message(message, event, line):
    demand(list(message) == MESSAGE, "not the message's fields in their order (I-10)", line)
    demand(message["id"] == event["message_id"], "the message is another one", line)
    demand(message["conversation_id"] == event["conversation_id"], "the message belongs elsewhere", line)
    demand((message["object"], message["role"], message["status"]) == ("message", "assistant", "completed"),
           "not a completed assistant message", line)
    demand(message["parts"] == [{"type": "text", "text": message["content"]}], "parts do not spell content", line)
    demand(message["usage"] is None or all(type(message["usage"][k]) is int and message["usage"][k] >= 0
                                           for k in ("input_tokens", "output_tokens")), "usage", line)


def check_stream(lines, first_seq=0, whole=True):
    """Checks a stream, or with whole=False the beginning of one, and returns its events."""
    events = [parse_line(line) for line in lines]
    for index, event in enumerate(events):
        demand(event["seq"] == first_seq + index, f"seq is not {first_seq + index}", lines[index])
        demand(event["conversation_id"] == events[0]["conversation_id"], "another conversation", lines[index])
        if index:
            demand(event["created_at"] >= events[index - 1]["created_at"], "time runs backwards", lines[index])
    check_places([event["data"] for event in events if event["type"] == "queued"])
    ids = {event["message_id"] for event in events} - {None}
    if len(ids) > 1:
        raise NotAStream(f"several messages in one stream: {ids}")
    if first_seq == 0:
        shape = "".join(LETTERS[event["type"]] for event in events)
        if not (WHOLE.match(shape) if whole else WHOLE.match(shape) or BEGUN.match(shape)):
            raise NotAStream(f"not the grammar of a stream: {shape[:200]}")
        if events and events[-1]["type"] == "message_end":
            demand(text_of(events) == events[-1]["data"]["message"]["content"], "deltas are not content", lines[-1])
    elif whole and [e["type"] in TERMINAL for e in events] != [False] * (len(events) - 1) + [True]:
        raise NotAStream("not exactly one terminal, at the end")
    return events


def check_places(places):
    """Positions never grow, and one is repeated only with at least twice the wait."""
    for before, after in zip(places, places[1:]):
        fits = (after["position"] < before["position"] or after["position"] == before["position"]
                and after["retry_hint_seconds"] >= 2 * before["retry_hint_seconds"])
        if not fits:
            raise NotAStream(f"queued {after} after {before}")


def text_of(events):
    """What the assistant said: the deltas that are not filler (I-9)."""
    return "".join(e["data"]["text"] for e in events
                   if e["type"] == "content_delta" and not e["data"].get("filler"))


def slug_of(problem):
    return problem["type"].rsplit("/", 1)[-1]


def message_bytes(line):
    """The message inside a message_end line, as the bytes it came in."""
    opening, closing = b'"data":{"message":', b'},"created_at":"'
    start = line.index(opening) + len(opening)
    return line[start:line.rindex(closing)]
