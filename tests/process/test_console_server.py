"""The console's server side, through the real interface: logging in, what a cookie may do and what it may not, the
pages and their headers, and what a restart leaves of a session."""
import gzip
import json
import re
import subprocess
import unittest

from ports import lasting_port
from server_process import BINARY, ROOT, Server, ServerTest, wait_until

PAGE_HEADERS = {
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "content-security-policy":
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
        "font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
}


class Browser:
    """One cookie, and the token that belongs to it."""

    def __init__(self, server):
        self.client = server.client(key="")
        self.origin = f"http://{server.host}:{server.port}"
        self.cookie = self.csrf = None

    def ask(self, method, path, body=None, **headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.cookie:
            named["Cookie"] = f"theme=dark; {self.cookie}"
        return self.client.request(method, path, body, named)

    def change(self, method, path, body=None):
        """As the page does it."""
        return self.ask(method, path, body, X_CSRF_Token=self.csrf, Origin=self.origin, Sec_Fetch_Site="same-origin")

    def log_in(self, **with_what):
        answer = self.ask("POST", "/console/session", with_what, Origin=self.origin)
        if answer.status == 200:
            self.cookie = answer.header("set-cookie").split(";")[0]
            self.csrf = answer.json()["csrfToken"]
        return answer


def code_of(text):
    return re.search(r"http://\S+/console/#code=([\w-]+)", text).group(1)


class Console(ServerTest):
    def browser(self, **with_what):
        browser = Browser(self.server)
        if with_what:
            self.assertEqual(browser.log_in(**with_what).status, 200)
        return browser

    def service_browser(self):
        return self.browser(key=self.server.bootstrap["service_key"])

    def cli(self, *words):
        return subprocess.run([str(BINARY), *words, "--data", str(self.server.data)], capture_output=True, text=True,
                              env=self.server.environment(), timeout=60)

    def assert_page_headers(self, answer, what):
        for name, value in PAGE_HEADERS.items():
            self.assertEqual(answer.header(name), value, f"{name} of {what}")

    # ── logging in ──

    def test_a_service_key_opens_a_session_and_its_cookie_is_kept_from_scripts_and_other_sites(self):
        browser = Browser(self.server)
        answer = browser.log_in(key=self.server.bootstrap["service_key"])
        self.assertEqual(answer.status, 200, answer.body)
        cookie = answer.header("set-cookie")
        self.assertTrue(cookie.startswith(f"sluice_session_{self.server.port}="), "neighbours on this machine have others")
        named = re.search(r"consoleSession:\n.*\n.*\n      name: (\S+)", (ROOT / "openapi" / "openapi.yaml").read_text())[1]
        self.assertEqual(cookie.split("=")[0], named.replace("8080", str(self.server.port)), "I-23")
        page = self.server.client("").get("/docs").body.decode()
        self.assertIn(f"-b &quot;{named}=$SESSION&quot;", page)
        for attribute in ("HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"):
            self.assertIn(attribute, cookie.split("; "))
        self.assertNotIn("Secure", cookie)
        session = answer.json()
        self.assertEqual(session["kind"], "service")
        self.assertEqual(session["tenant"]["id"], self.server.bootstrap["tenant_id"])
        self.assertEqual(session["workspaceId"], self.server.bootstrap["workspace_id"])
        self.assertEqual(browser.ask("GET", "/console/session").json(), session)
        self.assertEqual(browser.ask("GET", "/v1/runs").status, 200)
        self.assertEqual(browser.change("POST", "/v1/conversations", {}).status, 201)
        self.assert_problem(browser.ask("GET", "/v1/tenants"), 403, "insufficient-scope")

    def test_the_command_prints_a_url_that_opens_the_console_once(self):
        printed = self.cli("console")
        self.assertEqual(printed.returncode, 0, printed.stderr)
        code = code_of(printed.stdout)
        browser = self.browser(code=code)
        session = browser.ask("GET", "/console/session").json()
        self.assertEqual((session["kind"], session["tenant"]["id"]), ("admin", self.server.bootstrap["tenant_id"]))
        self.assertEqual(browser.ask("GET", "/v1/tenants").status, 200)
        self.assertEqual(browser.ask("GET", "/v1/agents").status, 200)
        self.assert_problem(Browser(self.server).log_in(code=code), 401, "unauthenticated")

    def test_the_admin_key_acts_in_the_tenant_that_is_chosen(self):
        browser = self.browser(key=self.server.bootstrap["admin_key"])
        self.assertIsNone(browser.ask("GET", "/console/session").json()["tenant"])
        self.assert_problem(browser.ask("GET", "/v1/agents"), 403, "insufficient-scope")
        tenant = browser.change("POST", "/v1/tenants", {"name": "acted-in"}).json()["id"]
        chosen = browser.change("PATCH", "/console/session", {"tenantId": tenant})
        self.assertEqual(chosen.status, 200, chosen.body)
        browser.cookie = chosen.header("set-cookie").split(";")[0]
        made = browser.change("POST", "/v1/conversations", {})
        self.assertEqual(made.status, 201, made.body)
        self.assert_problem(self.client.get(f"/v1/conversations/{made.json()['id']}"), 404, "not-found")
        audit = self.admin.get(f"/v1/admin/audit?limit=100&tenant_id={tenant}").json()["data"]
        self.assertIn("console.tenant_chosen", [entry["action"] for entry in audit])

    def test_a_revoked_key_ends_its_sessions(self):
        tenant = self.server.bootstrap["tenant_id"]
        key = self.admin.post(f"/v1/tenants/{tenant}/keys", {"name": "soon gone"}).json()
        browser = self.browser(key=key["secret"])
        self.assertEqual(browser.ask("GET", "/v1/runs").status, 200)
        self.admin.request("DELETE", f"/v1/tenants/{tenant}/keys/{key['id']}")
        self.assert_problem(browser.ask("GET", "/v1/runs"), 401, "unauthenticated")

    def test_logging_out_ends_the_session_for_every_holder_of_its_cookie(self):
        browser = self.service_browser()
        ended = browser.change("DELETE", "/console/session")
        self.assertEqual(ended.status, 204)
        self.assertIn("Max-Age=0", ended.header("set-cookie"))
        self.assert_problem(browser.ask("GET", "/v1/runs"), 401, "unauthenticated")

    def test_servers_that_share_a_machine_keep_their_sessions_apart(self):
        neighbour = Server().start()
        self.addCleanup(neighbour.remove)
        here, there = self.service_browser(), Browser(neighbour)
        self.assertEqual(there.log_in(key=neighbour.bootstrap["service_key"]).status, 200)
        jar = dict(browser.cookie.split("=", 1) for browser in (here, there))  # one for the host, whatever the port
        here.cookie = there.cookie = "; ".join(f"{name}={value}" for name, value in jar.items())
        for browser in (here, there):
            self.assertEqual(browser.ask("GET", "/console/session").status, 200)
        self.assertEqual(there.change("DELETE", "/console/session").status, 204)
        self.assertEqual(here.ask("GET", "/console/session").status, 200)

    # ── what keeps other sites out ──

    def test_what_changes_something_needs_the_token_and_our_own_page(self):
        browser = self.service_browser()
        other = self.service_browser()
        token, own = browser.csrf, browser.origin
        refused = {
            "no token": {},
            "a wrong token": {"X_CSRF_Token": "x" * 43},
            "an empty token": {"X_CSRF_Token": ""},
            "another session's token": {"X_CSRF_Token": other.csrf},
            "another origin": {"X_CSRF_Token": token, "Origin": "https://evil.example"},
            "an opaque origin": {"X_CSRF_Token": token, "Origin": "null"},
            "another port": {"X_CSRF_Token": token, "Origin": own + "0"},
            "another site": {"X_CSRF_Token": token, "Sec_Fetch_Site": "cross-site"},
            "a neighbour": {"X_CSRF_Token": token, "Origin": own, "Sec_Fetch_Site": "same-site"},
        }
        for what, headers in refused.items():
            with self.subTest(what):
                self.assert_problem(browser.ask("POST", "/v1/conversations", {}, **headers), 403, "csrf")
        taken = {
            "a token": {"X_CSRF_Token": token},
            "a token and the origin": {"X_CSRF_Token": token, "Origin": own},
            "a page of ours": {"X_CSRF_Token": token, "Origin": own, "Sec_Fetch_Site": "same-origin"},
        }
        for what, headers in taken.items():
            with self.subTest(what):
                self.assertEqual(browser.ask("POST", "/v1/conversations", {}, **headers).status, 201)
        self.assertEqual(browser.ask("GET", "/v1/runs").status, 200, "reading needs no token")
        self.assert_problem(Browser(self.server).ask("POST", "/console/session", {"key": "x"}, Origin="http://evil"),
                            403, "csrf")

    def test_a_forged_or_doubled_cookie_is_refused(self):
        browser = self.service_browser()
        good = browser.cookie
        for cookie in (good[:-1] + ("A" if good[-1] != "A" else "B"), f"sluice_session_{self.server.port}=", good + "; " + good,
                       good.replace("sluice_session", "Sluice_Session")):
            browser.cookie = cookie
            self.assert_problem(browser.ask("GET", "/v1/runs"), 401, "unauthenticated")

    def test_a_cookie_opens_nothing_that_is_for_runners(self):
        browser = self.browser(code=code_of(self.cli("console").stdout))
        execution = browser.change("POST", f"/api/workspaces/{self.server.bootstrap['workspace_id']}/executions", {})
        self.assertEqual(execution.status, 201, execution.body)
        for part in ("env", "config", "skills"):
            self.assertEqual(browser.ask("GET", f"/api/agents/{execution.json()['id']}/{part}").status, 401)
        self.assertEqual(browser.change("POST", "/sandbox/stream", {}).status, 401)

    # ── the pages ──

    def test_the_page_and_its_parts_come_with_strict_headers_and_without_a_word_from_elsewhere(self):
        browser = Browser(self.server)
        page = browser.ask("GET", "/console")
        self.assertEqual((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"))
        self.assertEqual(page.header("cache-control"), "no-cache")
        html = page.body.decode()
        self.assertNotRegex(html, r"(src|href)=\"?(https?:)?//", "everything is served from here")
        self.assertNotRegex(html, r"<script(?![^>]*\bsrc=)|\sstyle=|\son\w+=", "the policy would not let it run")
        parts = re.findall(r"/console/assets/[\w.-]+", html)
        self.assertTrue(parts)
        for part in parts:
            answer = browser.ask("GET", part, Accept_Encoding="gzip")
            self.assertEqual(answer.status, 200, part)
            self.assertEqual(answer.header("cache-control"), "public, max-age=31536000, immutable")
            self.assert_page_headers(answer, part)
            if answer.header("content-encoding") == "gzip":
                self.assertEqual(gzip.decompress(answer.body), browser.ask("GET", part).body)
        for path in ("/console", "/console/", "/console/runs/run_x/deep/er", "/console/assets/none.js",
                     "/console/session", "/console/%3Cscript%3E"):
            self.assert_page_headers(browser.ask("GET", path), path)
        self.assertEqual(browser.ask("GET", "/console/assets/none.js").status, 404)
        self.assertEqual(browser.ask("GET", "/console/runs/run_x").body, page.body)
        head = browser.ask("HEAD", "/console")
        self.assertEqual((head.status, head.body), (200, b""))
        self.assertEqual(browser.ask("GET", "/console", If_None_Match=page.header("etag")).status, 304)
        self.assertIn('href="/console"', browser.ask("GET", "/").body.decode())

    # ── what its pages show ──

    def test_runs_are_filtered_and_drawn(self):
        conversation = self.conversation()
        self.client.say(conversation, "say one")
        self.client.say(conversation, "fail 400 no")
        browser = self.service_browser()

        def listed(query):
            answer = browser.ask("GET", f"/v1/runs?conversation_id={conversation}&{query}")
            self.assertEqual(answer.status, 200, answer.body)
            return [run["state"] for run in answer.json()["data"]]

        everything = browser.ask("GET", f"/v1/runs?conversation_id={conversation}").json()["data"]
        self.assertEqual(len(everything), 2)
        self.assertEqual(listed("state=completed"), ["completed"])
        self.assertEqual(len(listed("state=completed,failed,cancelled")), 2)
        self.assertEqual(listed("state=parked"), [])
        self.assertEqual(len(listed(f"agent_id={everything[0]['agent_id']}")), 2)
        self.assertEqual(listed("created_after=2099-01-01T00:00:00Z"), [])
        self.assertEqual(len(listed("created_before=2099-01-01T00:00:00Z")), 2)
        for query in ("state=tired", "state=", "agent_id=x", "created_after=yesterday", "state=failed&state=held"):
            self.assert_problem(browser.ask("GET", f"/v1/runs?{query}"), 422, "validation-error")

        timeline = browser.ask("GET", f"/v1/runs/{everything[1]['id']}/timeline").json()
        self.assertEqual(timeline["run_id"], everything[1]["id"])
        phases = [phase["phase"] for phase in timeline["phases"]]
        for phase in ("queue", "first_token", "text"):
            self.assertIn(phase, phases)
        for phase in timeline["phases"]:
            self.assertLessEqual(phase["from_ms"], phase["to_ms"])

    def test_the_history_of_capacity_grows(self):
        def samples():
            return self.client.get("/v1/capacity/history").json()["samples"]
        self.assertEqual(self.client.get("/v1/capacity/history").json()["interval_seconds"], 5)
        sample = wait_until(samples, "a first sample")[-1]
        self.assertEqual(set(sample), {"at_ms", "running", "held", "parked", "sticky", "warm", "pool_size"})


class Restart(unittest.TestCase):
    def setUp(self):
        self.server = Server(listen=f"127.0.0.1:{lasting_port()}").start()  # the cookie is named after the port
        self.addCleanup(self.server.remove)

    def test_the_first_start_prints_a_code_once_and_a_session_outlives_the_server(self):
        log = wait_until(lambda: self.server.log() if "#code=" in self.server.log() else None, "the console's URL")
        self.assertEqual(log.count("#code="), 1)
        code = code_of(log)
        browser = Browser(self.server)
        self.assertEqual(browser.log_in(code=code).status, 200)
        self.server.stop()
        self.server.start()
        again = Browser(self.server)
        again.cookie, again.csrf = browser.cookie, browser.csrf
        self.assertEqual(again.ask("GET", "/v1/runs").status, 200)
        self.assertEqual(again.change("POST", "/v1/conversations", {}).status, 201)
        self.assertEqual(self.server.log().count("#code="), 1, "a later start without a terminal prints none")
        self.assertEqual(Browser(self.server).log_in(code=code).status, 401)
        self.assertNotIn(code, json.dumps(self.server.bootstrap))


class WrongTries(unittest.TestCase):
    def test_a_handful_of_wrong_tries_is_enough_for_a_minute_and_a_right_one_is_let_in(self):
        server = Server("--limits.wrong_keys_per_minute", "5").start()
        self.addCleanup(server.remove)
        answers = [Browser(server).log_in(key=f"sk_int_{i}") for i in range(7)]
        self.assertEqual([answer.status for answer in answers], [401] * 5 + [429] * 2)
        self.assertGreater(int(answers[-1].header("retry-after")), 0)
        self.assertEqual(server.client("sk_int_wrong").get("/v1/runs").status, 429, "a wrong key is a wrong key")
        self.assertEqual(Browser(server).log_in(key=server.bootstrap["service_key"]).status, 200)
        self.assertEqual(server.client().get("/v1/runs").status, 200)


if __name__ == "__main__":
    unittest.main()
