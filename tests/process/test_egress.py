"""The way out of a box, through the real server, real boxes and a real host with TLS (I-17): secrets by alias that no
agent ever sees, and everything else kept in."""
import base64
import json
import os
import pathlib
import shutil
import threading
import unittest
import urllib.parse

from gate_fixture import Approver, GateTest, Upstream
from server_process import PATIENCE_S, Server, wait_until

# Looks for the value wherever a file or a socket can be read; knows it backwards only, so as not to find itself.
SEARCH = """
import os, socket
needle, looked, found = "{reversed}"[::-1].encode(), 0, []
def look(where, data):
    global looked
    looked += 1
    if needle in data: found.append(where)
for top, directories, names in os.walk("/"):
    if top == "/": directories[:] = [d for d in directories if d not in ("usr", "lib", "lib64", "bin", "sbin")]
    for name in names:
        path = os.path.join(top, name)
        if name in ("mem", "kmsg", "pagemap") or not os.access(path, os.R_OK): continue
        try:
            with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file: look(path, file.read(1 << 22) or b"")
        except OSError: pass
for ask in (b"GET / HTTP/1.1\\r\\n\\r\\n", b"CONNECT crm.example:443 HTTP/1.1\\r\\n\\r\\n", b"\\x16\\x03\\x01", b""):
    with socket.create_connection(("127.0.0.1", 3128), 5) as proxy:
        proxy.sendall(ask)
        proxy.shutdown(socket.SHUT_WR)
        proxy.settimeout(5)
        try: look("proxy", proxy.recv(65536))
        except OSError: pass
print("looked at", looked, "places, found", len(found), *found)
"""
# Asks again and again for a host that no rule allows, over one connection.
FLOOD = """
import http.client
proxy, refused = http.client.HTTPConnection("127.0.0.1", 3128), 0
for _ in range({count}):
    proxy.request("GET", "http://unknown.example/")
    answer = proxy.getresponse()
    answer.read()
    refused += answer.status == 403
print("refused", refused)
"""
SECRET = "crm-k3y/With+Odd=Letters&é-0123456789"


class EgressTest(GateTest):
    @classmethod
    def setUpClass(cls):
        cls.upstream = Upstream()
        cls.addClassCleanup(cls.upstream.close)
        cls.flags = ("--sandbox.driver", "namespaces", "--egress.host_addresses",
                     "crm.example 127.0.0.1|other.example 127.0.0.1|rebound.example 169.254.169.254",
                     "--egress.private_addresses", "127.0.0.0/8", "--egress.ca_file", cls.upstream.ca_file)
        super().setUpClass()

    def setUp(self):
        self.upstream.requests.clear()
        self.upstream.respond = lambda request: (200, {}, [b'{"invoices":14}'])
        self.policy({"effect": "allow", "host": "crm.example", "secrets": ["CRM_API_KEY"]},
                    {"effect": "allow", "host": "other.example"})

    def ask(self, script, conversation=None, **fields):
        stream = self.client.send(conversation or self.conversation(), script, query="?detail=full", **fields)
        with stream.connection:
            self.run_id = stream.header("x-run-id")
            events = [json.loads(line) for line in stream.lines()]
        return events

    def answer_of(self, script, conversation=None):
        events = self.ask(script, conversation)
        self.assertEqual(events[-1]["type"], "message_end", events[-1])
        return events[-1]["data"]["message"]["content"]

    def with_secret(self, **bindings):
        conversation = self.conversation()
        value = {"value": SECRET} | bindings if bindings else SECRET
        answer = self.client.request("PUT", f"/v1/conversations/{conversation}/secrets",
                                     {"secrets": {"CRM_API_KEY": value}})
        self.assertEqual(answer.status, 200, answer.body)
        self.assertNotIn(SECRET, answer.body.decode())
        return conversation

    def egress_log(self):
        answer = self.client.get(f"/v1/runs/{self.run_id}/egress?limit=100")
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json()["data"]


