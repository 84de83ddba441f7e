"""A model on the loopback that does what the user's message says, for agent programs that run in a sandbox.

Speaks Anthropic Messages, OpenAI Responses and Chat Completions. What it does is written in the prompt, between
`<<script` and `>>`, one line each: `say TEXT`, `think TEXT`, `$ COMMAND` (the program's own shell tool), `call TOOL
{json}`, `fail STATUS TEXT`, `hang`. A call ends an answer; the next lines come when its result is there. It keeps
nothing between requests: where it stands is how many results follow the script.
"""
import http.server
import itertools
import json
import re
import threading

SHELLS = {  # the shell tools of agent programs, and what they want
    "Bash": lambda command: {"command": command, "description": "runs it"},
    "bash": lambda command: {"command": command, "description": "runs it"},
    "exec_command": lambda command: {"cmd": command},
    "shell_command": lambda command: {"command": command},
    "shell": lambda command: {"command": ["bash", "-lc", command]},
    "run_terminal_command": lambda command: {"command": command, "description": "runs it"},
    "run_terminal_cmd": lambda command: {"command": command, "is_background": False},
}
# What programs write into their history for a call that they never carried out: it will be made again.
UNDONE = re.compile(r"outcome is unknown|^aborted|interrupted|cancelled by the user|was not executed|doesn't want to proceed|failed to request permission",
                    re.I | re.M)
SCRIPT = re.compile(r"<<script\n(.*?)\n>>", re.S)


def rounds_of(script):
    """The script cut after each call."""
    rounds = [[]]
    for line in script.split("\n"):
        rounds[-1].append(line)
        if line.startswith(("$ ", "call ")):
            rounds.append([])
    return rounds


def wanted_tool(name, offered):
    """The name under which a program offers the tool."""
    for full in offered:
        if full == name or re.search(rf"(__|_|\.){re.escape(name)}$", full):
            return full
    return None


class Plan:
    """What to answer to one request: texts, thoughts and at most one call."""

    def __init__(self, history, offered):
        # history: ("user", text) or ("result", text), in order
        self.parts, self.call, self.failure, self.hangs, self.cut = [], None, None, False, None
        script, done = None, 0
        for kind, text in history:
            found = SCRIPT.findall(text) if kind == "user" else []
            if found:
                script, done = found[-1], 0
            elif kind == "result" and not UNDONE.search(text):
                done += 1
        if script is None:
            self.parts.append(("text", "A title"))
            return
        rounds = rounds_of(script)
        for line in rounds[done] if done < len(rounds) else ["say Nothing more."]:
            self.take(line, offered, history)

    def take(self, line, offered, history):
        word, _, rest = line.partition(" ")
        if word == "say":
            results = [text for kind, text in history if kind == "result"]
            self.parts.append(("text", rest.replace("{{last}}", results[-1] if results else "")))
        elif word == "think":
            self.parts.append(("think", rest))
        elif word == "$":
            name = next(name for name in SHELLS if name in offered)
            self.call = (name, SHELLS[name](rest))
        elif word == "call":
            name, _, arguments = rest.partition(" ")
            arguments = json.loads(arguments or "{}")
            full = wanted_tool(name, offered)
            if full is None and "use_tool" in offered:
                self.call = ("use_tool", {"tool_name": f"sluice__{name}", "tool_input": arguments})
            else:
                self.call = (full or name, arguments)
        elif word == "fail":
            status, _, text = rest.partition(" ")
            self.failure = (int(status), text)
        elif word == "hang":
            self.hangs = True
        elif word == "cut":  # the first answer to this: so much of it, then an error; the second has the rest of the script
            self.cut = rest


def words(text):
    return re.findall(r"\S+\s*|\s+", text)


