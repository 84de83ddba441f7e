"""Threads as AG-UI clients keep them (H-2): loaded in mid-run, answered anew from a message on, run without a message."""
import json
import unittest

from agui_fixture import PEERS, AguiTest, body_of, user
from agui_grammar import check, frames, text_of
from provider_emulator import Answer, Emulator


class Threads(AguiTest):
    @classmethod
    def setUpClass(cls):
        cls.provider = Emulator()
        cls.addClassCleanup(cls.provider.close)
        cls.flags = (*AguiTest.flags, "--providers.openai-chat.base_url", cls.provider.url + "/v1")
        super().setUpClass()

    def hydrated(self, thread, query=""):
        return self.client.get(f"/agui?threadId={thread}&protocolVersion=1.0{query}").json()

    def texts(self, thread, query=""):
        return [(m["role"], m.get("content")) for m in self.hydrated(thread, query)["messages"] if m.get("content")]

    def test_H2_a_page_that_is_loaded_in_mid_run_shows_no_text_twice(self):
        thread, run = self.names()
        self.run_text("say Before.", "tanstack", thread)
        asked = user("say First.\n$ echo done\nsay Second.\nhang")
        answer = self.post(body_of("tanstack", thread, run, [asked]))
        with answer.connection:
            heard = ""
            for _, event in frames(answer.lines()):
                heard += event.get("delta", "") if event["type"] == "TEXT_MESSAGE_CONTENT" else ""
                if "Second." in heard:
                    break
            found = self.hydrated(thread)
            self.assertEqual(found["activeRun"], {"runId": run})
            self.assertEqual([m.get("content") for m in found["messages"]], ["say Before.", "Before.", asked["content"]])
            joined = self.client.open("GET", f"/agui?runId={run}&offset=-1")
            with joined.connection:
                told = ""
                for _, event in frames(joined.lines()):
                    told += event.get("delta", "") if event["type"] == "TEXT_MESSAGE_CONTENT" else ""
                    if "Second." in told:
                        break
            self.assertIn("First.", told)
        self.client.delete(f"/agui?runId={run}")
        self.assertIn(("assistant", "First."), self.texts(thread), "nothing joins it any more")

    def test_H2_a_message_that_is_sent_again_is_answered_anew_in_its_place(self):
        self.provider.play(*[Answer(texts=(text,)) for text in ("One.", "Two.", "Three.", "Anew.", "Then.")])
        agent = self.client.post("/v1/agents", {"name": "anew", "model": {"provider": "openai-chat", "name": "m"}}).json()
        path = f"/agui/{agent['id']}"
        thread, _ = self.names()
        first, second, third, last = (user(text) for text in ("first", "second", "third", "last"))
        edited = second | {"content": "second, in other words"}
        for messages in ([first], [first, second], [first, second, third], [first, edited], [first, edited, last]):
            framed = self.stream(body_of("tanstack", thread, self.names()[1], messages), path=path)
            where = check([event for _, event in framed])
        stands = [("user", "first"), ("assistant", "One."), ("user", "second, in other words"), ("assistant", "Anew."),
                  ("user", "last"), ("assistant", "Then.")]
        self.assertEqual(self.texts(thread), stands)
        ids = [m["id"] for m in self.hydrated(thread)["messages"]]
        self.assertEqual(len(ids), len(set(ids)), "every id stands there once")
        page = self.hydrated(thread, "&limit=1")["page"]
        older = self.texts(thread, f"&limit=10&before={page['cursor']}")
        self.assertEqual(older, stands[:4], "nor do older pages show what was replaced")
        shown = [[m["content"] for m in seen.body["messages"] if m["role"] != "system"] for seen in self.provider.seen]
        self.assertEqual(shown[3], ["first", "One.", "second, in other words"])
        self.assertEqual(shown[4], [content for _, content in stands[:5]])
        conversation = next(e["value"] for e in where if e.get("name") == "sluice.conversation")["conversationId"]
        told = [m["content"] for m in self.messages(conversation)]
        self.assertEqual(told[2:6], ["second", "Two.", "third", "Three."], "/v1 still lists all that was said")

    def test_H2_an_agent_that_is_run_without_a_message_tells_how_its_thread_stands(self):
        for peer in PEERS:
            thread, run = self.names()
            self.assertEqual(self.kinds(body_of(peer, thread, run, [])),
                             ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"], "of a thread that is not there yet")
            asked = user("say Hello.")
            self.stream(body_of(peer, thread, self.names()[1], [asked]))
            known = self.hydrated(thread)["messages"]
            for messages in ([], known):
                framed = self.stream(body_of(peer, thread, self.names()[1], messages))
                events = check([event for _, event in framed])
                self.assertEqual(events[1]["messages"], known)
            self.assertEqual(self.texts(thread), [("user", "say Hello."), ("assistant", "Hello.")], "nothing was run")

    def test_H2_a_tools_result_that_the_thread_has_already_is_not_refused(self):
        thread, run = self.names()
        tools = [{"name": "pick", "description": "Picks.", "parameters": {"type": "object"}}]
        asked = user("call pick {}\nsay Picked {{last}}")
        events = [e for _, e in self.stream(body_of("current", thread, run, [asked], tools=tools))]
        call = events[-1]["outcome"]["pendingToolCallIds"][0]
        picked = {"id": "picked-1", "role": "tool", "toolCallId": call, "content": "blue"}
        assistant = {"id": "a-1", "role": "assistant",
                     "toolCalls": [{"id": call, "type": "function", "function": {"name": "pick", "arguments": "{}"}}]}
        spoken = [asked, assistant, picked]
        went_on = [e for _, e in self.stream(body_of("current", thread, self.names()[1], spoken, tools=tools))]
        self.assertIn("blue", text_of(went_on))
        self.assertEqual(self.kinds(body_of("current", thread, self.names()[1], spoken, tools=tools)),
                         ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"])
        stranger = picked | {"toolCallId": "call-of-nobody"}
        self.assert_problem(self.client.post("/agui", body_of("current", thread, self.names()[1], [asked, stranger])),
                            422, "validation-error")

    def kinds(self, body):
        return [event["type"] for event in check([event for _, event in self.stream(body)])]

    def test_H2_a_picture_in_the_history_that_a_thread_begins_with_is_named_to_the_model(self):
        self.provider.play(Answer(texts=("I see.",)))
        agent = self.client.post("/v1/agents", {"name": "blind", "model": {"provider": "openai-chat", "name": "m"}}).json()
        thread, run = self.names()
        picture = {"type": "image", "source": {"type": "data", "value": "AAAA", "mimeType": "image/png"}}
        earlier = {"id": "u-picture", "role": "user", "content": [{"type": "text", "text": "Look:"}, picture]}
        body = body_of("current", thread, run, [earlier, {"id": "a", "role": "assistant", "content": "Hm."}, user("And?")])
        self.stream(body, path=f"/agui/{agent['id']}")
        self.assertIn("[image, which cannot be shown here]", json.dumps(self.provider.seen[0].body))


if __name__ == "__main__":
    unittest.main()
