"""A chat has one turn at a time, and each turn ends, even if its reader leaves or a process dies (A-3, A-6)."""
import signal
import threading
import time
import unittest

from assistant_fixture import STREAM, AssistantTest, Browser, frames
from http_client import PATIENCE_S
from server_process import Server, wait_until
from test_hands import alive, box_processes, sleepers

FLAGS = ("--sandbox.driver", "namespaces", "--sandbox.warm_target", "0", "--assistant.leave_grace_ms", "300")


class OneAtATime(AssistantTest):
    def test_A3_a_second_turn_is_refused_with_the_id_of_the_running_one(self):
        answer = self.open_turn("tokens 1000 20")
        with answer.connection:
            first = next(frames(answer)).data
            refused = self.client.post(STREAM, {"message": "say me too", "chatId": first["chatId"]})
            problem = self.assert_problem(refused, 409, "conversation-busy")
            self.assertEqual((problem["streamId"], problem["messageId"]), (first["streamId"], first["messageId"]))
            running = self.chat(first["chatId"])["running"]
            self.assertEqual((running["streamId"], running["messageId"]), (first["streamId"], first["messageId"]))
            self.assertEqual(self.client.post(f"/api/assistant/chats/{first['chatId']}/stop").status, 200)

    def test_A3_of_many_at_the_same_instant_one_wins(self):
        chat = self.turn("say x").chat["chatId"]
        for _ in range(5):
            ready, statuses = threading.Barrier(6), []

            def send():
                ready.wait(PATIENCE_S)
                answer = self.open_turn("say mine\nhang", chat)
                with answer.connection:
                    statuses.append(answer.status)
                    if answer.status == 200:
                        list(frames(answer))

            senders = [threading.Thread(target=send) for _ in range(6)]
            for sender in senders:
                sender.start()
            wait_until(lambda: len(statuses) == 6, "all are answered while one turn goes on")
            self.assertEqual(sorted(statuses), [200] + [409] * 5)
            self.assertEqual(self.client.post(f"/api/assistant/chats/{chat}/stop").status, 200)
            for sender in senders:
                sender.join(PATIENCE_S)
            self.assertFalse([sender for sender in senders if sender.is_alive()], "the winner's stream ends")

    def test_A3_the_chat_is_free_after_success_and_failure(self):
        chat = self.turn("say x").chat["chatId"]
        for script in ("say fine", "say half\ncut", "fail 400 no"):
            self.turn(script, chat)
            self.assertEqual(self.turn("say next", chat).types[-2], "result", script)

    def test_A6_closing_cancels_and_the_sandbox_is_gone(self):
        answer = self.open_turn("say I begin\n$ sleep 600")
        chat, run = answer.header("x-chat-id"), answer.header("x-stream-id")
        with answer.connection:
            inside = wait_until(lambda: sleepers(self.server), "the command begins")
        wait_until(lambda: self.run_state(run) == "cancelled", "the turn is cancelled")
        self.assertEqual([p for p in inside if alive(p)], [], "its processes are dead")
        kept = self.chat(chat)["messages"][-1]
        self.assertEqual((kept["status"], kept["error"]["code"]), ("cancelled", "run-cancelled"))
        self.assertEqual(kept["content"][0], {"type": "text", "text": "I begin"})
        self.assertEqual(self.turn("say free again", chat).types[-2], "result")

    def test_A6_closing_half_is_leaving_too(self):
        answer = self.open_turn("$ sleep 600")
        run = answer.header("x-stream-id")
        with answer.connection:
            wait_until(lambda: sleepers(self.server), "the command begins")
            answer.connection.socket.shutdown(1)
            wait_until(lambda: self.run_state(run) == "cancelled", "the turn is cancelled")

    def test_a_turn_that_shall_go_on_does(self):
        answer = self.open_turn("tokens 40 40\nsay end", onDisconnect="keep")
        answer.close()
        run = answer.header("x-stream-id")
        wait_until(lambda: self.run_state(run) == "completed", "it ends by itself")
        self.assertEqual(self.chat(answer.header("x-chat-id"))["messages"][-1]["status"], "completed")

    def test_a_turn_that_nobody_reads_makes_way(self):
        answer = self.open_turn("$ sleep 600")
        chat, run = answer.header("x-chat-id"), answer.header("x-stream-id")
        with answer.connection:
            wait_until(lambda: sleepers(self.server), "the command begins")
        wait_until(lambda: self.next_turn(chat), "the next turn is taken")
        self.assertEqual(self.run_state(run), "cancelled")

    def test_stop_answers_when_the_sandbox_is_gone(self):
        answer, browser = self.open_turn("$ (trap '' TERM; sleep 600) & sleep 600"), Browser()
        chat = answer.header("x-chat-id")
        with answer.connection:
            inside = wait_until(lambda: sleepers(self.server), "the command begins")
            stopped = self.client.post(f"/api/assistant/chats/{chat}/stop")
            self.assertEqual([p for p in inside if alive(p)], [], "proven dead when the answer came")
            self.assertEqual((stopped.status, stopped.json()),
                             (200, {"streamId": answer.header("x-stream-id"), "status": "cancelled"}))
            for frame in frames(answer):
                browser.take(frame)
        self.assertEqual(browser.error["code"], "run-cancelled")
        self.assertEqual(browser.shown(), self.chat(chat)["messages"][-1]["content"])
        self.assert_problem(self.client.post(f"/api/assistant/chats/{chat}/stop"), 409, "run-finished")

    def test_deleting_ends_the_turn(self):
        answer = self.open_turn("$ sleep 600")
        with answer.connection:
            wait_until(lambda: sleepers(self.server), "the command begins")
            self.assertEqual(self.client.delete(f"/api/assistant/chats/{answer.header('x-chat-id')}").status, 204)
            self.assertEqual(list(frames(answer))[-1].type, "done")
        wait_until(lambda: not sleepers(self.server), "the box is gone")


