"""Conversations, agents, tenants and keys: what exists, who may see it, and who may change it (I-18, I-22)."""
import json
import time
import unittest

from assistant_fixture import STREAM, frames
from server_process import Server, ServerTest
from stream_grammar import check_stream

NOBODY = "con_00000000000000000000000000"


def let_the_clock_tick():
    now_ms = time.time_ns() // 1_000_000
    while time.time_ns() // 1_000_000 == now_ms:
        pass


class Conversations(ServerTest):
    def test_are_created_as_asked_and_read_back_the_same(self):
        repository = self.client.post("/v1/repositories", {"name": "tides", "url": "https://git.example/tides"}).json()
        fields = {"user_id": "ada", "title": "Tides", "metadata": {"ward": "north"}, "filler": {"enabled": True},
                  "repository_id": repository["id"]}
        created = self.client.post("/v1/conversations", fields)
        self.assertEqual(created.status, 201)
        conversation = created.json()
        self.assertEqual({k: conversation[k] for k in fields}, fields)
        self.assertEqual((conversation["object"], conversation["status"]), ("conversation", "active"))
        self.assertEqual(conversation["tenant_id"], self.server.bootstrap["tenant_id"])
        self.assertEqual(self.client.get(f"/v1/conversations/{conversation['id']}").body, created.body)

    def test_a_patch_replaces_keeps_and_clears(self):
        conversation = self.conversation(title="Old", user_id="ada", metadata={"a": "1", "b": "2"},
                                         filler={"enabled": True})
        path = f"/v1/conversations/{conversation}"
        changed = self.client.patch(path, {"title": "Fresh", "metadata": {"c": "3"}}).json()
        self.assertEqual((changed["title"], changed["metadata"], changed["user_id"], changed["filler"]),
                         ("Fresh", {"c": "3"}, "ada", {"enabled": True}))
        cleared = self.client.patch(path, {"title": None, "metadata": None, "filler": None, "user_id": None}).json()
        self.assertEqual((cleared["title"], cleared["metadata"], cleared["filler"], cleared["user_id"]),
                         (None, {}, None, None))
        self.assertEqual(self.client.get(path).json(), cleared)
        self.assertGreaterEqual(cleared["updated_at"], changed["updated_at"])

    def test_a_patch_with_a_bad_field_changes_nothing(self):
        conversation = self.conversation(title="Stays")
        problem = self.assert_problem(
            self.client.patch(f"/v1/conversations/{conversation}", {"title": "Goes", "status": "sleeping"}),
            422, "validation-error")
        self.assertEqual([e["pointer"] for e in problem["errors"]], ["/status"])
        self.assertEqual(self.client.get(f"/v1/conversations/{conversation}").json()["title"], "Stays")

    def test_I22_an_archived_one_is_readable_and_refuses_messages(self):
        conversation = self.conversation()
        self.client.say(conversation, "say before")
        for _ in range(2):
            answer = self.client.delete(f"/v1/conversations/{conversation}")
            self.assertEqual((answer.status, answer.body), (204, b""))
        self.assertEqual(self.client.get(f"/v1/conversations/{conversation}").json()["status"], "archived")
        self.assertEqual(len(self.messages(conversation)), 2)
        path = f"/v1/conversations/{conversation}/messages"
        self.assert_problem(self.client.post(path, {"content": "no"}), 409, "conversation-archived")
        self.assert_problem(self.client.post(path + "?stream=false", {"content": "no"}), 409, "conversation-archived")
        restored = self.client.patch(f"/v1/conversations/{conversation}", {"status": "active"})
        self.assertEqual(restored.json()["status"], "active")
        check_stream(self.client.say(conversation, "say after"))
        self.assertEqual(len(self.messages(conversation)), 4)

    def pages(self, path, between=lambda page: None):
        """The ids of all rows, page by page. Ends after twelve pages at the latest."""
        seen, cursor = [], ""
        for _ in range(12):
            answer = self.client.get(path + (f"&starting_after={cursor}" if cursor else ""))
            self.assertEqual(answer.status, 200, answer.body)
            page = answer.json()
            seen.append([row["id"] for row in page["data"]])
            if not page["has_more"]:
                self.assertIsNone(page["next_cursor"])
                return seen
            cursor = page["next_cursor"]
            between(page)
        self.fail(f"the list has no end: {seen}")

    def test_I9_a_page_goes_on_where_the_one_before_it_ended_though_its_last_row_has_moved(self):
        for path, make, say in (
                ("/v1/conversations?limit=2&user_id=pages", lambda: self.conversation(user_id="pages"),
                 lambda row: self.client.say(row, "say moved")),
                ("/api/assistant/chats?limit=2", lambda: self.chat("say begun"), lambda row: self.chat("say moved", row))):
            made = []
            for _ in range(6):
                made.append(make())
                let_the_clock_tick()
            expected = [made[i:i + 2] for i in (0, 2, 4)]
            for page in expected:
                page.reverse()
            pages = self.pages(path, lambda page: say(page["data"][-1]["id"]))
            self.assertEqual(pages, expected[::-1], path)

    def chat(self, message, chat=None):
        """A turn, to its end; the id of its chat."""
        answer = self.client.open("POST", STREAM, {"message": message} | ({"chatId": chat} if chat else {}))
        with answer.connection:
            self.assertEqual(answer.status, 200, answer.status != 200 and answer.body)
            return list(frames(answer))[0].data["chatId"]

    def test_I9_the_id_of_a_row_is_a_cursor_too_and_anything_else_is_refused(self):
        made = []
        for _ in range(3):
            made.append(self.conversation(user_id="cursors"))
            let_the_clock_tick()
        path = "/v1/conversations?user_id=cursors&limit=2"
        first = self.client.get(path).json()
        rest = self.client.get(f"{path}&starting_after={made[1]}").json()
        self.assertEqual([row["id"] for row in rest["data"]], [made[0]])
        back = self.client.get(f"{path}&ending_before={made[0]}").json()
        self.assertEqual([row["id"] for row in back["data"]], [made[2], made[1]])
        moment = first["next_cursor"].partition(".")[2]
        for cursor in ("x", f"{made[1]}.", f"{made[1]}.x", f"{made[1]}.-1", f"{made[1]}.1.2", f"x.{moment}",
                       f"{made[1]}.99999999999999999999", f"{NOBODY}.{moment}"):
            problem = self.assert_problem(self.client.get(f"{path}&starting_after={cursor}"), 422, "validation-error")
            self.assertEqual([e["pointer"] for e in problem["errors"]], ["starting_after"], cursor)

    def test_metadata_and_titles_have_limits(self):
        self.conversation(title="t" * 255, metadata={f"k{i}": "v" * 500 for i in range(50)})
        self.conversation(title="ü" * 255)
        for fields, pointer in (({"title": "t" * 256}, "/title"), ({"user_id": ""}, "/user_id"),
                                ({"metadata": {f"k{i}": "v" for i in range(51)}}, "/metadata"),
                                ({"metadata": {"k": "v" * 501}}, "/metadata/k"),
                                ({"metadata": {"k": 1}}, "/metadata/k"),
                                ({"agent_id": "agt_01k1zr4t5m9q2w7x3c8v6b0n1h"}, "/agent_id"),
                                ({"agent_id": "agt_00000000000000000000000000"}, "/agent_id"),
                                ({"agent_id": "nobody"}, "/agent_id")):
            problem = self.assert_problem(self.client.post("/v1/conversations", fields), 422, "validation-error")
            self.assertEqual([e["pointer"] for e in problem["errors"]], [pointer])