class Weave(EgressTest):
    """The contract's example of a pause, with the deed itself: the alias is not on file, the request waits."""

    def weave(self, mode):
        conversation = self.conversation(runtime={"mode": mode})
        stream = self.client.send(conversation, "\n".join([
            "put Starting the reconciliation. ",
            f"$ curl -sS {self.upstream.url}/invoices -H 'Authorization: Bearer {{{{secret:CRM_API_KEY}}}}'",
            "say Reconciled against the CRM using {{secret:CRM_API_KEY}}: {{last}}"]))
        self.addCleanup(stream.close)
        lines = stream.lines()
        events = self.until_gate(lines)
        return conversation, lines, events

    def test_I14_I16_I17_a_request_waits_for_its_secret_and_goes_through_with_it_under_both_placements(self):
        for mode in ("sticky", "pooled"):
            with self.subTest(mode):
                self.upstream.requests.clear()
                conversation, lines, events = self.weave(mode)
                approval = events[-1]["data"]
                item = approval["requested_items"][0]
                self.assertEqual((item["kind"], item["alias"], item["hosts"]), ("secret", "CRM_API_KEY", ["crm.example"]))
                self.assertEqual(self.upstream.seen(), [], "nothing was sent before")
                answer = self.approve(approval["id"], secrets={"CRM_API_KEY": SECRET})
                self.assertEqual(answer.status, 200, answer.body)
                events += [json.loads(line) for line in lines]
                self.assertEqual([e["type"] for e in events][:4],
                                 ["message_start", "content_delta", "approval_required", "resumed"])
                self.assertEqual(events[-1]["type"], "message_end", events[-1])
                self.assertEqual([e["seq"] for e in events], list(range(len(events))))
                content = events[-1]["data"]["message"]["content"]
                self.assertIn('{"invoices":14}', content)
                self.assertNotIn(SECRET, json.dumps(events))
                seen = self.upstream.seen()
                self.assertEqual([r["headers"]["Authorization"] for r in seen],
                                 [("Bearer " + SECRET).encode().decode("latin-1")])

    def test_I17_afterwards_the_value_is_nowhere_on_this_machine_but_in_the_host_it_was_for(self):
        _, lines, events = self.weave("sticky")
        self.approve(events[-1]["data"]["id"], secrets={"CRM_API_KEY": SECRET})
        list(lines)
        needles = [SECRET.encode(), base64.b64encode(SECRET.encode()), urllib.parse.quote(SECRET, safe="").encode()]

        def assert_clean(where, data):
            for needle in needles:
                self.assertNotIn(needle, data, where)

        for path in [p for p in self.server.data.rglob("*") if p.is_file() and not p.is_symlink()]:
            try:
                assert_clean(path, path.read_bytes())
            except OSError:
                continue
        assert_clean("log", self.server.log().encode())
        assert_clean("metrics", self.admin.get("/metrics").body)
        for run in self.client.get("/v1/runs?limit=100").json()["data"]:
            for kind in ("stream.jsonl", "steps.json", "result.json"):
                assert_clean(kind, self.client.get(f"/v1/runs/{run['id']}/{kind}").body)
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                environment = (process / "environ").read_bytes() + (process / "cmdline").read_bytes()
            except OSError:
                continue
            if process.name != str(os.getpid()):
                assert_clean(process, environment)


class Death(unittest.TestCase):
    def test_I16_what_an_approval_let_out_is_not_sent_again_after_the_server_died(self):
        for mode in ("pooled", "sticky"):
            with self.subTest(mode):
                arrived, go_on = threading.Event(), threading.Event()

                def respond(_, arrived=arrived, go_on=go_on):
                    arrived.set()
                    go_on.wait(PATIENCE_S)
                    return 200, {}, [b"late"]

                upstream = Upstream(respond=respond)
                self.addCleanup(upstream.close)
                server = Server("--sandbox.driver", "namespaces", "--egress.host_addresses", "crm.example 127.0.0.1",
                                "--egress.private_addresses", "127.0.0.0/8", "--egress.ca_file", upstream.ca_file).start()
                self.addCleanup(server.remove)
                client, approver = server.client(), Approver.of(server)
                agent = client.get("/v1/agents").json()["data"][0]["id"]
                client.patch(f"/v1/agents/{agent}", {"policy": [
                    {"effect": "allow", "host": "crm.example", "secrets": ["K_EY"]}]})
                conversation = client.post("/v1/conversations", {"runtime": {"mode": mode}}).json()["id"]
                stream = client.send(conversation, f"$ curl -sS {upstream.url}/x --data '{{{{secret:K_EY}}}}'\nsay ok")
                self.addCleanup(stream.close)
                approval = next(e for e in map(json.loads, stream.lines()) if e["type"] == "approval_required")["data"]
                decided = client.post(f"/v1/approvals/{approval['id']}/approve", {
                    "signature": approver.signature(approval["id"]), "secrets": {"K_EY": SECRET}})
                self.assertEqual(decided.status, 200, decided.body)
                self.assertTrue(arrived.wait(PATIENCE_S), "the request arrives")
                server.kill()
                server.start()
                message = wait_until(lambda: [m for m in server.client().get(
                    f"/v1/conversations/{conversation}/messages").json()["data"] if m["status"] == "failed"], "it ends")[0]
                last = json.loads(server.client().events(message["id"])[-1])
                self.assertEqual(last["data"]["type"].rsplit("/", 1)[-1], "run-interrupted")
                go_on.set()
                self.assertEqual([r["method"] for r in upstream.seen()], ["POST"])
                server.stop()