class Returning(AssistantTest):
    GRACE_S = 1
    flags = ("--sandbox.driver", "off", "--assistant.leave_grace_ms", str(GRACE_S * 1000))

    def leave_and_return(self):
        """All frames of a turn whose reader left and came back; None if that took the machine too long."""
        answer = self.open_turn(f"tokens 4\nsleep {self.GRACE_S * 1500}\nsay longer than the grace")
        with answer.connection:
            own = frames(answer)
            seen = [next(own) for _ in range(5)]
            left = time.monotonic()
        rest = self.client.open("GET", f"{STREAM}?streamId={answer.header('x-stream-id')}&after=4")
        with rest.connection:
            if time.monotonic() - left > self.GRACE_S / 2:
                return None
            return seen + list(frames(rest))

    def test_A6_a_reader_that_returns_in_time_keeps_the_turn_running(self):
        seen = wait_until(self.leave_and_return, "the machine is quick enough to come back in time", 4 * PATIENCE_S)
        self.assertEqual([frame.id for frame in seen], list(range(len(seen))))
        self.assertEqual([frame.type for frame in seen[-2:]], ["result", "done"])


class Crowded(AssistantTest):
    flags = ("--sandbox.driver", "off", "--capacity.max_running", "1")

    def test_a_turn_waits_for_a_slot_and_gets_its_position(self):
        first = self.open_turn("say in\nhang")
        waiting = Browser()
        with first.connection:
            next(frames(first))
            answer = self.open_turn("say my turn")
            with answer.connection:
                told = frames(answer)
                for _ in range(2):
                    waiting.take(next(told))
                self.assertEqual(waiting.types, ["chat", "queued"])
                self.assertEqual(waiting.seen[1].data["position"], 1)
                self.client.post(f"/api/assistant/chats/{first.header('x-chat-id')}/stop")
                for frame in told:
                    waiting.take(frame)
        self.assertEqual(waiting.types[-2:], ["result", "done"])


class Death(AssistantTest):
    @classmethod
    def setUpClass(cls):
        pass

    def setUp(self):
        self.server = Server(*FLAGS)
        self.addCleanup(self.server.remove)
        self.server.start()
        self.client = self.server.client()

    def kill_in_the_middle_of(self, script, until, **fields):
        """The chat and the frames that were received before the server was killed."""
        answer, seen = self.open_turn(script, **fields), []
        with answer.connection:
            for frame in frames(answer):
                seen.append(frame)
                if until(frame):
                    break
            below = box_processes(self.server.process.pid)
            self.server.kill()
        wait_until(lambda: not [p for p in below if alive(p)], "no process outlives the server")
        self.server.start()
        self.client = self.server.client()
        return answer.header("x-chat-id"), answer.header("x-stream-id"), seen

    def test_A3_a_chat_is_free_after_a_crash_and_keeps_what_was_said(self):
        chat, run, seen = self.kill_in_the_middle_of("say I begin\n$ sleep 600", lambda f: f.type == "step")
        wait_until(lambda: self.run_state(run) == "failed", "the turn is told to be over")
        kept = self.chat(chat)["messages"][-1]
        self.assertEqual((kept["status"], kept["content"][0]), ("failed", {"type": "text", "text": "I begin"}))
        self.assertTrue(self.follow(run).startswith("".join(frame.raw for frame in seen)), "nothing told is taken back")
        self.assertEqual(self.turn("say free again", chat).types[-2], "result")

    def test_A3_a_turn_that_can_continue_after_a_crash_does_so_for_returning_readers(self):
        chat, run, seen = self.kill_in_the_middle_of("tokens 60 60", lambda f: f.id == 5)
        rest = self.follow(run, 5)
        self.assertTrue((("".join(f.raw for f in seen)) + rest).count("event: delta") == 60)
        self.assertEqual(self.chat(chat)["messages"][-1]["status"], "completed")

    def test_A3_after_a_crash_a_new_turn_does_not_wait_for_one_without_a_reader(self):
        chat, run, _ = self.kill_in_the_middle_of("tokens 100000 20", lambda f: f.id == 3)
        wait_until(lambda: self.next_turn(chat), "the chat takes the next turn")
        self.assertIn(self.run_state(run), ("cancelled", "failed"))

    def test_a_server_that_stops_leaves_the_turn_to_the_next_one(self):
        answer = self.open_turn("tokens 100000 20", onDisconnect="keep")
        with answer.connection:
            next(frames(answer))
            self.server.terminate()
            self.server.process.send_signal(signal.SIGINT)  # a second SIGTERM may fall in with the first
            self.server.process.wait(PATIENCE_S)
        self.server.kill()
        self.server.start()
        self.client = self.server.client()
        self.assertEqual(self.run_state(answer.header("x-stream-id")), "streaming")
        stopped = self.client.post(f"/api/assistant/chats/{answer.header('x-chat-id')}/stop")
        self.assertEqual(stopped.status, 200, stopped.body)


if __name__ == "__main__":
    unittest.main()
