"""S-9, S-10, I-7: lines of a runner survive broken connections, killed servers and killed runners; each is delivered once."""
import random
import unittest

from http_client import PATIENCE_S
from provider_emulator import Answer, Emulator
from runner_fleet import KEY, Cutter, FleetCase, words
from server_process import wait_until
from stream_grammar import check_stream, slug_of, text_of


class CutConnectionTest(FleetCase):
    def test_lines_come_once_whatever_is_cut(self):
        runner = self.runner()
        cutter = Cutter(runner.port)
        self.addCleanup(cutter.close)
        gateway = self.gateway(cutter.url)
        chance = random.Random(7)
        for _ in range(8):
            cutter.cuts = [chance.randrange(1, 4000) for _ in range(6)]
            lines = gateway.client().say(gateway.conversation(), "tokens 300 600")
            self.assertEqual(text_of(check_stream(lines)), words(300))
        self.assertGreater(cutter.cut_count, 8)
        self.assertEqual(runner.figure('sluice_dispatches_total{outcome="result"}', KEY), 8)
        self.assertEqual(gateway.figure("sluice_runner_lost_total"), 0)

    def test_the_sandbox_is_killed_if_the_caller_does_not_return_in_time(self):
        runner = self.runner()
        gateway = self.gateway(runner.url, flags=("--runner.reattach_seconds", "1"))
        self.begin(gateway, "tokens 100000 50")
        self.assertEqual(runner.live(), 1)
        gateway.kill()
        wait_until(lambda: runner.live() == 0, "the runner ends what nobody comes back to")
        self.assertEqual(runner.figure('sluice_dispatches_total{outcome="caller did not return"}', KEY), 1)


class KilledRunnerTest(FleetCase):
    def told_and_struck(self, content, deltas, *script):
        """The lines of a message whose runner, of two, is killed after so many deltas; the other lives. And the server.
        With a script they are of a provider that answers so, and that is returned too."""
        provider = Emulator(*script)
        self.addCleanup(provider.close)
        flags = ("--providers.openai-chat.base_url", provider.url + "/v1")
        runners = [self.runner(*flags), self.runner(*flags)]
        gateway = self.gateway(*(runner.url for runner in runners), flags=("--runner.reattach_seconds", "1"))
        model = {"provider": "openai-chat", "name": "m"} if script else {"provider": "offline", "name": "offline"}
        agent = gateway.client().post("/v1/agents", {"name": "Tide", "model": model}).json()["id"]
        conversation = gateway.client().post("/v1/conversations", {"agent_id": agent}).json()["id"]
        answer = gateway.client().send(conversation, content, patience_s=4 * PATIENCE_S)
        with answer.connection:
            stream, lines = answer.lines(), []
            while sum(b'"content_delta"' in line for line in lines) < deltas:
                lines.append(next(stream))
            wait_until(lambda: sum(runner.live() for runner in runners) == 1, "one of them has it")
            if script:
                wait_until(lambda: provider.seen, "it has asked the provider")
            next(runner for runner in runners if runner.live() == 1).kill()
            return lines + list(stream), gateway, provider

    def test_what_had_not_begun_is_given_to_another(self):
        lines, _, provider = self.told_and_struck("How is the tide?", 0, Answer(silent_after=0), Answer(texts=("High.",)))
        self.assertEqual(text_of(check_stream(lines)), "High.")
        turns = [(turn["role"], turn["content"]) for turn in provider.seen[1].body["messages"]]
        self.assertEqual(turns[-1], ("user", "How is the tide?"))

    def test_an_answer_is_gone_on_with_by_another_after_the_last_word(self):
        """The provider gets its partial answer and sends the rest."""
        lines, gateway, provider = self.told_and_struck(
            "How is the tide?", 2, Answer(texts=("The tide ", "is "), silent_after=2), Answer(texts=("high.",)))
        self.assertEqual(text_of(check_stream(lines)), "The tide is high.")
        turns = [(turn["role"], turn["content"]) for turn in provider.seen[1].body["messages"]]
        self.assertEqual(turns[-3:-1], [("user", "How is the tide?"), ("assistant", "The tide is")])
        self.assertIn("Go on", turns[-1][1])
        self.assertEqual(gateway.figure("sluice_runner_begun_anew_total"), 1)

    def test_what_had_been_done_is_a_clear_problem(self):
        lines, gateway, _ = self.told_and_struck("call no_such_tool {}\ntokens 100000 100", 5)
        problem = check_stream(lines)[-1]["data"]
        self.assertEqual(slug_of(problem), "runner-lost")
        self.assertIn("What it had done in its sandbox is gone.", problem["detail"])
        self.assertEqual(gateway.figure("sluice_runner_begun_anew_total"), 0)


if __name__ == "__main__":
    unittest.main()
