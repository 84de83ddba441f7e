"""Real providers' dialects end to end, against an emulator on the loopback."""
import json
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from http_client import PATIENCE_S
from ports import lasting_port
from provider_emulator import Answer, Emulator
from server_process import Server, ServerTest, wait_until
from stream_grammar import check_stream, slug_of, text_of

PROVIDERS = {"anthropic": "/v1/messages", "openai-responses": "/v1/responses", "openai-chat": "/v1/chat/completions"}
SECRET = "test-provider-key-8c1f"


def base_url(provider, emulator):
    return emulator.url + ("" if provider == "anthropic" else "/v1")


class ProviderTest(ServerTest):
    env = {"ANTHROPIC_API_KEY": SECRET, "OPENAI_API_KEY": SECRET}
    idle_seconds = int(10 * PATIENCE_S)  # slow providers are not given up; tests of silence use a shorter time
    ports = [lasting_port() for _ in range(16)]  # of emulators that agents name; "*" would not allow what is on loopback
    agent_base_urls = "|".join(f"http://127.0.0.1:{port}" for port in [9, *ports])
    retry_count_max = 2  # few, because each wait is twice as long as the one before

    started = {}  # provider and server, by what of their settings is the subject

    @classmethod
    def setUpClass(cls):
        settings = (cls.idle_seconds, cls.agent_base_urls)
        if settings not in cls.started:
            cls.started[settings] = cls.start_both()
        cls.provider, cls.server = cls.started[settings]
        cls.client, cls.admin = cls.server.client(), cls.server.admin()

    @classmethod
    def start_both(cls):
        provider = Emulator()
        unittest.addModuleCleanup(provider.close)
        server = Server("--sandbox.driver", "off", "--models.idle_seconds", str(cls.idle_seconds),
                        "--models.agent_base_urls", cls.agent_base_urls,
                        "--models.retry_count_max", str(cls.retry_count_max),
                        "--providers.anthropic.base_url", provider.url,
                        "--providers.openai-responses.base_url", provider.url + "/v1",
                        "--providers.openai-chat.base_url", provider.url + "/v1", env=cls.env)
        unittest.addModuleCleanup(server.remove)
        return provider, server.start()

    def talk(self, provider, url=None, **fields):
        """A conversation with an agent that speaks to the emulator."""
        agent = self.client.post("/v1/agents", {
            "name": f"{self.id()} {provider} {time.monotonic_ns()}",
            "model": {"provider": provider, "name": "model-x", "base_url": url}} | fields)
        self.assertEqual(agent.status, 201, agent.body)
        return self.conversation(agent_id=agent.json()["id"])

    def emulator(self, *script):
        port = self.ports.pop()
        self.addCleanup(self.ports.append, port)
        made = Emulator(*script, port=port)
        self.addCleanup(made.close)
        return made

    def at_once(self, work, cases):
        """What mostly waits, for all cases together; the first failure is raised."""
        with ThreadPoolExecutor(len(cases)) as pool:
            list(pool.map(work, cases))


