"""The PostgreSQL of a world: reached by each node through a door of its own cable, killed and stopped like the rest."""
import os
import tempfile

from faults import children_of
from ports import lasting_port
from postgres import Postgres
from surroundings import Clock


class Database:
    def __init__(self, world):
        home = tempfile.mkdtemp(prefix="sluice-pg-")  # on a disk: one in memory would make fsync nothing
        os.chmod(home, 0o755)  # its clock is read by another user
        self.clock = Clock(home)
        self.postgres = Postgres(settings=["fsync=on"], port=lasting_port(), directory=home,
                                 environment=self.clock.environment()).start()
        self.up = True
        self.door = world.switchboard.open("database")
        self.door.target = ("127.0.0.1", self.postgres.port)

    def url_for(self, node):
        return f"postgresql://sluice@{node.network.outside}:{self.door.port}/postgres?connect_timeout=5"

    def kill(self):
        self.up = False
        self.postgres.kill9()

    def start(self):
        if not self.up:
            self.postgres.start()
            self.up = True

    def look_after(self):
        self.start()

    def processes(self):
        return [self.postgres.pid, *children_of(self.postgres.pid)]

    def backends(self):
        """Those of its processes that serve a connection."""
        rows = self.postgres.psql("SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' "
                                  "AND pid <> pg_backend_pid()")
        return [int(row) for row in rows.split()]

    def remove(self):
        self.postgres.close()
