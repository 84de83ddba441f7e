"""Has a public linter judge openapi/openapi.yaml. It is installed once, at the locked version."""
import json
import os
import pathlib
import subprocess

SAYS_NOTHING_HOME = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}


def is_installed(folder):
    """Whether what npm installed is what the lock file asks for: npm writes down what it did in the same form."""
    try:
        wanted = json.loads((folder / "package-lock.json").read_text())["packages"]
        there = json.loads((folder / "node_modules" / ".package-lock.json").read_text())["packages"]
    except (OSError, ValueError, KeyError):
        return False
    return {name: package.get("integrity") for name, package in wanted.items() if name} == \
           {name: package.get("integrity") for name, package in there.items()}


def install(folder):
    """Nothing, or why the linter cannot be had."""
    if is_installed(folder):
        return None
    try:
        done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1",
                               "--fetch-timeout=60000"],
                              cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    except OSError as error:
        return f"npm cannot be run: {error}"
    if done.returncode != 0:
        return f"the OpenAPI linter is not installed, and npm ci in {folder} cannot install it:\n{done.stdout}"
    return None


def judge(root, say=print):
    """Whether the contract passes. A linter that cannot be had is a complaint too."""
    folder = pathlib.Path(root) / "openapi" / "lint"
    if why := install(folder):
        say(why)
        return False
    program = folder / "node_modules" / "@redocly" / "cli" / "bin" / "cli.js"
    done = subprocess.run(["node", str(program), "lint", "../openapi.yaml", "--config", "redocly.yaml", "--format", "stylish"],
                          cwd=folder, env={**os.environ, **SAYS_NOTHING_HOME}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        say(done.stdout)
    return done.returncode == 0