class AnAnswer(ProviderTest):
    def test_is_streamed_as_the_provider_tells_it(self):
        for provider in PROVIDERS:
            self.provider.play(Answer(texts=("Grüße ", "aus ", "dem 🛶.")))
            events = check_stream(self.client.say(self.talk(provider), "Hello?"))
            self.assertEqual([e["data"]["text"] for e in events if e["type"] == "content_delta"],
                             ["Grüße ", "aus ", "dem 🛶."])
            self.assertEqual(text_of(events), "Grüße aus dem 🛶.")

    def test_is_asked_for_with_key_model_prompt_and_limit(self):
        for provider in PROVIDERS:
            self.provider.play(Answer())
            conversation = self.talk(provider, system_prompt="You are a lighthouse.",
                                     limits={"max_output_tokens": 321})
            self.client.say(conversation, "Which way?")
            seen = self.provider.seen[0]
            self.assertTrue(seen.path.endswith(PROVIDERS[provider]), seen.path)
            key = seen.headers["x-api-key"] if provider == "anthropic" else seen.headers["authorization"]
            self.assertEqual(key.removeprefix("Bearer "), SECRET)
            self.assertEqual((seen.body["model"], seen.body["stream"]), ("model-x", True))
            text = json.dumps(seen.body)
            self.assertIn("You are a lighthouse.", text)
            self.assertIn("Which way?", text)
            self.assertIn(321, [v for k, v in seen.body.items() if "max" in k])

    def test_the_key_is_not_lent_to_an_address_that_the_agent_names(self):
        """A tenant may say where its model is; the operator's key stays at home."""
        elsewhere = self.emulator(Answer())
        for provider in PROVIDERS:
            check_stream(self.client.say(self.talk(provider, base_url(provider, elsewhere)), "Hello?"))
        self.assertEqual(len(elsewhere.seen), 3)
        for seen in elsewhere.seen:
            self.assertNotIn(SECRET, json.dumps(seen.headers))

    def test_the_next_question_carries_the_dialogue_so_far(self):
        for provider in PROVIDERS:
            self.provider.play(Answer(texts=("The tide ", "is high.")), Answer(texts=("Still high.",)))
            conversation = self.talk(provider)
            self.client.say(conversation, "How is the tide?")
            self.client.say(conversation, "And now?")
            turns = self.provider.seen[1].body.get("messages") or self.provider.seen[1].body["input"]
            told = [(t["role"], json.dumps(t["content"])) for t in turns if t.get("role") in ("user", "assistant")]
            self.assertEqual([role for role, _ in told], ["user", "assistant", "user"])
            for (_, text), words in zip(told, ("How is the tide?", "The tide is high.", "And now?")):
                self.assertIn(words, text)

    def test_reasoning_is_not_part_of_it(self):
        for provider in PROVIDERS:
            self.provider.play(Answer(reasoning="they must not read this", texts=("Out loud.",)))
            lines = self.client.say(self.talk(provider), "Think!")
            self.assertEqual(check_stream(lines)[-1]["data"]["message"]["content"], "Out loud.")
            self.assertNotIn(b"must not read", b"".join(lines))

    def test_usage_means_the_same_everywhere(self):
        """Input tokens include cached ones for every provider."""
        for provider in PROVIDERS:
            self.provider.play(Answer(input_tokens=120, cached_tokens=100, output_tokens=9))
            events = check_stream(self.client.say(self.talk(provider), "Count."))
            self.assertEqual(events[-1]["data"]["message"]["usage"], {"input_tokens": 120, "output_tokens": 9})


class TroubleTest(ProviderTest):
    def assert_ends_with(self, lines, slug, status):
        problem = check_stream(lines)[-1]["data"]
        self.assertEqual((slug_of(problem), problem["status"]), (slug, status), problem)
        self.assertNotIn(SECRET, json.dumps(problem))
        return problem


class ASilentProvider(TroubleTest):
    idle_seconds = 1

    def test_times_out(self):
        def ask(provider):
            quiet = self.emulator(Answer(texts=("One moment", "…"), silent_after=1))
            lines = self.client.say(self.talk(provider, base_url(provider, quiet)), "Hello?")
            self.assert_ends_with(lines, "model-timeout", 504)

        self.at_once(ask, PROVIDERS)


