"""A real PostgreSQL for process tests: a server on a socket in a folder of its own, gone with the test.

It runs as another user when the tests run as root, which PostgreSQL refuses to be.
"""

import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import threading
from pathlib import Path

from ports import lasting_port

PR_SET_PDEATHSIG = 1
MEMORY, MEMORY_BYTES_MIN = Path("/dev/shm"), 1 << 30


def programs():
    """The folder of the newest PostgreSQL that is installed, or None."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


def other_user():
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise RuntimeError("there is neither a user postgres nor nobody")


def make_home():
    """In memory where there is plenty of it: thousands of small files are made and removed there without waiting for a
    disk that others use. What a database keeps outlives its processes either way."""
    try:
        state = os.statvfs(MEMORY)
        is_roomy = state.f_bavail * state.f_frsize >= MEMORY_BYTES_MIN
    except OSError:
        is_roomy = False
    return tempfile.mkdtemp(prefix="sluice-pg-", dir=MEMORY if is_roomy else None)


class Postgres:
    """One server with one database. `port`: on loopback, too; else by its socket only."""

    def __init__(self, settings=(), port=None, directory=None, log_segment_mib=16, environment=None):
        self._programs = programs()
        if self._programs is None:
            raise FileNotFoundError("PostgreSQL is not installed (apt-get install postgresql)")
        self._user = other_user()
        self.directory = Path(directory or make_home())
        self._chown(self.directory)
        self.port = port
        self._settings = list(settings)
        self._environment = None if environment is None else {**os.environ, **environment}
        self._process = None
        self._reader = None
        self._ready = threading.Event()
        self.log = []
        self._log_segment_mib = log_segment_mib
        self._make_data()

    def _make_data(self):
        self._run("initdb", "-D", self._data, "-U", "sluice", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync",
                  f"--wal-segsize={self._log_segment_mib}")

    def _run(self, program, *words):
        subprocess.run([self._programs / program, *words], check=True, capture_output=True, cwd=self.directory,
                       preexec_fn=self._become_other)

    @property
    def _data(self):
        return self.directory / "data"

    def _chown(self, path):
        if self._user:
            os.chown(path, self._user.pw_uid, self._user.pw_gid)

    def _become_other(self):
        if self._user:
            os.setgid(self._user.pw_gid)
            os.setuid(self._user.pw_uid)
        # After the change of user, which would undo it: the server ends together with its parent process.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGQUIT)

    def start(self, *settings):
        command = [self._programs / "postgres", "-D", self._data, "-k", self.directory,
                   "-c", "shared_buffers=32MB", "-c", "max_connections=100", "-c", "log_min_messages=log",
                   "-c", f"listen_addresses={'127.0.0.1' if self.port else ''}"]
        if self.port:
            command += ["-c", f"port={self.port}"]
        for setting in [*self._settings, *settings]:
            command += ["-c", setting]
        self._ready.clear()
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                         errors="replace", cwd=self.directory, preexec_fn=self._become_other,
                                         env=self._environment)
        self._reader = threading.Thread(target=self._read_log, args=(self._process,), daemon=True)
        self._reader.start()
        if not self._ready.wait(60) or self._process.poll() is not None:
            raise RuntimeError("PostgreSQL does not start:\n" + "".join(self.log[-20:]))
        return self

    def _read_log(self, process):
        for line in process.stdout:
            self.log.append(line)
            del self.log[:-1000]
            if "ready to accept connections" in line or "ready to accept read-only connections" in line:
                self._ready.set()
        self._ready.set()

    def _end(self, how):
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGCONT)
            self._process.send_signal(how)
        self._process.wait(60)
        self._reader.join(60)  # until the last of its processes is gone
        self._process.stdout.close()
        self._process = None
        (self._data / "postmaster.pid").unlink(missing_ok=True)

    def stop(self, immediate=False):
        """In good order, or at once, as after a crash."""
        self._end(signal.SIGQUIT if immediate else signal.SIGINT)

    def kill9(self):
        """All of it, as when the machine's memory is gone."""
        self._end(signal.SIGKILL)

    @property
    def pid(self):
        return self._process.pid

    def close(self):
        self.stop(immediate=True)
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self):
        return self if self._process else self.start()

    def __exit__(self, *_):
        self.close()

    def pids(self):
        """The server and its sessions."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return [self.pid, *map(int, children)]

    def make_space(self, name, directory):
        """Another place for databases."""
        self._chown(directory)
        self.psql(f"CREATE TABLESPACE {name} LOCATION '{directory}'")

    def create_database(self, name):
        self.psql(f'CREATE DATABASE "{name}"')
        return self.url_of(name)

    def create_guarded_database(self, role, password):
        """A database whose owner is asked for a password: its URL, with {} for that."""
        rules = self._data / "pg_hba.conf"
        rules.write_text(f"local all {role} scram-sha-256\nhost all {role} 127.0.0.1/32 scram-sha-256\n{rules.read_text()}")
        self._process.send_signal(signal.SIGHUP)
        self.psql(f"CREATE ROLE {role} LOGIN PASSWORD '{password}'")
        self.psql(f"CREATE DATABASE {role} OWNER {role}")
        return self.url_of(role).replace("//sluice@", f"//{role}:{{}}@")

    def url_of(self, database):
        if self.port:
            return f"postgresql://sluice@127.0.0.1:{self.port}/{database}"
        return f"postgresql://sluice@/{database}?host={self.directory}"

    @property
    def url(self):
        return self.url_of("postgres")

    def psql(self, sql, database="postgres"):
        """What it says: one line a row, columns split by |."""
        done = subprocess.run([self._programs / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", self.url_of(database), "-c",
                               sql], capture_output=True, text=True, timeout=60)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        return done.stdout.strip()

    def hold(self, sql, database):
        """Holds what the SQL locks, until the answer is left."""
        return Holding([self._programs / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", self.url_of(database)], sql)


class Holding:
    """A session that keeps a transaction open until it is left; the SQL has been done when it is entered."""

    def __init__(self, command, sql):
        self._psql = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._psql.stdin.write(f"{sql}\n\\echo held\n")
        self._psql.stdin.flush()
        while self._psql.stdout.readline().strip() not in ("held", ""):
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._psql.communicate("COMMIT;\n", timeout=60)


class Standby(Postgres):
    """A copy of `primary`, which streams from it; read-only until it is promoted."""

    def __init__(self, primary, settings=(), port=None):
        self._primary = primary
        super().__init__(settings, port)

    def _make_data(self):
        self._run("pg_basebackup", "-D", self._data, "-d", self._primary.url, "-R", "-X", "stream", "-c", "fast",
                  "--no-sync")

    def promote(self):
        if self.psql("SELECT pg_promote()") != "t":
            raise RuntimeError("the standby is not promoted:\n" + "".join(self.log[-20:]))


class Pair:
    """A primary and its standby, both on loopback. From here on the primary commits nothing that the standby lacks."""

    def __init__(self, settings=()):
        self.primary = Postgres(settings, port=lasting_port())
        try:
            self.primary.start()
            self.standby = Standby(self.primary, settings, port=lasting_port())
        except BaseException:
            self.primary.close()
            raise
        # After the copy was made: once promoted it would else wait for a standby of its own.
        self.primary.psql("ALTER SYSTEM SET synchronous_standby_names = '*'")

    def start(self):
        self.standby.start()
        self.primary.psql("SELECT pg_reload_conf()")
        return self

    def is_synchronous(self):
        return self.primary.psql("SELECT sync_state FROM pg_stat_replication") == "sync"

    def url_of(self, database):
        """Of whichever of them may write."""
        hosts = f"127.0.0.1:{self.primary.port},127.0.0.1:{self.standby.port}"
        return f"postgresql://sluice@{hosts}/{database}?target_session_attrs=read-write"

    def close(self):
        self.standby.close()
        self.primary.close()