class Lists(ServerTest):
    def walk(self, path, parameter):
        """Follows a list page by page in one direction; returns all rows and asserts each page's envelope."""
        rows, cursor = [], None
        for _ in range(50):
            page = self.client.get(path + (f"&{parameter}={cursor}" if cursor else "")).json()
            self.assertEqual((list(page), page["object"]), (["object", "data", "has_more", "next_cursor"], "list"))
            rows.append(page["data"])
            if not page["has_more"]:
                self.assertIsNone(page["next_cursor"])
                return rows
            self.assertIsNotNone(page["next_cursor"])
            cursor = page["next_cursor"]
        self.fail("a list without end")

    def test_conversations_come_latest_message_first(self):
        ids = [self.conversation(user_id="walker") for _ in range(7)]
        for index in (2, 5):
            let_the_clock_tick()  # within one millisecond, the younger conversation comes first
            self.client.say(ids[index], "say ping")
        expected = [ids[5], ids[2]] + [ids[i] for i in (6, 4, 3, 1, 0)]
        pages = self.walk("/v1/conversations?user_id=walker&limit=3", "starting_after")
        self.assertEqual([len(page) for page in pages], [3, 3, 1])
        self.assertEqual([row["id"] for page in pages for row in page], expected)

    def test_messages_page_in_both_directions_and_both_orders(self):
        conversation = self.conversation()
        for index in range(5):
            self.client.say(conversation, f"say {index}")
        path = f"/v1/conversations/{conversation}/messages"
        everything = [m["id"] for m in self.messages(conversation)]
        self.assertEqual(len(everything), 10)
        for order, expected in (("asc", everything), ("desc", everything[::-1])):
            pages = self.walk(f"{path}?order={order}&limit=4", "starting_after")
            self.assertEqual([m["id"] for page in pages for m in page], expected)
            before = self.client.get(f"{path}?order={order}&limit=3&ending_before={expected[7]}").json()
            self.assertEqual([m["id"] for m in before["data"]], expected[4:7])
            self.assertTrue(before["has_more"])
            start = self.client.get(f"{path}?order={order}&limit=3&ending_before={expected[2]}").json()
            self.assertEqual(([m["id"] for m in start["data"]], start["has_more"]), (expected[:2], False))

    def test_runs_come_newest_first(self):
        conversation = self.conversation()
        runs = []
        for _ in range(3):
            answer = self.client.send(conversation, "say x")
            with answer.connection:
                runs.append(answer.header("x-run-id"))
                list(answer.lines())
        pages = self.walk(f"/v1/runs?conversation_id={conversation}&limit=2", "starting_after")
        self.assertEqual([r["id"] for page in pages for r in page], runs[::-1])
        self.assertEqual({r["state"] for page in pages for r in page}, {"completed"})

    def test_a_bad_page_is_refused_with_its_name(self):
        conversation = self.conversation()
        for query, pointer in (("limit=0", "limit"), ("limit=101", "limit"), ("limit=ten", "limit"),
                               ("starting_after=nonsense", "starting_after"), ("order=sideways", "order"),
                               ("ending_before=msg_00000000000000000000000000", "ending_before")):
            problem = self.assert_problem(self.client.get(f"/v1/conversations/{conversation}/messages?{query}"),
                                          422, "validation-error")
            self.assertEqual(problem["errors"][0]["pointer"], pointer, query)
        self.client.say(conversation, "say x")
        message = self.messages(conversation)[0]["id"]
        both = f"starting_after={message}&ending_before={message}"
        self.assert_problem(self.client.get(f"/v1/conversations/{conversation}/messages?{both}"),
                            422, "validation-error")

    def test_the_default_page_is_twenty(self):
        for _ in range(21):
            self.conversation(user_id="many")
        page = self.client.get("/v1/conversations?user_id=many").json()
        self.assertEqual((len(page["data"]), page["has_more"]), (20, True))
        self.assertTrue(page["next_cursor"].startswith(page["data"][-1]["id"] + "."), page["next_cursor"])


