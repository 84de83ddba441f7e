"""What keeps strangers out before any key is looked at: TLS on both sides, rates, and the room for large bodies."""
import json
import re
import socket
import ssl
import subprocess
import unittest

from gate_fixture import Upstream
from http_client import Client, Connection, Truncated, encode_request
from server_process import BINARY, Server, ServerTest, wait_until

LARGE = 3_000_000  # more than is kept in memory, less than the most that a body may have
UPLOAD = 50_000_000  # the same, of what a runner hands back


class Headers(ServerTest):
    def test_no_answer_of_the_api_is_stored_on_its_way_or_taken_for_something_else(self):
        conversation = self.conversation()
        path = f"/v1/conversations/{conversation}/messages"
        stranger = self.server.client("")
        answers = {
            "a list": self.client.get("/v1/conversations"), "an object": self.client.get(f"/v1/conversations/{conversation}"),
            "a creation": self.client.post("/v1/conversations", {}), "a message": self.client.post(path + "?stream=false",
                                                                                                  {"content": "say x"}),
            "a stream": self.client.post(path, {"content": "say x"}), "the health": stranger.get("/readyz"),
            "an operator's list": self.admin.get("/v1/tenants"), "no such thing": self.client.get("/v1/conversations/x"),
            "a stranger's": stranger.get("/v1/conversations"), "a fault": self.client.post("/v1/conversations", b"{"),
            "the console's session": stranger.get("/console/session"),
            "a chat": self.client.get("/api/assistant/chats"), "a thread": self.client.get("/agui?threadId=t"),
        }
        for what, answer in answers.items():
            said = [(name.lower(), value) for name, value in answer.header_list]
            for header in (("cache-control", "no-store"), ("x-content-type-options", "nosniff")):
                self.assertEqual([pair for pair in said if pair[0] == header[0]], [header], what)


