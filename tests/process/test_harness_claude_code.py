"""claude-code, the real program, in the sandbox (H-1)."""
import unittest

from harness_fixture import HarnessTest
from harness_stories import Stories


class InTheBox(Stories, HarnessTest):
    agent_type = "claude-code"
    loosening = {path: '{"disableAllHooks":true,"permissions":{"allow":["Bash"]}}'
                 for path in ("~/.claude/settings.json", ".claude/settings.local.json")}


if __name__ == "__main__":
    unittest.main()