class Substitution(EgressTest):
    def test_I17_the_alias_is_replaced_in_headers_basic_query_and_body_with_right_lengths(self):
        conversation = self.with_secret(hosts=["crm.example"], places=["header", "basic", "query", "body"])
        url = self.upstream.url
        self.answer_of("\n".join([
            f"$ curl -sS {url}/h -H 'X-Key: {{{{secret:CRM_API_KEY}}}}'",
            f"$ curl -sS {url}/b -u 'me:{{{{secret:CRM_API_KEY}}}}'",
            f"$ curl -sS -g '{url}/q?key={{{{secret:CRM_API_KEY}}}}&x=1'",
            f"$ curl -sS {url}/p -H 'Content-Type: application/json' -d '{{\"key\":\"{{{{secret:CRM_API_KEY}}}}\"}}'",
            f"$ curl -sS {url}/f --data-urlencode 'key={{{{secret:CRM_API_KEY}}}}'",
        ]), conversation)
        header, basic, query, body, form = self.upstream.seen()
        self.assertEqual(header["headers"]["X-Key"].encode("latin-1").decode(), SECRET)
        self.assertEqual(base64.b64decode(basic["headers"]["Authorization"].split()[1]).decode(), "me:" + SECRET)
        self.assertEqual(urllib.parse.parse_qs(query["path"].split("?")[1]), {"key": [SECRET], "x": ["1"]})
        self.assertEqual(json.loads(body["body"]), {"key": SECRET})
        self.assertEqual(urllib.parse.parse_qs(form["body"].decode()), {"key": [SECRET]})

    def test_I17_a_large_body_is_streamed_and_the_alias_in_it_replaced(self):
        conversation = self.with_secret(places=["body"])
        self.answer_of("\n".join([
            "$ python3 -c \"import sys; sys.stdout.write('a'*3000000 + '{{' + 'secret:CRM_API_KEY}}' + 'b'*3000000)\" > big",
            f"$ curl -sS {self.upstream.url}/big -H 'Content-Type: application/octet-stream' --data-binary @big"]),
            conversation)
        body = self.upstream.seen()[0]["body"]
        self.assertEqual(body, b"a" * 3_000_000 + SECRET.encode() + b"b" * 3_000_000)

    def test_I17_what_a_host_echoes_comes_back_as_the_alias_however_it_is_cut_or_coded(self):
        raw, coded = SECRET.encode(), base64.b64encode(b"me:" + SECRET.encode())
        self.upstream.respond = lambda request: (200, {"X-Echo": SECRET.encode().decode("latin-1")}, [
            b"plain ", raw[:9], raw[9:], b" base64 ", coded[:7], coded[7:], b" url ",
            urllib.parse.quote(SECRET, safe="").encode(), b" end"])
        said = self.answer_of(f"$ curl -sS -i {self.upstream.url}/echo -H 'X-Key: {{{{secret:CRM_API_KEY}}}}'\nsay {{{{last}}}}",
                              self.with_secret())
        self.assertIn("plain {{secret:CRM_API_KEY}} base64 ", said)
        self.assertIn(" end", said)
        for coding in (SECRET, base64.b64encode(SECRET.encode()).decode()[:-4], urllib.parse.quote(SECRET, safe="")):
            self.assertNotIn(coding, said)
        self.assertGreaterEqual(said.count("{{secret:CRM_API_KEY}}"), 4)

    def test_I17_tools_inside_trust_the_way_out_without_any_setup(self):
        conversation = self.with_secret()
        url = self.upstream.url
        tools = {
            "curl": f"curl -sS {url}/t",
            "python3": f"python3 -c \"import urllib.request as u; print(u.urlopen('{url}/t').read().decode())\"",
            "node": "node -e \"const u = new URL('" + url + "'); require('http').request({host: '127.0.0.1', port: 3128, "
                    "method: 'CONNECT', path: u.host}).on('connect', (_, socket) => require('https').get({host: u.hostname, port: u.port, "
                    "path: '/t', socket, agent: false}, r => r.pipe(process.stdout))).end()\"",
        }
        for name, command in tools.items():
            if shutil.which(name, path="/usr/bin:/bin"):
                with self.subTest(name):
                    self.assertIn("14", self.answer_of(f"$ {command}\nsay {{{{last}}}}", conversation))
        self.assertIn("not found", self.answer_of(
            f"$ git ls-remote {url}/repo.git 2>&1 | grep -ci certificate || echo certificate trouble not found\nsay {{{{last}}}}",
            conversation))


