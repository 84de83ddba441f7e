"""Servers under measurement that share one PostgreSQL."""
import shutil
import sys

from contender import ROOT, Sluice, cpu_seconds_of, family_of, scratch_directory

sys.path.append(str(ROOT / "tests" / "process"))
from postgres import Postgres  # noqa: E402  # the tests' own: a private server in a directory

SLOTS = ("--capacity.max_running", "20000")
KEYS = ("--server.admin_key", "sk_adm_" + "a" * 43)


class OnPostgres(Sluice):
    """A server on a database of its own, or one more on a database that is there."""

    name = "PostgreSQL"

    def __init__(self, *flags, beside=None):
        super().__init__(*SLOTS, *KEYS, *flags)
        self.beside, self.postgres = beside, None

    def start(self):
        if self.beside is None:
            self.postgres = Postgres()
            self.postgres.start()
        self.home = scratch_directory()
        if self.beside is not None:
            # Nodes have their keys in common.
            (self.home / "data").mkdir(mode=0o700)
            for name in ("bootstrap.json", "vault.key"):
                shutil.copy(self.beside.home / "data" / name, self.home / "data" / name)
        self.launch()

    def url(self):
        return self.beside.url() if self.beside else self.postgres.url

    def command(self):
        return [*super().command(), "--store", self.url()]

    def database_cpu_seconds(self):
        return sum(cpu_seconds_of(pid) for pid in family_of(self.postgres.pid))

    def kept_bytes(self):
        return int(self.postgres.psql("SELECT pg_database_size(current_database())"))

    def log_bytes(self):
        """Written ahead since there is a database."""
        return int(self.postgres.psql("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn"))

    def stop(self):
        super().stop()
        if self.postgres:
            self.postgres.stop()


class OnSqlite(Sluice):
    name = "SQLite"

    def __init__(self, *flags):
        super().__init__(*SLOTS, *flags)

    def database_cpu_seconds(self):
        return 0  # it is in the server
