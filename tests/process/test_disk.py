"""The disk that conversations take: it is counted, it has bounds, and it comes back."""
import json
import shutil

from server_process import ServerTest, wait_until


class DiskTest(ServerTest):
    flags = ("--sandbox.driver", "namespaces")

    def run_in(self, conversation, script):
        """The last event of a run."""
        return json.loads(self.client.say(conversation, script)[-1])

    def leave(self, conversation, bytes_):
        """The last event of a run that leaves a file of so many bytes."""
        return self.run_in(conversation, f"$ head -c {bytes_} /dev/urandom > large\nsay made")

    def workspaces(self):
        where = self.server.data / "sandbox" / "workspaces"
        return sorted(path.name for path in where.iterdir()) if where.exists() else []

    def metric(self, name):
        for line in self.admin.get("/metrics").body.decode().splitlines():
            if line.startswith(name + " "):
                return int(float(line.split()[1]))
        return None

    def archive(self, conversation):
        answer = self.client.request("DELETE", f"/v1/conversations/{conversation}")
        self.assertEqual(answer.status, 204, answer.body)


class Quota(DiskTest):
    flags = DiskTest.flags + ("--sandbox.tenant_workspaces_mib", "3")

    def test_a_tenant_keeps_no_more_than_its_quota_until_it_archives_a_conversation(self):
        first, second = self.conversation(), self.conversation()
        self.assertEqual(self.leave(first, 2_000_000)["type"], "message_end")
        self.assertGreaterEqual(self.metric("sluice_workspace_bytes"), 2_000_000)
        refused = self.leave(second, 2_000_000)
        self.assertEqual(refused["type"], "error", refused)
        self.assertTrue(refused["data"]["type"].endswith("/problems/writeback-failed"), refused)
        self.assertIn("may have 3 MiB (sandbox.tenant_workspaces_mib). Archive conversations", refused["data"]["detail"])
        wait_until(lambda: self.workspaces() == [first], "nothing is left of what was refused")
        self.archive(first)
        wait_until(lambda: self.workspaces() == [], "the workspace is removed")
        self.assertEqual(self.leave(second, 2_000_000)["type"], "message_end")
        self.archive(second)
        wait_until(lambda: self.metric("sluice_workspace_bytes") == 0, "nothing is kept any more")


class Leftovers(DiskTest):
    def test_what_a_server_that_died_left_of_archived_conversations_is_removed_and_the_rest_is_counted(self):
        archived, active = self.conversation(), self.conversation()
        for conversation in (archived, active):
            self.assertEqual(self.leave(conversation, 100_000)["type"], "message_end")
        kept = self.server.data / "sandbox" / "workspaces"
        shutil.copytree(kept / archived, self.server.home / "copy")
        self.archive(archived)
        wait_until(lambda: self.workspaces() == [active], "the workspace is removed")
        self.server.kill()
        shutil.move(self.server.home / "copy", kept / archived)  # as if it had died before that
        shutil.copytree(kept / active, kept / ("con_" + 26 * "0"))
        self.server.start()
        type(self).client, type(self).admin = self.server.client(), self.server.admin()
        wait_until(lambda: self.workspaces() == [active], "what nobody goes on with is removed")
        wait_until(lambda: (self.metric("sluice_workspace_bytes") or 0) >= 100_000, "what is kept is counted")
        self.assertEqual(self.run_in(active, "$ test -s large\nsay {{last}}")["type"], "message_end")


class AReplay(DiskTest):
    flags = ("--sandbox.driver", "off")
    keeps_its_port = True

    def test_I19_needs_no_room(self):
        conversation = self.conversation()
        path = f"/v1/conversations/{conversation}/messages?stream=false"

        def send(key):
            return self.client.post(path, {"content": "say hi"}, {"Idempotency-Key": key})
        first = send("known")
        self.assertEqual(first.status, 201, first.body)
        self.server.stop()
        self.server.flags += ["--limits.disk_free_bytes_min", str(1 << 50)]
        self.server.start()
        again = send("known")
        self.assertEqual((again.status, again.header("x-run-id"), again.body),
                         (first.status, first.header("x-run-id"), first.body))
        self.assertIn("limits.disk_free_bytes_min", self.assert_problem(send("new"), 503, "unavailable")["detail"])
        self.assertEqual(len(self.messages(conversation)), 2)


class Floor(DiskTest):
    keeps_its_port = True

    def test_nothing_is_begun_or_created_while_the_disk_has_less_free_than_the_floor(self):
        conversation = self.conversation()
        self.server.stop()
        self.server.flags += ["--limits.disk_free_bytes_min", str(1 << 50)]
        self.server.start()
        for path, body in (("/v1/conversations", {}), ("/v1/agents", {"name": "late"})):
            refused = self.assert_problem(self.client.post(path, body), 503, "unavailable")
            self.assertIn("limits.disk_free_bytes_min", refused["detail"])
        answer = self.client.post(f"/v1/conversations/{conversation}/messages", {"content": "say x"})
        problem = self.assert_problem(answer, 503, "unavailable")
        self.assertIn("limits.disk_free_bytes_min", problem["detail"])
        self.assertGreaterEqual(int(answer.header("retry-after")), 1)
        self.assertEqual(self.messages(conversation), [])
        self.assertGreater(self.metric("sluice_disk_free_bytes"), 0)