class Agents(ServerTest):
    def agent(self, **fields):
        answer = self.client.post("/v1/agents", fields)
        self.assertEqual(answer.status, 201, answer.body)
        return answer.json()

    def test_are_created_changed_and_deleted(self):
        agent = self.agent(name="Pilot", system_prompt="Be brief.", limits={"max_output_tokens": 100})
        self.assertEqual((agent["name"], agent["system_prompt"], agent["limits"]["max_output_tokens"]),
                         ("Pilot", "Be brief.", 100))
        self.assertEqual((agent["model"]["provider"], agent["is_default"]), ("offline", False))
        path = f"/v1/agents/{agent['id']}"
        self.assertEqual(self.client.patch(path, {"name": "Captain"}).json()["name"], "Captain")
        self.assertEqual(self.client.get(path).json()["system_prompt"], "Be brief.")
        self.assertEqual(self.client.delete(path).status, 204)
        self.assert_problem(self.client.get(path), 404, "not-found")

    def test_names_are_taken_once(self):
        first = self.agent(name="Only")
        problem = self.assert_problem(self.client.post("/v1/agents", {"name": "Only"}), 409, "name-conflict")
        self.assertEqual(problem.get("conflicting_resource_id"), first["id"])

    def test_one_in_use_or_the_default_cannot_be_deleted(self):
        used = self.agent(name="Used")
        conversation = self.conversation(agent_id=used["id"])
        self.assert_problem(self.client.delete(f"/v1/agents/{used['id']}"), 409, "resource-in-use")
        self.client.delete(f"/v1/conversations/{conversation}")
        self.assertEqual(self.client.delete(f"/v1/agents/{used['id']}").status, 204)
        default = next(a for a in self.client.get("/v1/agents?limit=100").json()["data"] if a["is_default"])
        self.assert_problem(self.client.delete(f"/v1/agents/{default['id']}"), 409, "resource-in-use")

    def test_there_is_always_exactly_one_default(self):
        heir = self.agent(name="Heir", is_default=True)
        defaults = [a["id"] for a in self.client.get("/v1/agents?limit=100").json()["data"] if a["is_default"]]
        self.assertEqual(defaults, [heir["id"]])
        self.assertEqual(self.client.get(f"/v1/conversations/{self.conversation()}").json()["agent_id"], heir["id"])

    def test_a_conversation_can_change_its_agent(self):
        conversation, other = self.conversation(), self.agent(name="Other")
        changed = self.client.patch(f"/v1/conversations/{conversation}", {"agent_id": other["id"]})
        self.assertEqual(changed.json()["agent_id"], other["id"])