class ATroubledProvider(TroubleTest):
    def test_a_busy_provider_is_called_again_after_its_retry_after(self):
        def ask(case):
            provider, status = case
            busy = self.emulator(Answer(status=status, headers={"Retry-After": "1"}), Answer(texts=("At last.",)))
            began = time.monotonic()
            events = check_stream(self.client.say(self.talk(provider, base_url(provider, busy)), "Hello?"))
            self.assertEqual(text_of(events), "At last.")
            self.assertEqual(len(busy.seen), 2)
            self.assertGreaterEqual(time.monotonic() - began, 0.9, "Retry-After was not kept")

        self.at_once(ask, [(provider, status) for provider in PROVIDERS for status in (429, 503, 529)])

    def test_a_provider_that_disconnects_before_the_first_word_is_called_again(self):
        def ask(provider):
            cutting = self.emulator(Answer(cut_after=0), Answer(texts=("Second try.",)))
            events = check_stream(self.client.say(self.talk(provider, base_url(provider, cutting)), "Hello?"))
            self.assertEqual(text_of(events), "Second try.")

        self.at_once(ask, PROVIDERS)

    def test_that_cuts_after_the_first_word_is_not(self):
        for provider in PROVIDERS:
            self.provider.play(Answer(texts=("Half ", "of it"), cut_after=1))
            lines = self.client.say(self.talk(provider), "Hello?")
            self.assert_ends_with(lines, "model-stream-cut", 502)
            self.assertEqual(text_of(check_stream(lines)), "Half ")
            self.assertEqual(len(self.provider.seen), 1)

    def test_that_knows_no_such_key_is_a_matter_of_configuration(self):
        for provider in PROVIDERS:
            for status in (401, 403):
                self.provider.play(Answer(status=status, error="invalid x-api-key"))
                lines = self.client.say(self.talk(provider), "Hello?")
                self.assert_ends_with(lines, "agent-misconfigured", 500)
                self.assertEqual(len(self.provider.seen), 1)

    def test_a_provider_that_refuses_permanently_is_called_once(self):
        for provider in PROVIDERS:
            self.provider.play(Answer(status=400, error="prompt is too long: 3 lighthouses"))
            problem = self.assert_ends_with(self.client.say(self.talk(provider), "Hello?"), "model-error", 502)
            self.assertIn("3 lighthouses", problem["detail"])
            self.assertEqual(len(self.provider.seen), 1)

    def test_that_fails_again_and_again_is_given_up(self):
        self.provider.play(Answer(status=500, headers={"Retry-After": "0"}))
        self.assert_ends_with(self.client.say(self.talk("openai-chat"), "Hello?", patience_s=60), "model-error", 502)
        self.assertEqual(len(self.provider.seen), 1 + self.retry_count_max)

    def test_that_is_not_there_at_all_is_an_error_of_the_model(self):
        agent = self.client.post("/v1/agents", {"name": "Nowhere", "model": {
            "provider": "openai-chat", "name": "m", "base_url": "http://127.0.0.1:9/v1"}}).json()
        lines = self.client.say(self.conversation(agent_id=agent["id"]), "Hello?", patience_s=60)
        self.assert_ends_with(lines, "model-error", 502)

    def test_a_failed_turn_does_not_poison_the_next(self):
        for provider in PROVIDERS:
            self.provider.play(Answer(status=400), Answer(texts=("Better.",)))
            conversation = self.talk(provider)
            self.client.say(conversation, "First.")
            self.assertEqual(text_of(check_stream(self.client.say(conversation, "Second."))), "Better.")
            turns = self.provider.seen[1].body.get("messages") or self.provider.seen[1].body["input"]
            roles = [t["role"] for t in turns if t.get("role") in ("user", "assistant")]
            self.assertEqual(roles[-1], "user")
            self.assertIn("Second.", json.dumps(turns[-1]))


class AnAddressOfTheAgentsOwn(ProviderTest):
    agent_base_urls = "http://127.0.0.1:9|https://models.example/v1"

    def test_is_not_called_unless_the_operator_allows_it(self):
        """Or else a tenant could have the server call whatever only the server can reach."""
        elsewhere = self.emulator(Answer())
        for url in (elsewhere.url, self.server.url, self.provider.url + "/other", "http://127.0.0.1:99"):
            problem = check_stream(self.client.say(self.talk("openai-chat", url), "Hello?"))[-1]["data"]
            self.assertEqual(slug_of(problem), "agent-misconfigured")
            self.assertIn("models.agent_base_urls", problem["detail"])
        self.assertEqual(elsewhere.seen, [])

    def test_I17_is_a_public_one_unless_a_rule_names_it(self):
        server = Server("--sandbox.driver", "off", "--models.agent_base_urls", "*")
        self.addCleanup(server.remove)
        client = server.start().client()
        elsewhere = self.emulator(Answer())
        for url in (elsewhere.url, elsewhere.url.replace("127.0.0.1", "some.localhost")):
            agent = client.post("/v1/agents", {
                "name": url, "model": {"provider": "openai-chat", "name": "m", "base_url": url + "/v1"}}).json()
            conversation = client.post("/v1/conversations", {"agent_id": agent["id"]}).json()["id"]
            problem = check_stream(client.say(conversation, "Hello?"))[-1]["data"]
            self.assertRegex(problem["detail"], r" leads to (127\.0\.0\.1|::1), ")
        self.assertEqual(elsewhere.seen, [])

    def test_may_be_that_of_the_provider(self):
        self.provider.play(Answer(texts=("At home.",)))
        events = check_stream(self.client.say(self.talk("openai-chat", self.provider.url + "/v1"), "Hello?"))
        self.assertEqual(text_of(events), "At home.")


