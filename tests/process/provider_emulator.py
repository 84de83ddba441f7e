"""Model providers on the loopback: Anthropic Messages, OpenAI Responses and Chat Completions, scripted.

Each request takes the next Answer from the script (the last one repeats) and is kept for the test to see.
"""
import dataclasses
import http.server
import json
import threading

from http_client import CLOSED_WITHIN_S


@dataclasses.dataclass
class Answer:
    texts: tuple = ("Hello", " there.")
    reasoning: str = ""
    status: int = 200
    error: str = "scripted failure"
    headers: dict = dataclasses.field(default_factory=dict)
    cut_after: int | None = None   # close the connection after that many texts
    silent_after: int | None = None  # say nothing more after that many texts
    goes_on: bool = False  # when the emulator is released, with the rest; else the connection is closed then
    input_tokens: int = 11
    cached_tokens: int = 0  # of the input
    output_tokens: int = 7


class Seen:
    """One request as the provider got it."""

    def __init__(self, path, headers, body):
        self.path, self.headers, self.body = path, {k.lower(): v for k, v in headers.items()}, body


class Emulator:
    def __init__(self, *script, port=0):
        self.script, self.seen, self.released = list(script) or [Answer()], [], threading.Event()
        self._lock = threading.Lock()
        emulator = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                emulator.answer(self, body)

            def log_message(self, *_):
                pass

        class QuietServer(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass  # the server under test hung up; the test says whether that was right

        self.server = QuietServer(("127.0.0.1", port), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(CLOSED_WITHIN_S,), daemon=True).start()

    def close(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()

    def play(self, *script):
        """Starts over with another script."""
        with self._lock:
            self.released.clear()
            self.script, self.seen = list(script), []

    def answer(self, handler, body):
        with self._lock:
            answer = self.script.pop(0) if len(self.script) > 1 else self.script[0]
            self.seen.append(Seen(handler.path, handler.headers, body))
        if answer.status != 200:
            return self.refuse(handler, answer)
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.close_connection = True
        dialect = next(d for end, d in DIALECTS.items() if handler.path.endswith(end))
        for told, frame in dialect(answer):
            if answer.cut_after is not None and told >= answer.cut_after:
                return None
            if answer.silent_after is not None and told >= answer.silent_after:
                self.released.wait(60)
                if not answer.goes_on:
                    return None
            handler.wfile.write(frame.encode())
            handler.wfile.flush()
        return None

    def refuse(self, handler, answer):
        data = json.dumps({"type": "error", "error": {"type": "scripted_error", "code": "scripted",
                                                      "message": answer.error}}).encode()
        handler.send_response(answer.status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(data)))
        for name, value in answer.headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(data)


def named(kind, **fields):
    return f"event: {kind}\ndata: {json.dumps({'type': kind} | fields)}\n\n"


def anthropic(answer):
    """(how many texts were sent before it, frame) …"""
    yield 0, named("message_start", message={
        "id": "msg_01", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None,
        "usage": {"input_tokens": answer.input_tokens - answer.cached_tokens, "output_tokens": 1,
                  "cache_read_input_tokens": answer.cached_tokens, "cache_creation_input_tokens": 0}})
    yield 0, named("ping")
    index = 0
    if answer.reasoning:
        block = {"type": "thinking", "thinking": "", "signature": ""}
        yield 0, named("content_block_start", index=0, content_block=block)
        yield 0, named("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": answer.reasoning})
        yield 0, named("content_block_delta", index=0, delta={"type": "signature_delta", "signature": "c2ln"})
        yield 0, named("content_block_stop", index=0)
        index = 1
    yield 0, named("content_block_start", index=index, content_block={"type": "text", "text": ""})
    for told, text in enumerate(answer.texts):
        yield told, named("content_block_delta", index=index, delta={"type": "text_delta", "text": text})
    told = len(answer.texts)
    yield told, named("content_block_stop", index=index)
    yield told, named("message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None},
                      usage={"output_tokens": answer.output_tokens})
    yield told, named("message_stop")


def responses(answer):
    yield 0, named("response.created", sequence_number=0,
                   response={"id": "resp_1", "object": "response", "status": "in_progress", "output": []})
    if answer.reasoning:
        thought = {"id": "rs_1", "type": "reasoning", "summary": []}
        yield 0, named("response.output_item.added", output_index=0, item=thought)
        yield 0, named("response.reasoning_summary_text.delta", item_id="rs_1", output_index=0, summary_index=0,
                       delta=answer.reasoning)
        yield 0, named("response.output_item.done", output_index=0, item=thought)
    yield 0, named("response.output_item.added", output_index=1,
                   item={"id": "m_1", "type": "message", "role": "assistant", "status": "in_progress", "content": []})
    yield 0, named("response.content_part.added", item_id="m_1", output_index=1, content_index=0,
                   part={"type": "output_text", "text": "", "annotations": []})
    for told, text in enumerate(answer.texts):
        yield told, named("response.output_text.delta", item_id="m_1", output_index=1, content_index=0, delta=text)
    told, whole = len(answer.texts), "".join(answer.texts)
    item = {"id": "m_1", "type": "message", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": whole, "annotations": []}]}
    yield told, named("response.output_text.done", item_id="m_1", output_index=1, content_index=0, text=whole)
    yield told, named("response.output_item.done", output_index=1, item=item)
    yield told, named("response.completed", response={
        "id": "resp_1", "object": "response", "status": "completed", "output": [item],
        "usage": {"input_tokens": answer.input_tokens, "output_tokens": answer.output_tokens,
                  "input_tokens_details": {"cached_tokens": answer.cached_tokens},
                  "total_tokens": answer.input_tokens + answer.output_tokens}})


def chat(answer):
    def chunk(**fields):
        head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        return f"data: {json.dumps(head | fields)}\n\n"

    def choice(delta, finish=None):
        return [{"index": 0, "delta": delta, "finish_reason": finish}]

    yield 0, chunk(choices=choice({"role": "assistant", "content": ""}))
    if answer.reasoning:
        yield 0, chunk(choices=choice({"reasoning_content": answer.reasoning}))
    for told, text in enumerate(answer.texts):
        yield told, chunk(choices=choice({"content": text}))
    told = len(answer.texts)
    yield told, chunk(choices=choice({}, "stop"))
    yield told, chunk(choices=[], usage={
        "prompt_tokens": answer.input_tokens, "completion_tokens": answer.output_tokens,
        "prompt_tokens_details": {"cached_tokens": answer.cached_tokens},
        "total_tokens": answer.input_tokens + answer.output_tokens})
    yield told, "data: [DONE]\n\n"


DIALECTS = {"/messages": anthropic, "/responses": responses, "/chat/completions": chat}
