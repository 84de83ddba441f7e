"""What a server of MCP says besides the answers to calls, and what its answers name (H-6)."""
import json
import unittest

from mcp_server import McpServer
from server_process import ServerTest, wait_until


class SpokenTo(ServerTest):
    @classmethod
    def setUpClass(cls):
        cls.mcp = McpServer()
        cls.addClassCleanup(cls.mcp.close)
        cls.flags = ("--tools.urls", cls.mcp.url)
        super().setUpClass()
        agent = cls.client.post("/v1/agents", {
            "name": "odd", "model": {"provider": "offline", "name": "offline"},
            "mcp_servers": [{"name": "odd", "url": cls.mcp.url}],
            "policy": [{"effect": "allow", "host": "127.0.0.1"}]})
        assert agent.status == 201, agent.body
        cls.agent = agent.json()["id"]

    def events_of(self, *lines):
        """The events of a run, after which nothing of it is connected any more: what the server says next is for the next."""
        stream = self.client.send(self.conversation(agent_id=self.agent), "\n".join(lines), query="?detail=full")
        self.addCleanup(stream.close)
        events = [json.loads(line) for line in stream.lines()]
        wait_until(lambda: self.mcp.open_streams == 0, "its streams are closed")
        return events

    def said(self, *lines):
        events = self.events_of(*lines)
        self.assertEqual(events[-1]["type"], "message_end", events[-3:])
        return events[-1]["data"]["message"]["content"]

    def test_H6_a_tool_that_appears_during_a_run_can_be_called_in_the_next_round(self):
        self.assertEqual(self.said("call odd__grow {}", "call odd__late {}", "say {{last}}"), "Late, but there.")

    def test_H6_a_question_outside_of_a_call_is_answered_with_the_defaults_of_its_form(self):
        said = self.said("call odd__ask {}", "say {{last}}")
        self.assertEqual(json.loads(said), {"action": "accept", "content": {"table": "orders", "rows": 7}})

    def test_H6_an_answer_that_breaks_off_is_read_on_where_it_ended(self):
        self.assertEqual(self.said("call odd__break_off {}", "say {{last}}"), "The rest.")
        self.assertIn("cut-1", self.mcp.gets)

    def test_H6_what_a_result_links_to_can_be_read_and_a_picture_is_named(self):
        self.assertEqual(self.said("call odd__link {}", "say {{last}}"), "[resource odd://orders/7: order 7]")
        self.assertEqual(self.said('call odd__read_resource {"uri": "odd://orders/7"}', "say {{last}}"),
                         "What is behind odd://orders/7")
        self.assertEqual(self.said("call odd__draw {}", "say {{last}}"), "[image/png, 34 KB: not shown]")

    def test_H6_nothing_of_a_cancelled_run_stays_connected(self):
        stream = self.client.send(self.conversation(agent_id=self.agent), "call odd__hang {}")
        self.addCleanup(stream.close)
        wait_until(lambda: "hang" in self.mcp.called and self.mcp.open_streams > 0, "the tool is called, the server is heard")
        self.assertEqual(self.client.post(f"/v1/runs/{stream.header('x-run-id')}/cancel", {}).status, 200)
        wait_until(lambda: self.mcp.open_streams == 0, "its streams are closed")


if __name__ == "__main__":
    unittest.main()
