"""What every AG-UI stream must be, written from the protocol: a checker that knows nothing of how the server works."""
import json

OPENERS = {"TEXT_MESSAGE_START": ("text", "messageId"), "TOOL_CALL_START": ("call", "toolCallId"),
           "REASONING_START": ("span", "messageId"), "REASONING_MESSAGE_START": ("thought", "messageId"),
           "STEP_STARTED": ("step", "stepName"), "SUBAGENT_STARTED": ("subagent", "subagentRunId")}
CLOSERS = {"TEXT_MESSAGE_END": ("text", "messageId"), "TOOL_CALL_END": ("call", "toolCallId"),
           "REASONING_END": ("span", "messageId"), "REASONING_MESSAGE_END": ("thought", "messageId"),
           "STEP_FINISHED": ("step", "stepName"), "SUBAGENT_FINISHED": ("subagent", "subagentRunId"),
           "SUBAGENT_ERROR": ("subagent", "subagentRunId")}
INSIDE = {"TEXT_MESSAGE_CONTENT": ("text", "messageId"), "TOOL_CALL_ARGS": ("call", "toolCallId"),
          "REASONING_MESSAGE_CONTENT": ("thought", "messageId")}
OTHERS = {"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "TOOL_CALL_RESULT", "CUSTOM", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT"}
NULL_IS_DATA = {("CUSTOM", "value"), ("STATE_SNAPSHOT", "snapshot")}


def frames(lines):
    """(id, event) of each frame of server-sent events; comments are left out."""
    frame_id, data = None, None
    for raw in lines:
        line = raw.decode()
        if "\r" in line:
            raise AssertionError(f"a carriage return: {line!r}")
        if line.startswith("id: "):
            frame_id = line[4:]
        elif line.startswith("data: "):
            if data is not None:
                raise AssertionError("two data lines in one frame")
            data = line[6:]
        elif line == "":
            if data is not None:
                yield frame_id, json.loads(data)
            frame_id, data = None, None
        elif not line.startswith(":"):
            raise AssertionError(f"a line that a client would not know: {line!r}")


def check(events, ended=True):
    """Raises for whatever breaks a rule; gives the events back."""
    assert events and events[0]["type"] in ("RUN_STARTED", "RUN_ERROR"), events[:1]
    opened, results, over, names = set(), set(), False, {}
    for place, event in enumerate(events):
        kind = event["type"]
        where = f"event {place}, {json.dumps(event)[:300]}"
        assert not over, f"after the end: {where}"
        for name, value in event.items():
            assert value is not None or (kind, name) in NULL_IS_DATA, f"null: {where}"
        if kind == "RUN_STARTED":
            assert place == 0, f"a second start: {where}"
            names = {"threadId": event["threadId"], "runId": event["runId"]}
        elif kind in OPENERS:
            space, member = OPENERS[kind]
            assert (space, event[member]) not in opened, f"opened twice: {where}"
            opened.add((space, event[member]))
        elif kind in INSIDE or kind in CLOSERS:
            space, member = (INSIDE.get(kind) or CLOSERS[kind])
            assert (space, event[member]) in opened, f"not open: {where}"
            if kind in CLOSERS:
                opened.remove((space, event[member]))
        elif kind == "TOOL_CALL_RESULT":
            assert event["messageId"] not in results, f"a result twice: {where}"
            assert ("call", event["toolCallId"]) not in opened, f"a result before its call's end: {where}"
            results.add(event["messageId"])
        elif kind == "RUN_FINISHED":
            assert not opened, f"open at the end: {opened}"
            assert {m: event[m] for m in names} == names, f"another run's end: {where}"
        elif kind == "CUSTOM":
            assert "value" in event and ("." in event["name"] or ":" in event["name"]), where
        else:
            assert kind in OTHERS, f"unknown: {where}"
        over = kind in ("RUN_FINISHED", "RUN_ERROR")
    assert over or not ended, "no end"
    return events


def text_of(events):
    return "".join(e["delta"] for e in events if e["type"] == "TEXT_MESSAGE_CONTENT")


def customs(events, name):
    return [e["value"] for e in events if e["type"] == "CUSTOM" and e["name"] == name]
