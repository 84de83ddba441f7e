"""opencode, the real program, in the sandbox (H-1)."""
import unittest

from harness_fixture import HarnessTest
from harness_stories import Stories


class InTheBox(Stories, HarnessTest):
    agent_type = "opencode"
    loosening = {"opencode.json": '{"agent":{"build":{"permission":{"bash":"allow"}}}}',
                 "~/.config/opencode/opencode.json": '{"agent":{"build":{"permission":{"bash":"allow"}}}}'}

    def test_H1_the_text_of_an_answer_that_broke_off_is_taken_back(self):
        events = self.tell(self.conversation(agent_id=self.agent()), "say I look.", "$ echo seen", "cut Half an ans",
                           "say The answer.")
        self.assertEqual(len([e for e in events if e["type"] == "replaced"]), 1)
        said = self.said(events)
        self.assertIn("I look.", said)
        self.assertTrue(said.endswith("The answer."), said)
        self.assertNotIn("Half", said)
        self.assertTrue([e for e in events if e["type"] == "log" and "asked again" in e["data"]["text"]])


if __name__ == "__main__":
    unittest.main()