class ModelEmulator:
    def __init__(self):
        self.requests, self.released, self.cuts = [], threading.Event(), set()
        self.numbers = itertools.count(1)
        emulator = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                self.whole(200, {"object": "list", "data": [{"id": "emulated-1", "object": "model"}]})

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"] or 0)) or b"{}")
                emulator.requests.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                emulator.answer(self, body)

            def whole(self, status, body):
                raw = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def begin_stream(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                self.close_connection = True

            def event(self, data, name=None):
                if name:
                    self.wfile.write(f"event: {name}\n".encode())
                self.wfile.write(f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n".encode())
                self.wfile.flush()

            def log_message(self, *_):
                pass

        class QuietServer(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass

        self.server = QuietServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()

    def answer(self, handler, body):
        path = handler.path.split("?")[0]
        wires = {"/messages": (anthropic_plan, anthropic_answer), "/responses": (responses_plan, responses_answer),
                 "/chat/completions": (chat_plan, chat_answer)}
        for ending, (plan_of, answer) in wires.items():
            if path.endswith(ending):
                plan = plan_of(body)
                if plan.hangs:
                    self.released.wait()
                    return
                if plan.cut and plan.cut not in self.cuts:
                    self.cuts.add(plan.cut)
                    chat_cut(handler, body, plan.cut)
                    return
                if plan.failure:
                    status, text = plan.failure
                    handler.whole(status, {"type": "error", "error": {"type": "api_error", "message": text}})
                    return
                answer(handler, body, plan, next(self.numbers))
                return
        handler.whole(404, {"error": {"message": f"no {path} here"}})


def text_of(content):
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text") or text_of(part.get("content") or "") for part in content or []
                     if isinstance(part, dict))


# ── Anthropic Messages ──
def anthropic_plan(body):
    history = []
    for message in body.get("messages", []):
        blocks = message["content"] if isinstance(message["content"], list) else [{"type": "text", "text": message["content"]}]
        for block in blocks:
            if message["role"] == "user" and block.get("type") == "text":
                history.append(("user", block["text"]))
            elif block.get("type") == "tool_result":
                history.append(("result", text_of(block.get("content") or "")))
    return Plan(history, [tool["name"] for tool in body.get("tools") or []])


def anthropic_answer(handler, body, plan, number):
    blocks = [{"type": "thinking", "thinking": text, "signature": "c2ln"} if kind == "think" else {"type": "text", "text": text}
              for kind, text in plan.parts]
    if plan.call:
        blocks.append({"type": "tool_use", "id": f"toolu_{number:08d}", "name": plan.call[0], "input": plan.call[1]})
    reason = "tool_use" if plan.call else "end_turn"
    message = {"id": f"msg_{number:08d}", "type": "message", "role": "assistant", "model": body.get("model", "emulated-1"),
               "content": [], "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 11, "output_tokens": 1}}
    if not body.get("stream"):
        handler.whole(200, message | {"content": blocks, "stop_reason": reason, "usage": {"input_tokens": 11, "output_tokens": 7}})
        return
    handler.begin_stream()
    handler.event({"type": "message_start", "message": message}, "message_start")
    for index, block in enumerate(blocks):
        empty = {"text": {"type": "text", "text": ""}, "thinking": {"type": "thinking", "thinking": "", "signature": ""},
                 "tool_use": block | {"input": {}}}[block["type"]]
        handler.event({"type": "content_block_start", "index": index, "content_block": empty}, "content_block_start")
        if block["type"] == "tool_use":
            raw = json.dumps(block["input"])
            deltas = [{"type": "input_json_delta", "partial_json": raw[i:i + 7]} for i in range(0, len(raw), 7)]
        elif block["type"] == "text":
            deltas = [{"type": "text_delta", "text": word} for word in words(block["text"])]
        else:
            deltas = [{"type": "thinking_delta", "thinking": word} for word in words(block["thinking"])]
            deltas.append({"type": "signature_delta", "signature": "c2ln"})
        for delta in deltas:
            handler.event({"type": "content_block_delta", "index": index, "delta": delta}, "content_block_delta")
        handler.event({"type": "content_block_stop", "index": index}, "content_block_stop")
    handler.event({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None},
                   "usage": {"output_tokens": 7}}, "message_delta")
    handler.event({"type": "message_stop"}, "message_stop")


# ── OpenAI Responses ──
def responses_plan(body):
    history = []
    items = body.get("input") or []
    for item in [{"type": "message", "role": "user", "content": items}] if isinstance(items, str) else items:
        if item.get("type", "message") == "message" and item.get("role") == "user":
            history.append(("user", text_of(item["content"])))
        elif item.get("type", "").endswith("_call_output"):
            output = item.get("output")
            history.append(("result", output if isinstance(output, str) else text_of(output)))
    return Plan(history, [tool.get("name") or tool["type"] for tool in body.get("tools") or []])


def responses_answer(handler, body, plan, number):
    usage = {"input_tokens": 11, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 7,
             "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 18}
    response = {"id": f"resp_{number:08d}", "object": "response", "status": "in_progress", "output": []}
    handler.begin_stream()
    handler.event({"type": "response.created", "response": response}, "response.created")
    index = 0
    for kind, text in plan.parts:
        responses_part(handler, kind, text, number * 100 + index, index, response)
        index += 1
    if plan.call:
        name, arguments = plan.call
        item = {"id": f"fc_{number:08d}", "type": "function_call", "status": "completed", "call_id": f"call_{number:08d}",
                "name": name, "arguments": json.dumps(arguments)}
        if name not in [tool.get("name") for tool in body.get("tools") or []]:
            item["namespace"] = "mcp__sluice"  # Codex finds such tools by a search, which a model need not make again
        handler.event({"type": "response.output_item.added", "output_index": index, "item": item | {"arguments": ""}},
                      "response.output_item.added")
        handler.event({"type": "response.function_call_arguments.done", "item_id": item["id"], "output_index": index,
                       "arguments": item["arguments"]}, "response.function_call_arguments.done")
        handler.event({"type": "response.output_item.done", "output_index": index, "item": item}, "response.output_item.done")
        response["output"].append(item)
    handler.event({"type": "response.completed", "response": response | {"status": "completed", "usage": usage}},
                  "response.completed")


def responses_part(handler, kind, text, number, index, response):
    if kind == "think":
        item = {"id": f"rs_{number}", "type": "reasoning", "summary": [{"type": "summary_text", "text": text}]}
        handler.event({"type": "response.output_item.added", "output_index": index, "item": item | {"summary": []}},
                      "response.output_item.added")
        handler.event({"type": "response.reasoning_summary_part.added", "item_id": item["id"], "output_index": index,
                       "summary_index": 0, "part": {"type": "summary_text", "text": ""}}, "response.reasoning_summary_part.added")
        for word in words(text):
            handler.event({"type": "response.reasoning_summary_text.delta", "item_id": item["id"], "output_index": index,
                           "summary_index": 0, "delta": word}, "response.reasoning_summary_text.delta")
    else:
        item = {"id": f"msg_{number}", "type": "message", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": text, "annotations": []}]}
        handler.event({"type": "response.output_item.added", "output_index": index, "item": item | {"content": []}},
                      "response.output_item.added")
        for word in words(text):
            handler.event({"type": "response.output_text.delta", "item_id": item["id"], "output_index": index,
                           "content_index": 0, "delta": word}, "response.output_text.delta")
    handler.event({"type": "response.output_item.done", "output_index": index, "item": item}, "response.output_item.done")
    response["output"].append(item)


# ── OpenAI Chat Completions ──
def chat_plan(body):
    history = []
    for message in body.get("messages", []):
        if message["role"] == "user":
            history.append(("user", text_of(message["content"])))
        elif message["role"] == "tool":
            history.append(("result", text_of(message["content"])))
    return Plan(history, [tool["function"]["name"] for tool in body.get("tools") or []])


def chat_cut(handler, body, text):
    handler.begin_stream()
    for word in words(text):
        handler.event({"id": "chatcmpl-cut", "object": "chat.completion.chunk", "created": 1, "model": body.get("model"),
                       "choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}]})
    handler.event({"error": {"message": "overloaded", "type": "server_error", "code": "server_error"}})


def chat_answer(handler, body, plan, number):
    head = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": 1, "model": body.get("model", "emulated-1")}
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    calls = [{"index": 0, "id": f"call_{number:08d}", "type": "function",
              "function": {"name": plan.call[0], "arguments": json.dumps(plan.call[1])}}] if plan.call else None
    reason = "tool_calls" if plan.call else "stop"
    if not body.get("stream"):
        text = "".join(text for kind, text in plan.parts if kind == "text")
        message = {"role": "assistant", "content": text} | ({"tool_calls": calls} if calls else {})
        handler.whole(200, head | {"object": "chat.completion", "usage": usage,
                                   "choices": [{"index": 0, "message": message, "finish_reason": reason}]})
        return
    handler.begin_stream()

    def chunk(delta, finish=None):
        handler.event(head | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    chunk({"role": "assistant", "content": ""})
    for kind, text in plan.parts:
        for word in words(text):
            chunk({"reasoning_content": word} if kind == "think" else {"content": word})
    if calls:
        chunk({"tool_calls": calls})
    chunk({}, reason)
    handler.event(head | {"choices": [], "usage": usage})
    handler.event("[DONE]")
