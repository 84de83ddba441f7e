"""The comparator in Python: what a good team writes by hand with FastAPI for the same job. One uvicorn process, a check
of the key, one SSE frame per event, the finished message in SQLite before the last event. As in Node, there is no journal
of events, no re-attach, no idempotency and no recovery, and the database does not wait for the disk."""
import asyncio
import datetime
import hashlib
import hmac
import json
import os
import re
import sqlite3
import uuid

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, StreamingResponse

KEY_HASH = hashlib.sha256(os.environ["BENCH_KEY"].encode()).digest()
database = sqlite3.connect(os.path.join(os.environ["BENCH_HOME"], "bench.db"), isolation_level=None)
database.executescript("""PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
  CREATE TABLE IF NOT EXISTS conversation (id TEXT PRIMARY KEY, created_at TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS message (id TEXT PRIMARY KEY, conversation_id TEXT NOT NULL, role TEXT NOT NULL,
    content TEXT NOT NULL, created_at TEXT NOT NULL);""")
app = FastAPI(openapi_url=None)


def now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def authorized(request):
    given = request.headers.get("authorization", "")
    return given.startswith("Bearer ") and hmac.compare_digest(hashlib.sha256(given[7:].encode()).digest(), KEY_HASH)


def store_message(message_id, conversation_id, role, content):
    database.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", (message_id, conversation_id, role, content, now()))


async def words(content):
    """The instant model: `tokens N [RATE]`, or silence for ever."""
    directive = re.search(r"tokens (\d+)(?: (\d+))?$", content)
    if not directive:
        await asyncio.Event().wait()
    count, rate = int(directive[1]), directive[2]
    clock = asyncio.get_running_loop().time
    began = clock()
    for i in range(1, count + 1):
        if rate and i > 1:
            await asyncio.sleep(began + (i - 1) / int(rate) - clock())
        yield f"w{i} " if i < count else f"w{i}"


async def events(conversation_id, content):
    message_id, seq, text = f"msg_{uuid.uuid4()}", 0, ""

    def event(kind, data):
        nonlocal seq
        body = {"object": "conversation.event", "type": kind, "conversation_id": conversation_id,
                "message_id": message_id, "seq": seq, "data": data, "created_at": now()}
        seq += 1
        return f"data: {json.dumps(body, separators=(',', ':'))}\n\n"

    yield event("message_start", {"role": "assistant"})
    async for piece in words(content):
        text += piece
        yield event("content_delta", {"text": piece})
    store_message(message_id, conversation_id, "assistant", text)
    yield event("message_end", {"message": {"object": "message", "id": message_id, "role": "assistant",
                                            "content": text, "status": "completed"}})


@app.post("/v1/conversations", status_code=201)
async def create(request: Request):
    if not authorized(request):
        return JSONResponse({"title": "unauthenticated"}, 401)
    conversation_id = f"con_{uuid.uuid4()}"
    database.execute("INSERT INTO conversation VALUES (?, ?)", (conversation_id, now()))
    return {"id": conversation_id}


@app.post("/v1/conversations/{conversation_id}/messages")
async def send(conversation_id: str, request: Request):
    if not authorized(request):
        return JSONResponse({"title": "unauthenticated"}, 401)
    content = (await request.json()).get("content")
    if not database.execute("SELECT 1 FROM conversation WHERE id = ?", (conversation_id,)).fetchone():
        return JSONResponse({"title": "not-found"}, 404)
    if not isinstance(content, str) or not content:
        return JSONResponse({"title": "validation-error"}, 422)
    store_message(f"msg_{uuid.uuid4()}", conversation_id, "user", content)
    return StreamingResponse(events(conversation_id, content), media_type="text/event-stream",
                             headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})


@app.get("/v1/conversations/{conversation_id}/messages")
async def messages(conversation_id: str, request: Request):
    if not authorized(request):
        return JSONResponse({"title": "unauthenticated"}, 401)
    rows = database.execute("SELECT id, role, content FROM message WHERE conversation_id = ? ORDER BY rowid",
                            (conversation_id,))
    return {"data": [{"id": row[0], "role": row[1], "content": row[2]} for row in rows]}