class LargeBodies(ServerTest):
    """The head is checked before the body is read, so that clients without a key cannot fill the disk."""

    def spooled_bytes(self):
        """Of files without a name that the server has open in its spool."""
        found = subprocess.run(["find", f"/proc/{self.server.process.pid}/fd", "-lname", "*spool*", "-printf", "%p\n"],
                               capture_output=True, text=True, check=False).stdout.split()
        sizes = subprocess.run(["stat", "-L", "-c", "%s", *found], capture_output=True, text=True).stdout if found else ""
        return sum(map(int, sizes.split()))

    def test_of_strangers_are_not_taken(self):
        for headers in ({}, {"Authorization": "Bearer sk_int_wrong"}, {"Cookie": f"sluice_session_{self.server.port}=AAAA"}):
            with self.subTest(headers=headers), Connection(self.server.host, self.server.port) as connection:
                head = encode_request("POST", "/v1/skills", b"", headers | {"Expect": "100-continue"})
                connection.send(head.replace(b"Content-Length: 0", b"Content-Length: %d" % LARGE))
                answer = connection.response("POST")
                self.assert_problem(answer, 401, "unauthenticated")

    def execution(self, **fields):
        return self.client.post(f"/api/workspaces/{self.server.bootstrap['workspace_id']}/executions", fields).json()

    def uploads(self, made, token, *more):
        """The head of an upload with that token."""
        headers = {"Authorization": token, "Content-Type": "multipart/form-data; boundary=edge"}
        head = encode_request("POST", f"/api/agents/{made['id']}/results", b"", headers | dict(more))
        return head.replace(b"Content-Length: 0", b"Content-Length: %d" % UPLOAD)

    def test_S3_of_those_with_a_token_that_is_not_good_are_not_taken(self):
        made, other, spent = self.execution(), self.execution(), self.execution()
        form = b'--edge\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\nx\r\n--edge--\r\n'
        used = self.server.client("").post(f"/api/agents/{spent['id']}/results", form, {
            "Authorization": spent["otp_upload"], "Content-Type": "multipart/form-data; boundary=edge"})
        self.assertEqual(used.status, 200, used.body)
        for execution, token in ((made, "guess"), (made, made["otp_run"]), (made, other["otp_upload"]),
                                 (spent, spent["otp_upload"])):
            for more in ((), (("Expect", "100-continue"),)):
                with self.subTest(token=token, more=more), Connection(self.server.host, self.server.port) as connection:
                    connection.send(self.uploads(execution, token, *more))
                    answer = connection.response("POST")
                    self.assert_problem(answer, 401, "token-invalid")
                    self.assertEqual(answer.header("connection"), "close")
        with Connection(self.server.host, self.server.port) as connection:
            connection.send(self.uploads(made, made["otp_upload"], ("Expect", "100-continue")))
            self.assertEqual(connection.read_until(b"\r\n\r\n"), b"HTTP/1.1 100 Continue", "it was not spent")

    def test_of_many_strangers_leave_nothing_on_the_disk(self):
        connections = [Connection(self.server.host, self.server.port) for _ in range(20)]
        statuses = []
        for connection in connections:
            head = encode_request("POST", "/v1/skills", b"", {"Authorization": "Bearer sk_int_wrong"})
            connection.send(head.replace(b"Content-Length: 0", b"Content-Length: %d" % LARGE))
            try:
                connection.send(b"x" * (LARGE // 2))
                statuses.append(connection.response("POST").status)
            except (OSError, Truncated):
                pass  # already closed, which is fine, but a reset discards an answer that was not read
        self.assertTrue(statuses)
        self.assertLessEqual(set(statuses), {401, 429})
        self.assertEqual(self.spooled_bytes(), 0)
        for connection in connections:
            connection.close()

    def test_of_those_who_may_are_taken(self):
        with Connection(self.server.host, self.server.port) as connection:
            key = {"Authorization": f"Bearer {self.server.bootstrap['service_key']}"}
            head = encode_request("POST", "/v1/agents", b"", key | {"Expect": "100-continue"})
            connection.send(head.replace(b"Content-Length: 0", b"Content-Length: %d" % LARGE))
            self.assertEqual(connection.read_until(b"\r\n\r\n"), b"HTTP/1.1 100 Continue")
            connection.send(json.dumps({"name": "large", "system_prompt": ""}).ljust(LARGE).encode())
            self.assertEqual(connection.response("POST").status, 201)


class Rates(unittest.TestCase):
    def test_a_key_with_too_many_requests_gets_retry_after(self):
        server = Server("--limits.requests_per_second", "1", "--limits.burst", "5").start()
        self.addCleanup(server.remove)
        statuses = [server.client().get("/v1/agents").status for _ in range(5)]
        self.assertEqual(statuses, [200] * 5)
        refused = wait_until(lambda: (answer := server.client().get("/v1/agents")).status == 429 and answer, "a refusal")
        self.assertTrue(refused.json()["type"].endswith("/problems/rate-limited"))
        self.assertEqual(refused.header("retry-after"), "1")
        self.assertEqual(server.admin().get("/v1/tenants").status, 200, "others are not concerned")
        wait_until(lambda: server.client().get("/v1/agents").status == 200, "another turn")


class Tls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        maker = Upstream("localhost")  # for its certificate
        cls.addClassCleanup(maker.close)
        cls.ca = maker.ca_file
        cls.server = Server("--tls-cert", maker.ca_file, "--tls-key", str(maker.home / "key.pem"))
        cls.addClassCleanup(cls.server.remove)
        cls.server.start()

    def context(self, **settings):
        context = ssl.create_default_context(cafile=self.ca)
        for name, value in settings.items():
            setattr(context, name, value)
        return context

    def greet(self, context, name="localhost"):
        with socket.create_connection((self.server.host, self.server.port), 30) as plain:
            with context.wrap_socket(plain, server_hostname=name) as session:
                return session.version(), session.cipher()[0], session.compression()

    def test_1_2_and_1_3_are_spoken_with_good_ciphers_and_without_compression(self):
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            said, cipher, compression = self.greet(self.context(minimum_version=version, maximum_version=version))
            self.assertEqual(said, version.name.replace("_", "."))
            self.assertRegex(cipher, r"^(ECDHE-.*(GCM|CHACHA20)|TLS_(AES|CHACHA20))")
            self.assertIsNone(compression)

    def test_older_versions_are_refused(self):
        for option in ("-tls1", "-tls1_1"):
            answer = subprocess.run(
                ["openssl", "s_client", "-connect", f"{self.server.host}:{self.server.port}", option, "-cipher",
                 "DEFAULT:@SECLEVEL=0"], input="", capture_output=True, text=True, timeout=30)
            self.assertNotEqual(answer.returncode, 0, answer.stdout)
            self.assertIn("protocol version", answer.stderr.lower())

    def test_ciphers_without_forward_secrecy_or_authentication_of_what_is_said_are_refused(self):
        for ciphers in ("ECDHE+AES:!AESGCM:!AESCCM", "kRSA", "3DES:@SECLEVEL=0"):
            context = self.context(maximum_version=ssl.TLSVersion.TLSv1_2)
            try:
                context.set_ciphers(ciphers)
            except ssl.SSLError:
                continue  # this OpenSSL does not know them any more
            with self.subTest(ciphers=ciphers), self.assertRaises((ssl.SSLError, ConnectionError)):
                self.greet(context)

    def test_no_client_may_renegotiate(self):
        with socket.create_connection((self.server.host, self.server.port), 30):
            answer = subprocess.run(
                ["openssl", "s_client", "-connect", f"{self.server.host}:{self.server.port}", "-tls1_2", "-quiet"],
                input="R\n", capture_output=True, text=True, timeout=60)
        self.assertNotIn("RENEGOTIATING\ndepth", answer.stderr)

    def test_the_name_that_a_client_asks_for_changes_nothing(self):
        context = self.context(check_hostname=False)
        for name in ("localhost", "elsewhere.example", None):
            self.assertEqual(self.greet(context, name)[0], "TLSv1.3")

    def test_a_client_that_checks_the_name_notices_another(self):
        with self.assertRaises(ssl.SSLCertVerificationError):
            self.greet(self.context(), "elsewhere.example")

    def test_only_browsers_get_the_header_that_requires_tls(self):
        client = Client(self.server.host, self.server.port, "", tls=self.context(check_hostname=False))
        self.assertRegex(client.get("/console").header("strict-transport-security"), r"^max-age=\d{8}")
        self.assertIsNone(client.get("/healthz").header("strict-transport-security"))
        plain = Server().start()
        self.addCleanup(plain.remove)
        self.assertIsNone(plain.client("").get("/console").header("strict-transport-security"))

    def test_the_consoles_cookie_is_bound_to_this_host(self):
        client = Client(self.server.host, self.server.port, "", tls=self.context(check_hostname=False))
        answer = client.post("/console/session", {"key": self.server.bootstrap["service_key"]})
        name, attributes = answer.header("set-cookie").split("=", 1)
        self.assertEqual(name, f"__Host-sluice_session_{self.server.port}")
        self.assertIn("Secure", attributes.split("; "))
        self.assertIn("Path=/", attributes.split("; "))
        self.assertNotIn("Domain", attributes)
        again = client.request("GET", "/console/session", None, {"Cookie": f"{name}={attributes.split(';')[0]}"})
        self.assertEqual(again.status, 200, again.body)


class TheOtherEnd(unittest.TestCase):
    """What this server calls must prove who it is."""

    def ask_model_at(self, upstream, *flags):
        server = Server("--models.retry_count_max", "1", *flags,
                        env={"ANTHROPIC_API_KEY": "sk-ant-x", "ANTHROPIC_BASE_URL": upstream.url})
        self.addCleanup(server.remove)
        server.start()
        agent = server.client().post("/v1/agents", {"name": "far", "model": {"provider": "anthropic", "name": "m"}}).json()
        conversation = server.client().post("/v1/conversations", {"agent_id": agent["id"]}).json()["id"]
        return server.client().post(f"/v1/conversations/{conversation}/messages?stream=false", {"content": "hi"},
                                    patience_s=120)

    def test_an_untrusted_certificate_is_refused_and_no_key_is_sent(self):
        upstream = Upstream("localhost")
        self.addCleanup(upstream.close)
        answer = self.ask_model_at(upstream)
        self.assertGreaterEqual(answer.status, 500, answer.body)
        self.assertEqual(upstream.seen(), [])
        self.assertNotIn(b"sk-ant-x", answer.body)

    def test_one_that_the_operator_vouches_for_is(self):
        upstream = Upstream("localhost", respond=lambda request: (400, {"Content-Type": "application/json"},
                                                                  [b'{"error":{"message":"no"}}']))
        self.addCleanup(upstream.close)
        self.ask_model_at(upstream, "--models.ca_file", upstream.ca_file)
        self.assertGreaterEqual(len(upstream.seen()), 1)


class Libraries(unittest.TestCase):
    # What comes with the compiler, or by way of another library.
    OF_THE_SYSTEM = {"libc", "libm", "libstdc++", "libgcc_s", "ld-linux-x86-64", "libasan", "libubsan", "libdl", "libpthread", "libresolv"}

    def test_are_listed_with_their_versions_all_of_them(self):
        dynamic = subprocess.run(["readelf", "-d", BINARY], capture_output=True, text=True, check=True).stdout
        needed = {re.sub(r"\.so.*", "", name) for name in re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic)}
        told = json.loads(subprocess.run([BINARY, "version", "--json"], capture_output=True, check=True).stdout)
        self.assertEqual(set(told["libraries"]), needed - self.OF_THE_SYSTEM)
        for name, version in told["libraries"].items():
            self.assertRegex(version, r"^\d+\.\d+", name)
        words = subprocess.run([BINARY, "--version", "--verbose"], capture_output=True, text=True, check=True).stdout
        for name, version in told["libraries"].items():
            self.assertIn(f"{name} {version}\n", words)


if __name__ == "__main__":
    unittest.main()
