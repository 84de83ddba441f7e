"""The files in deploy/ are what their own tools take them for, and say nothing that the program does not understand."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import yaml

HERE = pathlib.Path(__file__).parent
DEPLOY = HERE.parent.parent / "deploy"
BINARY = os.environ["SLUICE_BINARY"]


def objects():
    for path in sorted((DEPLOY / "kubernetes").glob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text()):
            yield path.name, document


def containers():
    for name, document in objects():
        for container in document.get("spec", {}).get("template", {}).get("spec", {}).get("containers", []):
            yield name, container


def config(flags, environment):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")}
    return subprocess.run([BINARY, "config", *flags], env=kept | environment, capture_output=True, text=True, check=False)


class Kubernetes(unittest.TestCase):
    def test_every_object_conforms_to_the_schema_of_its_kind(self):
        if not (HERE / "node_modules").exists():
            npm = subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--fetch-retries=1", "--fetch-timeout=20000"],
                                 cwd=HERE, capture_output=True, text=True, check=False)
            if npm.returncode != 0:
                print(f"THE MANIFESTS WERE NOT CHECKED: npm ci failed.\n{npm.stderr}", file=sys.stderr)
                os._exit(77)
        lines = "\n".join(json.dumps(document) for _, document in objects())
        checked = subprocess.run(["node", "check_manifests.mjs"], cwd=HERE, input=lines, capture_output=True, text=True,
                                 check=False)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    def test_every_flag_and_variable_is_one_of_the_program(self):
        seen = 0
        for name, container in containers():
            if not container["image"].startswith("sluice:"):
                continue
            seen += 1
            environment = {entry["name"]: entry.get("value", "1") for entry in container["env"]
                           if entry["name"].startswith("SLUICE_")}
            verb, *flags = container["args"]
            self.assertIn(verb, ("serve", "runner"))
            shown = config(flags, environment)
            self.assertEqual(shown.returncode, 0, f"{name}: {shown.stderr}")
        self.assertEqual(seen, 2)

    def test_the_image_is_the_one_that_the_packages_make(self):
        version = re.search(r"project\(sluice .*VERSION ([\d.]+)", (DEPLOY.parent / "CMakeLists.txt").read_text())[1]
        images = {container["image"] for _, container in containers() if "sluice" in container["image"]}
        self.assertEqual(images, {f"sluice:{version}"})

    def test_every_secret_that_is_asked_for_is_in_the_example(self):
        kept = next(document for name, document in objects() if name == "secrets.example.yaml")
        asked = {entry["valueFrom"]["secretKeyRef"]["key"] for _, container in containers() for entry in container["env"]
                 if "secretKeyRef" in entry.get("valueFrom", {})}
        self.assertEqual(asked - set(kept["stringData"]), set())
        self.assertEqual(set(kept["stringData"]) - asked, set(), "an example of a secret that nobody asks for")


class Systemd(unittest.TestCase):
    def test_the_units_are_understood_by_systemd_and_by_the_program(self):
        self.assertIsNotNone(shutil.which("systemd-analyze"), "./dev test installs systemd")
        with tempfile.TemporaryDirectory() as folder:
            for unit in sorted((DEPLOY / "systemd").glob("*.service")):
                text = unit.read_text()
                command = re.search(r"^ExecStart=/usr/bin/sluice (serve|runner) (.*)$", text, re.M)
                self.assertIsNotNone(command, unit.name)
                flags = re.sub(r"--config \S+ ?", "", command[2]).split()
                self.assertEqual(config(flags, {}).returncode, 0)
                here = pathlib.Path(folder) / unit.name
                here.write_text(text.replace("/usr/bin/sluice", BINARY))
                verified = subprocess.run(["systemd-analyze", "verify", "--man=no", here], capture_output=True, text=True,
                                          check=False)
                self.assertEqual((verified.returncode, verified.stderr), (0, ""), unit.name)


if __name__ == "__main__":
    unittest.main()
