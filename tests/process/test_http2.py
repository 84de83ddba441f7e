"""HTTP/2 on the port of HTTP/1.1, as others speak it: curl, h2load and Node. What is streamed is the same (I-1, I-3)."""
import json
import re
import shutil
import subprocess
import unittest

from server_process import PATIENCE_S, ServerTest, wait_until
from stream_grammar import check_stream, text_of

ANNOUNCED = 10_000_000  # of a body that is refused: less than the most that a body may have
SENT = 3_000_000  # more than a stream's window, and than is kept in memory

# Opens as many streams as it is given paths, on one session; resets those that hang after their first line.
NODE_CLIENT = r"""
const http2 = require('node:http2');
const [url, key, ...asked] = process.argv.slice(1);
const session = http2.connect(url);
session.on('error', error => { console.error(error); process.exit(1); });
let open = asked.length;
for (const one of asked) {
  const [path, content] = JSON.parse(one);
  const stream = session.request({':method': 'POST', ':path': path, authorization: 'Bearer ' + key,
                                  'content-type': 'application/json'});
  const told = {path, text: ''};
  stream.on('response', headers => { told.status = headers[':status']; told.type = headers['content-type']; });
  stream.on('data', piece => {
    told.text += piece;
    if (content === 'hang' && told.text.includes('\n')) stream.close(http2.constants.NGHTTP2_CANCEL);
  });
  stream.on('close', () => {
    told.code = stream.rstCode;
    console.log(JSON.stringify(told));
    if (--open === 0) session.close();
  });
  stream.end(JSON.stringify({content}));
}
"""

# On one session: a run that is read from its first line on; meanwhile, one after the other, bodies that are announced
# and of which some bytes or none are sent; then the run to its end.
NODE_STRANGERS = r"""
const http2 = require('node:http2');
const { once } = require('node:events');
const [url, asked] = [process.argv[1], JSON.parse(process.argv[2])];
const session = http2.connect(url);
session.on('error', error => { console.error(error); process.exit(1); });
const open = ({path, headers}) => {
  const stream = session.request({':method': 'POST', ':path': path, ...headers});
  const told = {text: ''};
  stream.on('response', head => { told.status = head[':status']; });
  stream.on('data', piece => { told.text += piece; });
  told.closed = once(stream, 'close').then(() => { told.code = stream.rstCode; });
  return {stream, told};
};
(async () => {
  const run = open(asked.run);
  run.stream.end(asked.run.body);
  await once(run.stream, 'data');
  for (const one of asked.bodies) {
    const {stream, told} = open(one);
    const answered = once(stream, 'end');
    if (one.whole) stream.end(one.body.padEnd(one.sent));
    else if (one.sent) await new Promise(sent => stream.write(Buffer.alloc(one.sent), sent));
    await answered;
    stream.close(); // it keeps the rest
    await told.closed;
    console.log(JSON.stringify({...told, runEnded: 'code' in run.told}));
  }
  await run.told.closed;
  console.log(JSON.stringify(run.told));
  session.close();
})();
"""


