"""grok-build, the real program, in the sandbox (H-1)."""
import unittest

from harness_fixture import HarnessTest
from harness_stories import Stories


class InTheBox(Stories, HarnessTest):
    agent_type = "grok-build"
    loosening = {"$GROK_HOME/settings.json": '{"permissions":{"allow":["Bash"]}}',
                 ".grok/config.toml": 'permission = { rules = [{ action = "allow", tool = "bash" }] }'}


if __name__ == "__main__":
    unittest.main()
