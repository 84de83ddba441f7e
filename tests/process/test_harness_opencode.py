"""opencode, the real program, in the sandbox (H-1)."""
import unittest

from harness_fixture import HarnessTest
from harness_stories import Stories


class InTheBox(Stories, HarnessTest):
    agent_type = "opencode"
    loosening = {"opencode.json": '{"agent":{"build":{"permission":{"bash":"allow"}}}}',
                 "~/.config/opencode/opencode.json": '{"agent":{"build":{"permission":{"bash":"allow"}}}}'}


if __name__ == "__main__":
    unittest.main()
