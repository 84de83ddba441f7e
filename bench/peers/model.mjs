// OpenAI's Chat Completions on the loopback, for peers that will only talk to a provider: it answers what the last
// message of the user says (tokens.mjs).
import http from 'node:http';
import { tokens } from './tokens.mjs';

const text_of = (content) => (typeof content === 'string' ? content : (content ?? []).map((part) => part.text ?? '').join(' '));

const server = http.createServer((request, response) => {
  const pieces = [];
  request.on('data', (piece) => pieces.push(piece));
  request.on('end', () => {
    const { model, messages = [] } = JSON.parse(Buffer.concat(pieces).toString() || '{}');
    const asked = text_of(messages.findLast((message) => message.role === 'user')?.content);
    const chunk = (fields) =>
      response.write(`data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model, ...fields })}\n\n`);
    const delta = (delta, finish_reason = null) => chunk({ choices: [{ index: 0, delta, finish_reason }] });
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    delta({ role: 'assistant', content: '' });
    tokens(
      asked,
      (piece) => delta({ content: piece }),
      () => {
        delta({}, 'stop');
        chunk({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 50, total_tokens: 60 } });
        response.end('data: [DONE]\n\n');
      },
    );
  });
});
server.keepAliveTimeout = 75_000;
server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => {
  process.stdout.write(`model: listening on http://127.0.0.1:${server.address().port}\n`);
});
