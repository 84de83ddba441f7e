"""The same job made by hand in Python: FastAPI on uvicorn (uvloop, httptools), server-sent events, SQLite."""
from contender import HERE
from peers.peer import HandMade, debian_bytes, debian_version, free_port, need_debian

PACKAGES = ("python3-fastapi", "uvicorn", "python3-uvloop", "python3-httptools")


class FastApi(HandMade):
    name = "FastAPI by hand"
    listening = r"Uvicorn running on http://127\.0\.0\.1:(\d+)"

    def command(self):
        return ["/usr/bin/python3", "-m", "uvicorn", "server:app", "--app-dir", HERE / "peers" / "fastapi", "--port", str(free_port()),
                "--loop", "uvloop", "--http", "httptools", "--no-access-log", "--backlog", "4096"]

    def environment(self):
        return {"BENCH_HOME": str(self.home), "BENCH_KEY": self.key}

    def install(self):
        need_debian(*PACKAGES)

    def version(self):
        return f"fastapi {debian_version('python3-fastapi')}, uvicorn {debian_version('uvicorn')}"

    def installed_bytes(self):
        return debian_bytes(*PACKAGES)