class TheLog(ProviderTest):
    def test_tells_of_failed_calls_and_not_what_the_provider_said(self):
        self.provider.play(Answer(status=503, error="a word of the provider"), Answer())
        answer = self.client.send(self.talk("openai-chat"), "Hello?")
        with answer.connection:
            list(answer.lines())
        run = answer.header("x-run-id")
        self.assertRegex(self.server.log(), f"warn  model call failed run={run} provider=openai-chat "
                                            r"class=overloaded attempt=1 retry_in_ms=\d+")
        self.assertNotIn("a word of the provider", self.server.log())


class Cancelling(ProviderTest):
    def test_hangs_up_on_the_provider(self):
        self.provider.play(Answer(texts=("Begun", "…"), silent_after=1))
        answer = self.client.send(self.talk("anthropic"), "Hello?")
        with answer.connection:
            lines = answer.lines()
            wait_until(lambda: b"Begun" in next(lines), "the first word")
            cancelled = self.client.post(f"/v1/runs/{answer.header('x-run-id')}/cancel")
            self.assertEqual(cancelled.json()["state"], "cancelled")
            self.assertEqual(slug_of(json.loads(list(lines)[-1])["data"]), "run-cancelled")


class WithoutAKey(ServerTest):
    def test_a_provider_that_needs_one_is_a_matter_of_configuration(self):
        model = {"provider": "anthropic", "name": "m"}
        agent = self.client.post("/v1/agents", {"name": "Keyless", "model": model}).json()
        events = check_stream(self.client.say(self.conversation(agent_id=agent["id"]), "Hello?"))
        self.assertEqual(slug_of(events[-1]["data"]), "agent-misconfigured")
        self.assertIn("ANTHROPIC_API_KEY", events[-1]["data"]["detail"])


class AServerThatIsKilled(unittest.TestCase):
    def test_I8_the_provider_continues_after_the_last_word(self):
        provider = Emulator(Answer(texts=("The tide ", "is "), silent_after=2), Answer(texts=("high.",)))
        self.addCleanup(provider.close)
        server = Server("--sandbox.driver", "off", "--providers.openai-chat.base_url", provider.url + "/v1",
                        env={"OPENAI_API_KEY": SECRET}).start()
        self.addCleanup(server.remove)
        client = server.client()
        agent = client.post("/v1/agents", {"name": "Tide", "model": {"provider": "openai-chat", "name": "m"}}).json()["id"]
        answer = client.send(client.post("/v1/conversations", {"agent_id": agent}).json()["id"], "How is the tide?")
        with answer.connection:
            told = 0
            for line in answer.lines():
                told += b'"content_delta"' in line
                if told == 2:
                    break
            server.kill()
        server.start()
        events = check_stream(server.client().events(answer.header("x-message-id")))
        self.assertEqual(text_of(events), "The tide is high.")
        turns = [(turn["role"], turn["content"]) for turn in provider.seen[1].body["messages"]]
        self.assertEqual(turns[-3:-1], [("user", "How is the tide?"), ("assistant", "The tide is")])


if __name__ == "__main__":
    unittest.main()
