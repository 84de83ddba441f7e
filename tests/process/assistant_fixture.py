"""The Assistant as a browser uses it: frames as they come, and the blocks that it makes of them (docs/assistant.md)."""
import json

from server_process import ServerTest

STREAM = "/api/assistant/chat/stream"
CUT = 16 * 1024
CUT_NOTE = "\n… (cut here; the run's trace has all of it)"


class Frame:
    def __init__(self, raw):
        self.raw = raw
        fields = dict(line.split(": ", 1) for line in raw.rstrip("\n").split("\n"))
        if set(fields) != {"id", "event", "data"}:
            raise AssertionError(f"no frame of the Assistant: {raw!r}")
        self.id, self.type, self.data = int(fields["id"]), fields["event"], json.loads(fields["data"])


def frames(answer):
    """Each frame as soon as it is complete; what keeps the connection alive is passed over."""
    gathered = b""
    for piece in answer.pieces():
        gathered += piece
        *complete, gathered = gathered.split(b"\n\n")
        for raw in complete:
            if not raw.startswith(b":"):
                yield Frame(raw.decode() + "\n\n")
    if gathered:
        raise AssertionError(f"half a frame: {gathered[:200]!r}")


def shown(text):
    raw = text.encode()
    return text if len(raw) <= CUT else raw[:CUT].decode(errors="ignore") + CUT_NOTE


class Browser:
    """What a page shows of one turn."""

    def __init__(self):
        self.blocks, self.seen, self.result, self.error = [], [], None, None

    def take(self, frame):
        if frame.id != len(self.seen):
            raise AssertionError(f"frame {frame.id} came where {len(self.seen)} was expected")
        self.seen.append(frame)
        data = dict(frame.data)
        data.pop("ts", None)
        getattr(self, "on_" + frame.type)(data)

    def find(self, kind, **members):
        for block in self.blocks:
            if block["type"] == kind and all(block.get(k) == v for k, v in members.items()):
                return block
        self.blocks.append({"type": kind} | members)
        return self.blocks[-1]

    def say(self, kind, text):
        if not text:
            return
        if not self.blocks or self.blocks[-1]["type"] != kind:
            self.blocks.append({"type": kind, "text": ""})
        self.blocks[-1]["text"] += text

    def on_chat(self, data):
        self.chat = data

    def on_queued(self, data):
        pass

    def on_filler(self, data):
        pass

    def on_delta(self, data):
        self.say("text", data["text"])

    def on_reasoning(self, data):
        self.say("reasoning", data["text"])

    def on_replace(self, data):
        kept = data["keptBytes"]
        for block in self.blocks:
            if block["type"] == "text":
                raw = block["text"].encode()
                block["text"], kept = raw[:kept].decode(), max(0, kept - len(raw))
        self.blocks = [b for b in self.blocks if b != {"type": "text", "text": ""}]

    def on_step(self, data):
        block = self.find("step", id=data["id"])
        for name in ("result", "error", "durationMs"):
            block.pop(name, None)
        block.update(data)

    def on_output(self, data):
        block = self.find("step", id=data["id"])
        block["output"] = block.get("output", "") + data["text"]

    def on_file(self, data):
        files = self.find("files").setdefault("files", [])
        known = [f for f in files if f["path"] == data["path"]]
        known[0].update(data) if known else files.append(data)

    def on_diff(self, data):
        self.find("diff").update(data)

    def on_approval(self, data):
        self.find("approval", approvalId=data["approvalId"]).update(data)

    def on_custom(self, data):
        if data["name"] == "sluice.assets":
            self.blocks.append({"type": "assets", "files": data["value"]["files"]})
        elif data["name"] == "sluice.run-diff":
            self.find("run_diff").update(data["value"])
        else:
            self.blocks.append({"type": "tool_output"} | data)

    def on_subagent(self, data):
        block = self.find("subagent", id=data["id"])
        text = block.get("text", "") + data.pop("text", "")
        block.update(data)
        if text:
            block["text"] = text

    def on_result(self, data):
        self.result = data

    def on_error(self, data):
        self.error = data

    def on_done(self, data):
        pass

    @property
    def types(self):
        return [frame.type for frame in self.seen]

    @property
    def raw(self):
        return "".join(frame.raw for frame in self.seen)

    def shown(self):
        made = [dict(block) for block in self.blocks]
        for block in made:
            name = {"step": "output", "subagent": "text"}.get(block["type"])
            if name in block:
                block[name] = shown(block[name])
        return made


class AssistantTest(ServerTest):
    flags = ("--sandbox.driver", "namespaces", "--sandbox.warm_target", "0", "--assistant.leave_grace_ms", "300")

    def open_turn(self, message, chat=None, client=None, **fields):
        """The answer to a turn, its frames still to come."""
        body = {"message": message} | ({"chatId": chat} if chat else {}) | fields
        return (client or self.client).open("POST", STREAM, body)

    def turn(self, message, chat=None, **fields):
        """A whole turn, as a browser has it at the end."""
        answer = self.open_turn(message, chat, **fields)
        with answer.connection:
            self.assertEqual(answer.status, 200, answer.status != 200 and answer.body)
            browser = Browser()
            for frame in frames(answer):
                browser.take(frame)
        self.assertEqual(browser.types[0], "chat")
        self.assertEqual(browser.types[-1], "done")
        self.assertEqual(browser.types.count("done"), 1)
        self.assertIn(browser.types[-2], ("result", "error"))
        return browser

    def next_turn(self, chat):
        """Whether the chat accepts a turn now; the turn is not read."""
        answer = self.open_turn("say next", chat)
        with answer.connection:
            return answer.status == 200

    def chat(self, chat, query="", client=None):
        answer = (client or self.client).get(f"/api/assistant/chats/{chat}{query}")
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json()

    def follow(self, stream, after=None, client=None):
        """The bytes of a turn's stream, read again."""
        query = f"?streamId={stream}" + ("" if after is None else f"&after={after}")
        answer = (client or self.client).get(STREAM + query)
        self.assertEqual((answer.status, answer.header("content-type")), (200, "text/event-stream"), answer.body[:300])
        return answer.body.decode()

    def run_state(self, run, client=None):
        return (client or self.client).get(f"/v1/runs/{run}").json()["state"]
