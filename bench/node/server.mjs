// The comparator: what a good team writes by hand in Node for the same job. One process, node:http,
// a check of the key, one res.write per event as SSE, the finished message in SQLite before the last
// event. It does less than Sluice (no journal of events, no re-attach, no idempotency, no recovery),
// and its database runs with synchronous=NORMAL, which does not wait for the disk.
import http from 'node:http';
import { createHash, randomUUID, timingSafeEqual } from 'node:crypto';
import Database from 'better-sqlite3';

const [, , data, key] = process.argv;
const key_hash = createHash('sha256').update(key).digest();

const database = new Database(`${data}/bench.db`);
database.pragma('journal_mode = WAL');
database.pragma('synchronous = NORMAL');
database.exec(`CREATE TABLE IF NOT EXISTS conversation (id TEXT PRIMARY KEY, created_at TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS message (id TEXT PRIMARY KEY, conversation_id TEXT NOT NULL, role TEXT NOT NULL,
    content TEXT NOT NULL, created_at TEXT NOT NULL);`);
const insert_conversation = database.prepare('INSERT INTO conversation VALUES (?, ?)');
const find_conversation = database.prepare('SELECT id FROM conversation WHERE id = ?');
const insert_message = database.prepare('INSERT INTO message VALUES (?, ?, ?, ?, ?)');

const now = () => new Date().toISOString();

function authorized(request) {
  const given = request.headers.authorization ?? '';
  if (!given.startsWith('Bearer ')) return false;
  return timingSafeEqual(createHash('sha256').update(given.slice(7)).digest(), key_hash);
}

function answer_json(response, status, value) {
  const body = JSON.stringify(value);
  response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) });
  response.end(body);
}

// The stand-in for a model: `tokens N [RATE]`, or silence for ever.
function tokens(content, on_text, on_end) {
  const directive = /tokens (\d+)(?: (\d+))?$/.exec(content);
  if (!directive) return;
  const count = Number(directive[1]);
  if (!directive[2]) {
    for (let i = 1; i <= count; ++i) on_text(i < count ? `w${i} ` : `w${i}`);
    on_end();
    return;
  }
  const rate = Number(directive[2]);
  const began = performance.now();
  let told = 0;
  const tell = () => {
    ++told;
    on_text(told < count ? `w${told} ` : `w${told}`);
    if (told < count) setTimeout(tell, began + (told * 1000) / rate - performance.now());
    else on_end();
  };
  tell();
}

function stream(response, conversation_id, content) {
  const message_id = `msg_${randomUUID()}`;
  const created_at = now();
  let seq = 0;
  let text = '';
  const event = (type, data) =>
    response.write(
      `data: ${JSON.stringify({ object: 'conversation.event', type, conversation_id, message_id, seq: seq++, data, created_at: now() })}\n\n`,
    );
  insert_message.run(`msg_${randomUUID()}`, conversation_id, 'user', content, created_at);
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' });
  event('message_start', { role: 'assistant' });
  tokens(
    content,
    (piece) => {
      text += piece;
      event('content_delta', { text: piece });
    },
    () => {
      insert_message.run(message_id, conversation_id, 'assistant', text, created_at);
      const message = { object: 'message', id: message_id, conversation_id, role: 'assistant', content: text, status: 'completed', created_at };
      event('message_end', { message });
      response.end();
    },
  );
}

const server = http.createServer((request, response) => {
  if (!authorized(request)) return answer_json(response, 401, { title: 'unauthenticated' });
  const pieces = [];
  request.on('data', (piece) => pieces.push(piece));
  request.on('end', () => {
    const body = JSON.parse(Buffer.concat(pieces).toString());
    if (request.url === '/v1/conversations') {
      const id = `con_${randomUUID()}`;
      insert_conversation.run(id, now());
      return answer_json(response, 201, { id });
    }
    const id = /^\/v1\/conversations\/([^/]+)\/messages$/.exec(request.url)?.[1];
    if (!id || !find_conversation.get(id)) return answer_json(response, 404, { title: 'not-found' });
    if (typeof body.content !== 'string' || body.content === '') return answer_json(response, 422, { title: 'validation-error' });
    stream(response, id, body.content);
  });
});
server.keepAliveTimeout = 75_000;
server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => {
  process.stdout.write(`node: listening on http://127.0.0.1:${server.address().port}\n`);
});