class Tenants(ServerTest):
    def tenant(self, name):
        """A tenant of its own with a client of its own."""
        tenant = self.admin.post("/v1/tenants", {"name": name})
        self.assertEqual(tenant.status, 201, tenant.body)
        key = self.admin.post(f"/v1/tenants/{tenant.json()['id']}/keys", {"name": "host"})
        self.assertEqual(key.status, 201, key.body)
        return tenant.json(), key.json(), self.server.client(key.json()["secret"])

    def test_I22_another_tenants_things_do_not_exist(self):
        _, _, stranger = self.tenant("Strangers")
        conversation = self.conversation()
        answer = self.client.send(conversation, "say secret")
        with answer.connection:
            list(answer.lines())
        run, message = answer.header("x-run-id"), answer.header("x-message-id")
        agent = self.client.get("/v1/agents").json()["data"][0]["id"]
        for method, path, body in (
                ("GET", f"/v1/conversations/{conversation}", None), ("PATCH", f"/v1/conversations/{conversation}", {}),
                ("DELETE", f"/v1/conversations/{conversation}", None),
                ("GET", f"/v1/conversations/{conversation}/messages", None),
                ("POST", f"/v1/conversations/{conversation}/messages", {"content": "mine now"}),
                ("GET", f"/v1/messages/{message}", None), ("GET", f"/v1/messages/{message}/events", None),
                ("GET", f"/v1/runs/{run}", None), ("POST", f"/v1/runs/{run}/cancel", {}),
                ("GET", f"/v1/agents/{agent}", None), ("PATCH", f"/v1/agents/{agent}", {"name": "stolen"}),
                ("DELETE", f"/v1/agents/{agent}", None)):
            self.assert_problem(stranger.request(method, path, body), 404, "not-found")
        self.assertEqual(stranger.get("/v1/conversations").json()["data"], [])
        self.assertEqual(stranger.get("/v1/runs").json()["data"], [])
        self.assertEqual(len(self.messages(conversation)), 2)
        self.assertEqual(self.client.get(f"/v1/conversations/{conversation}").json()["status"], "active")

    def test_I22_a_suspended_tenant_reads_but_does_not_write(self):
        tenant, _, client = self.tenant("Paused")
        conversation = client.post("/v1/conversations", {}).json()["id"]
        client.say(conversation, "say before")
        path = f"/v1/tenants/{tenant['id']}"
        self.assertEqual(self.admin.patch(path, {"status": "suspended"}).json()["status"], "suspended")
        self.assertEqual(len(self.messages(conversation, client)), 2)
        for method, target, body in (("POST", "/v1/conversations", {}), ("POST", "/v1/agents", {"name": "n"}),
                                     ("POST", f"/v1/conversations/{conversation}/messages", {"content": "x"}),
                                     ("PATCH", f"/v1/conversations/{conversation}", {"title": "x"}),
                                     ("DELETE", f"/v1/conversations/{conversation}", None)):
            self.assert_problem(client.request(method, target, body), 403, "tenant-suspended")
        self.admin.patch(path, {"status": "active"})
        check_stream(client.say(conversation, "say after"))

    def test_a_revoked_key_opens_nothing(self):
        tenant, key, client = self.tenant("Leaver")
        self.assertEqual(client.get("/v1/conversations").status, 200)
        revoked = self.admin.delete(f"/v1/tenants/{tenant['id']}/keys/{key['id']}")
        self.assertEqual(revoked.status, 200)
        self.assertIsNotNone(revoked.json()["revoked_at"])
        answer = client.get("/v1/conversations")
        self.assert_problem(answer, 401, "unauthenticated")
        self.assertEqual(answer.header("www-authenticate"), "Bearer")

    def test_secrets_are_shown_once(self):
        tenant, key, _ = self.tenant("Discreet")
        self.assertTrue(key["secret"].startswith("sk_int_"))
        self.assertEqual(key["hint"], key["secret"][-4:])
        approver = self.admin.post(f"/v1/tenants/{tenant['id']}/approver-keys", {"algorithm": "hmac-sha256"}).json()
        for path in (f"/v1/tenants/{tenant['id']}/keys", f"/v1/tenants/{tenant['id']}/approver-keys"):
            listed = self.admin.get(path).body.decode()
            self.assertNotIn(key["secret"], listed)
            self.assertNotIn(approver["secret"], listed)
            self.assertNotIn('"secret"', listed)

    def test_I18_a_key_learns_who_it_is(self):
        tenant, key, client = self.tenant("Mirror")
        made = self.admin.post(f"/v1/tenants/{tenant['id']}/approver-keys",
                               {"name": "desk", "algorithm": "hmac-sha256"}).json()
        answer = client.get("/v1/integration/self")
        me = answer.json()
        self.assertEqual((me["object"], me["key_id"], me["name"], me["tenant"]["id"]),
                         ("integration_principal", key["id"], "host", tenant["id"]))
        self.assertEqual(me["approver_keys"], [{"key_id": made["key_id"], "algorithm": "hmac-sha256",
                                                "created_at": made["created_at"]}])
        self.assertNotIn(made["secret"].encode(), answer.body)
        self.admin.delete(f"/v1/tenants/{tenant['id']}/approver-keys/{made['id']}")
        self.assertEqual(client.get("/v1/integration/self").json()["approver_keys"], [])

    def test_a_key_of_the_wrong_kind_is_refused_with_an_explanation(self):
        self.assert_problem(self.client.get("/v1/tenants"), 403, "insufficient-scope")
        self.assert_problem(self.client.post("/v1/tenants", {"name": "mine"}), 403, "insufficient-scope")
        self.assert_problem(self.admin.get("/v1/conversations"), 403, "insufficient-scope")
        for key in ("", "sk_int_" + "a" * 43, "sk_adm_" + "a" * 43, "nonsense", self.server.bootstrap["runner_key"]):
            self.assert_problem(self.server.client(key).get("/v1/conversations"), 401, "unauthenticated")

    def test_unknown_objects_paths_and_methods_have_different_problems(self):
        self.assert_problem(self.client.get(f"/v1/conversations/{NOBODY}"), 404, "not-found")
        self.assert_problem(self.client.get("/v1/conversations/nonsense"), 404, "not-found")
        self.assert_problem(self.client.get("/v1/no/such/path"), 404, "not-found")
        answer = self.client.request("PUT", "/v1/conversations", {})
        self.assert_problem(answer, 405, "method-not-allowed")
        self.assertEqual(set(answer.header("allow").replace(" ", "").split(",")) - {"HEAD", "OPTIONS"}, {"GET", "POST"})


class AfterARestart(unittest.TestCase):
    def test_everything_is_where_it_was(self):
        server = Server()
        self.addCleanup(server.remove)
        client = server.start().client()
        conversation = client.post("/v1/conversations", {"title": "Kept", "metadata": {"k": "v"}}).json()["id"]
        client.say(conversation, "say kept")
        paths = (f"/v1/conversations/{conversation}", f"/v1/conversations/{conversation}/messages", "/v1/agents",
                 f"/v1/runs?conversation_id={conversation}", "/v1/integration/self")
        before = [client.get(path).body for path in paths]
        keys = json.loads((server.data / "bootstrap.json").read_text())
        server.stop()
        client = server.start().client()
        self.assertEqual([client.get(path).body for path in paths], before)
        self.assertEqual({k: v for k, v in server.bootstrap.items() if k != "base_url"},
                         {k: v for k, v in keys.items() if k != "base_url"})


if __name__ == "__main__":
    unittest.main()
