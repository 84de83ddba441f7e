// The comparator: what a good team writes by hand in Node for the same job. One process, node:http,
// a check of the key, one res.write per event as SSE, the finished message in SQLite before the last
// event. It does less than Sluice (no journal of events, no re-attach, no idempotency, no recovery),
// and its database runs with synchronous=NORMAL, which does not wait for the disk.
import http from 'node:http';
import { createHash, randomUUID, timingSafeEqual } from 'node:crypto';
import Database from 'better-sqlite3';
import { tokens } from '../tokens.mjs';

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

const list_messages = database.prepare('SELECT id, role, content FROM message WHERE conversation_id = ? ORDER BY rowid');

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

const messages_of = (url) => /^\/v1\/conversations\/([^/]+)\/messages$/.exec(url)?.[1];

const server = http.createServer((request, response) => {
  if (!authorized(request)) return answer_json(response, 401, { title: 'unauthenticated' });
  if (request.method === 'GET') return answer_json(response, 200, { data: list_messages.all(messages_of(request.url)) });
  const pieces = [];
  request.on('data', (piece) => pieces.push(piece));
  request.on('end', () => {
    const body = JSON.parse(Buffer.concat(pieces).toString());
    if (request.url === '/v1/conversations') {
      const id = `con_${randomUUID()}`;
      insert_conversation.run(id, now());
      return answer_json(response, 201, { id });
    }
    const id = messages_of(request.url);
    if (!id || !find_conversation.get(id)) return answer_json(response, 404, { title: 'not-found' });
    if (typeof body.content !== 'string' || body.content === '') return answer_json(response, 422, { title: 'validation-error' });
    stream(response, id, body.content);
  });
});
server.keepAliveTimeout = 75_000;
server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => {
  process.stdout.write(`node: listening on http://127.0.0.1:${server.address().port}\n`);
});