class KeptIn(EgressTest):
    def refused(self, command, status="403", conversation=None):
        said = self.answer_of(f"$ {command}\nsay {{{{last}}}}", conversation)
        self.assertIn(status, said)
        return said

    def code(self, url, more=""):
        return f"curl --noproxy '' -s -o /dev/null -w '%{{http_code}} %{{http_connect}}' {more} {url}"

    def test_I17_what_no_rule_allows_does_not_leave(self):
        said = self.refused(self.code("https://unknown.example/"))
        self.assertTrue(said)
        self.refused(self.code("http://169.254.169.254/latest/meta-data/"))
        self.refused(self.code(f"https://127.0.0.1:{self.upstream.port}/"))
        self.policy({"effect": "allow", "host": "*"})
        self.refused(self.code("https://rebound.example/"))
        self.refused(self.code(f"https://127.0.0.1:{self.upstream.port}/"))
        self.assertEqual(self.upstream.seen(), [])
        log = self.egress_log()
        self.assertTrue(log and log[-1]["refused"], log)

    def test_I17_an_alias_for_another_host_is_refused_and_logged_and_not_sent(self):
        conversation = self.with_secret(hosts=["crm.example"])
        self.policy({"effect": "allow", "host": "crm.example"}, {"effect": "allow", "host": "other.example", "secrets": ["OTHER"]})
        self.refused(self.code(f"https://other.example:{self.upstream.port}/x", "-k -H 'X-Key: {{secret:CRM_API_KEY}}'"),
                     conversation=conversation)
        self.assertEqual(self.upstream.seen(), [])
        self.assertTrue(any("CRM_API_KEY" in json.dumps(e) and e["refused"] for e in self.egress_log()))

    def test_I17_without_places_a_secret_stands_in_headers_only(self):
        conversation = self.with_secret(hosts=["crm.example"])
        self.refused(self.code(f"'{self.upstream.url}/?k={{{{secret:CRM_API_KEY}}}}'", "-g"), conversation=conversation)
        self.refused(self.code(f"{self.upstream.url}/", "-d 'k={{secret:CRM_API_KEY}}'"), conversation=conversation)
        self.assertEqual(self.upstream.seen(), [])
        self.answer_of(f"$ curl -sS {self.upstream.url}/ -u 'me:{{{{secret:CRM_API_KEY}}}}'", conversation)
        self.assertEqual(len(self.upstream.seen()), 1)

    def test_I17_a_tunnel_leads_to_no_port_that_no_rule_names(self):
        self.policy({"effect": "allow", "host": "crm.example"})
        url = f"https://crm.example:{self.upstream.port}/"
        self.refused(self.code(url, "-k"))
        self.assertEqual(self.upstream.seen(), [])
        self.policy({"effect": "allow", "host": "crm.example", "ports": [self.upstream.port]})
        self.answer_of(f"$ curl -sSk {url}")
        self.assertEqual(len(self.upstream.seen()), 1)

    def test_I17_a_place_that_is_not_allowed_and_a_value_that_would_split_a_header_are_refused(self):
        conversation = self.with_secret(hosts=["crm.example"], places=["header"])
        self.refused(self.code(f"'{self.upstream.url}/?k={{{{secret:CRM_API_KEY}}}}'", "-g"), conversation=conversation)
        self.client.request("PUT", f"/v1/conversations/{conversation}/secrets",
                            {"secrets": {"CRM_API_KEY": "a-value\r\nX-Injected: yes"}})
        self.refused(self.code(f"{self.upstream.url}/", "-H 'X-Key: {{secret:CRM_API_KEY}}'"), conversation=conversation)
        self.assertEqual(self.upstream.seen(), [])

    def test_I17_an_agent_that_searches_everything_finds_nothing(self):
        conversation = self.with_secret()
        program = base64.b64encode(SEARCH.format(reversed=SECRET[:12][::-1]).encode()).decode()
        said = self.answer_of("\n".join([
            f"$ curl -sS {self.upstream.url}/x -H 'X-Key: {{{{secret:CRM_API_KEY}}}}' -o answer & echo {program} | "
            "base64 -d > search.py; python3 search.py; wait; python3 search.py",
            "say {{last}}"]), conversation)
        self.assertRegex(said, r"looked at \d{3,} places, found 0\n.*looked at \d{3,} places, found 0", said)
        self.assertEqual(len(self.upstream.seen()), 1)

    def test_a_sandbox_that_is_refused_again_and_again_fills_neither_its_journal_nor_the_log(self):
        count = 1_100
        program = base64.b64encode(FLOOD.format(count=count).encode()).decode()
        logged = self.server.log().count("egress refused")
        said = self.answer_of(f"$ echo {program} | base64 -d > flood.py; python3 flood.py\nsay {{{{last}}}}")
        self.assertIn(f"refused {count}", said)
        entries, page = [], {"next_cursor": "0"}
        while page["next_cursor"]:
            page = self.client.get(f"/v1/runs/{self.run_id}/egress?limit=100&starting_after={page['next_cursor']}").json()
            entries += page["data"]
        single = [entry for entry in entries if "more" not in entry]
        summed = [entry for entry in entries if "more" in entry]
        self.assertEqual(len(single), 1_000)
        self.assertEqual({entry["host"] for entry in summed}, {"unknown.example"})
        self.assertEqual((sum(e["more"] for e in summed), sum(e["more_refused"] for e in summed)), (100, 100))
        self.assertLessEqual(self.server.log().count("egress refused") - logged, 1_001)

    def test_I17_a_secret_of_the_tenant_is_found_by_no_guess_of_an_agent_that_may_not_use_it(self):
        guesses = "$ seq -w 47110814 47110816\nsay {{last}}"
        put = self.client.request("PUT", "/v1/secrets", {"secrets": {"PIN": "47110815"}})
        self.assertEqual(put.status, 200, put.body)
        self.addCleanup(self.client.delete, "/v1/secrets/PIN")
        self.assertEqual(self.client.request("PUT", "/v1/secrets", {"secrets": {"SHORT": "4711"}}).status, 422)
        self.assertIn("47110814\n47110815\n47110816", self.answer_of(guesses))
        self.policy({"effect": "allow", "host": "crm.example", "secrets": ["PIN"]})
        self.assertIn("47110814\n{{secret:PIN}}\n47110816", self.answer_of(guesses))

    def test_an_agent_cannot_decide_its_own_gate(self):
        events = self.ask(f"$ curl -s -o /dev/null -w '%{{http_code}}' -X POST {self.server.url}/v1/approvals/x/approve; "
                          "echo; echo after\nsay {{last}}")
        said = events[-1]["data"]["message"]["content"]
        self.assertRegex(said, r"^(403|000)")

    def test_I17_the_log_of_a_run_names_hosts_and_aliases_and_no_value(self):
        self.answer_of(f"$ curl -sS {self.upstream.url}/a?q=1 -H 'X-Key: {{{{secret:CRM_API_KEY}}}}'", self.with_secret())
        entry = self.egress_log()[0]
        self.assertEqual((entry["host"], entry["method"], entry["status"], entry["aliases"], entry["refused"]),
                         ("crm.example", "GET", 200, ["CRM_API_KEY"], None))
        self.assertGreater(entry["received_bytes"], 0)
        self.assertNotIn("q=1", json.dumps(entry))

    def test_I17_archiving_destroys_the_secrets(self):
        conversation = self.with_secret()
        self.assertEqual(self.client.delete(f"/v1/conversations/{conversation}").status, 204)
        self.client.patch(f"/v1/conversations/{conversation}", {"status": "active"})
        self.assertEqual(self.client.get(f"/v1/conversations/{conversation}/secrets").json()["data"], [])


if __name__ == "__main__":
    unittest.main()