class Http2(ServerTest):
    def curl(self, *arguments):
        done = subprocess.run(["curl", "--silent", "--show-error", "--http2-prior-knowledge", *arguments],
                              capture_output=True, timeout=PATIENCE_S, check=False, env=self.server.environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def messages_path(self):
        return f"/v1/conversations/{self.conversation()}/messages"

    def test_I1_curl_streams_a_run(self):
        said = self.curl("--no-buffer", "--write-out", r"%{http_version} %{response_code} %{content_type}",
                         "--header", f"Authorization: Bearer {self.server.bootstrap['service_key']}",
                         "--json", json.dumps({"content": "say one two three"}), self.server.url + self.messages_path())
        lines = said.split(b"\n")
        self.assertEqual(lines.pop(), b"2 200 application/x-ndjson")
        self.assertEqual(text_of(check_stream(lines)).split(), ["one", "two", "three"])

    def test_both_versions_answer_alike(self):
        over_1 = self.client.get("/v1/conversations/conv_00000000000000000000000000")
        over_2 = self.curl("--include", "--header", f"Authorization: Bearer {self.server.bootstrap['service_key']}",
                           self.server.url + "/v1/conversations/conv_00000000000000000000000000")
        head, body = over_2.split(b"\r\n\r\n", 1)
        self.assertTrue(head.startswith(b"HTTP/2 404"), head)
        mine, theirs = json.loads(body), over_1.json()
        del mine["request_id"], theirs["request_id"]
        self.assertEqual(mine, theirs)

    def test_a_body_too_large_is_a_problem_and_not_a_cut(self):
        big = self.server.home / "big"
        big.write_bytes(b" " * 6_000_000)
        said = self.curl("--write-out", "%{response_code}", "--data-binary", f"@{big}",
                         "--header", f"Authorization: Bearer {self.server.bootstrap['service_key']}",
                         "--header", "Content-Type: application/json", self.server.url + self.messages_path())
        self.assertTrue(said.endswith(b"413"), said)
        self.assertIn(b"/problems/content-too-large", said)

    def test_S3_a_caller_without_the_key_is_refused_at_the_head_and_other_streams_continue(self):
        key = {"authorization": f"Bearer {self.server.bootstrap['service_key']}", "content-type": "application/json"}
        made = self.client.post(f"/api/workspaces/{self.server.bootstrap['workspace_id']}/executions", {}).json()
        results = f"/api/agents/{made['id']}/results"
        strangers = [("/v1/skills", {}, "unauthenticated"),
                     ("/v1/skills", {"authorization": "Bearer sk_int_wrong"}, "unauthenticated"),
                     (results, {"authorization": "guess"}, "token-invalid"),
                     (results, {"authorization": made["otp_run"]}, "token-invalid")]
        # Nothing of the body, so that only the head can have been judged; then more than the windows hold, which is let pass.
        refused = [({"path": path, "sent": sent, "headers": headers | {
            "content-type": "multipart/form-data; boundary=edge", "content-length": str(ANNOUNCED)}}, problem)
                   for sent in (0, SENT) for path, headers, problem in strangers]
        taken = {"path": "/v1/agents", "headers": key, "whole": True, "sent": SENT, "body": json.dumps({"name": "large"})}
        asked = {"run": {"path": self.messages_path(), "headers": key, "body": json.dumps({"content": "put On.\ntokens 60 20"})},
                 "bodies": [*(stranger for stranger, _ in refused), taken]}
        done = subprocess.run([shutil.which("node"), "-e", NODE_STRANGERS, self.server.url, json.dumps(asked)],
                              capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        *answers, large, run = map(json.loads, done.stdout.splitlines())
        for answer, (stranger, problem) in zip(answers, refused, strict=True):
            with self.subTest(stranger=stranger):
                self.assertEqual((answer["status"], answer["code"]), (401, 0), answer)
                self.assertTrue(json.loads(answer["text"])["type"].endswith(f"/problems/{problem}"), answer)
        self.assertFalse(answers[0]["runEnded"], "it was under way")
        self.assertEqual((large["status"], large["code"]), (201, 0), large)
        self.assertEqual((run["status"], run["code"]), (200, 0))
        events = check_stream(run["text"].encode().split(b"\n")[:-1])
        self.assertEqual(sum(e["type"] == "content_delta" for e in events), 61)

    def test_two_thousand_streams_at_once_are_served_without_an_error(self):
        done = subprocess.run(["h2load", "--requests=20000", "--clients=20", "--max-concurrent-streams=100",
                               self.server.url + "/healthz"], capture_output=True, text=True, timeout=4 * PATIENCE_S,
                              check=False, env=self.server.environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        counts = dict(reversed(pair.split(" ")) for pair in
                      re.search(r"requests: (.+)", done.stdout)[1].split(", "))
        self.assertEqual((counts["succeeded"], counts["failed"], counts["errored"]), ("20000", "0", "0"), done.stdout)

    def test_node_reads_one_stream_and_leaves_another_of_the_same_session(self):
        asked = [[self.messages_path(), "say hello there"], [self.messages_path(), "hang"],
                 [self.messages_path(), "tokens 50 100"]]
        done = subprocess.run([shutil.which("node"), "-e", NODE_CLIENT, self.server.url,
                               self.server.bootstrap["service_key"], *map(json.dumps, asked)],
                              capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        told = {answer["path"]: answer for answer in map(json.loads, done.stdout.splitlines())}
        said, left, streamed = (told[path] for path, _ in asked)
        self.assertEqual([a["status"] for a in (said, left, streamed)], [200] * 3)
        self.assertEqual([a["code"] for a in (said, left, streamed)], [0, 8, 0])
        self.assertEqual(text_of(check_stream(said["text"].encode().split(b"\n")[:-1])), "hello there")
        events = check_stream(streamed["text"].encode().split(b"\n")[:-1])
        self.assertEqual(sum(e["type"] == "content_delta" for e in events), 50)
        # Who left has left: its connection is not held, and the server goes on.
        wait_until(lambda: b"sluice_http_connections_open 1\n" in self.admin.get("/metrics").body,
                   "the session's connection is closed")


if __name__ == "__main__":
    unittest.main()
