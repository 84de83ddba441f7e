"""codex, the real program, in the sandbox (H-1)."""
import unittest

from harness_fixture import HarnessTest
from harness_stories import Stories


class InTheBox(Stories, HarnessTest):
    agent_type = "codex"
    loosening = {"$CODEX_HOME/rules/default.rules": 'prefix_rule(pattern=["touch"], decision="allow")',
                 ".codex/rules/default.rules": 'prefix_rule(pattern=["touch"], decision="allow")'}


if __name__ == "__main__":
    unittest.main()
