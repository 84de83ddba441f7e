"""Doors between processes: a TCP proxy that passes bytes on, late, in part, or not at all.

What stands behind a door may be killed and come back on another port: whoever speaks to it knows the door only. Bytes
are never changed, doubled or put in another order: they end early or come late, as TCP itself allows.
"""
import heapq
import os
import random
import selectors
import socket
import struct
import threading
import time

PIECE = 65536
BUFFER_MAX = 4 * PIECE


class Way:
    """One direction of a connection."""

    def __init__(self, source, sink, left, delay_s):
        self.source, self.sink = source, sink
        self.left = left  # bytes until the cut; None: never
        self.delay_s = delay_s
        self.waiting = []  # (due, bytes)
        self.size = 0
        self.ended = False


class Wire:
    """A connection and its fellow behind the door."""

    def __init__(self, door, near, far):
        self.door, self.near, self.far = door, near, far
        up_cut, down_cut, delay_s = door.draw()
        self.ways = [Way(near, far, up_cut, delay_s), Way(far, near, down_cut, delay_s)]
        self.connected = False


class Door:
    """Listens; leads to `target`, a (host, port) or None for nobody."""

    def __init__(self, switchboard, name):
        self.switchboard, self.name, self.target = switchboard, name, None
        self.listener = socket.create_server(("0.0.0.0", 0), backlog=1024)
        self.listener.setblocking(False)
        self.port = self.listener.getsockname()[1]
        self.random = None
        self.cut_count = 0

    def storm(self, seed):
        """From now on about half of the connections break somewhere, and some are slow."""
        self.random = random.Random(seed)

    def calm(self):
        self.random = None

    def draw(self):
        """(bytes upwards until the cut, downwards, delay in seconds) of one connection."""
        chance = self.random
        if chance is None:
            return None, None, 0.0
        up = int(2 ** chance.uniform(0, 11)) if chance.random() < 0.2 else None
        down = int(2 ** chance.uniform(0, 15)) if chance.random() < 0.4 else None
        return up, down, chance.choice((0.0, 0.0, 0.0, 0.02, 0.3))

    def cut_all(self):
        self.switchboard.do(lambda: self.switchboard.cut(self))

    def half_cut(self, seconds):
        """Resets every connection towards its caller; what stands behind the door learns of it so much later, and goes on
        meanwhile with what it was asked."""
        self.switchboard.do(lambda: self.switchboard.half_cut(self, seconds))


class Switchboard(threading.Thread):
    """All doors, served by one thread."""

    def __init__(self):
        super().__init__(daemon=True)
        self.selector = selectors.DefaultSelector()
        self.wake_out, self.wake_in = os.pipe()
        os.set_blocking(self.wake_out, False)
        self.selector.register(self.wake_out, selectors.EVENT_READ, None)
        self.lock, self.orders = threading.Lock(), []
        self.wires = set()
        self.due = []  # (when, number, wire)
        self.half_dead = []  # (when, connection that is still open on the far side)
        self.number = 0
        self.stopped = False
        self.start()

    def open(self, name):
        door = Door(self, name)
        self.do(lambda: self.selector.register(door.listener, selectors.EVENT_READ, door))
        return door

    def do(self, order):
        with self.lock:
            self.orders.append(order)
        os.write(self.wake_in, b".")

    def close(self):
        def end():
            self.stopped = True
        self.do(end)
        self.join(10)

    def run(self):
        while not self.stopped:
            for key, mask in self.selector.select(self.patience()):
                if key.data is None:
                    os.read(self.wake_out, 4096)
                elif isinstance(key.data, Door):
                    self.welcome(key.data)
                elif key.data in self.wires:
                    self.serve(key.data, key.fileobj, mask)
            with self.lock:
                orders, self.orders = self.orders, []
            for order in orders:
                order()
            while self.due and self.due[0][0] <= time.monotonic():
                wire = heapq.heappop(self.due)[2]
                if wire in self.wires:
                    self.pump(wire)
            self.bury()
        for wire in list(self.wires):
            self.drop(wire)
        for key in list(self.selector.get_map().values()):
            if isinstance(key.data, Door):
                key.data.listener.close()

    def patience(self):
        times = [entry[0][0] for entry in (self.due, self.half_dead) if entry]
        return max(0.0, min(times) - time.monotonic()) if times else None

    def bury(self):
        while self.half_dead and self.half_dead[0][0] <= time.monotonic():
            self.half_dead.pop(0)[1].close()

    def welcome(self, door):
        try:
            near, _ = door.listener.accept()
        except OSError:
            return
        target = door.target
        if target is None:
            near.close()
            return
        near.setblocking(False)
        near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        far = socket.socket()
        far.setblocking(False)
        far.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        far.connect_ex(target)
        wire = Wire(door, near, far)
        self.wires.add(wire)
        self.selector.register(far, selectors.EVENT_WRITE, wire)

    def serve(self, wire, fellow, mask):
        if not wire.connected:
            if wire.far.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                return self.drop(wire)
            wire.connected = True
            self.selector.register(wire.near, selectors.EVENT_READ, wire)
        if mask & selectors.EVENT_READ:
            way = wire.ways[0] if fellow is wire.near else wire.ways[1]
            if not self.take(wire, way):
                return None
        return self.pump(wire)

    def take(self, wire, way):
        try:
            data = way.source.recv(PIECE)
        except BlockingIOError:
            return True
        except OSError:
            self.drop(wire)
            return False
        if not data:
            way.ended = True
            return True
        if way.left is not None:
            data = data[:way.left]
            way.left -= len(data)
        due = time.monotonic() + way.delay_s
        way.waiting.append((due, data))
        way.size += len(data)
        if way.delay_s:
            self.number += 1
            heapq.heappush(self.due, (due, self.number, wire))
        return True

    def pump(self, wire):
        """Writes what is due, then sees what each end is to be watched for."""
        now = time.monotonic()
        for way in wire.ways:
            while way.waiting and way.waiting[0][0] <= now:
                due, data = way.waiting[0]
                try:
                    sent = way.sink.send(data)
                except BlockingIOError:
                    break
                except OSError:
                    return self.drop(wire)
                way.size -= sent
                if sent == len(data):
                    way.waiting.pop(0)
                else:
                    way.waiting[0] = (due, data[sent:])
            if way.left == 0 and not way.waiting:
                wire.door.cut_count += 1
                return self.drop(wire)
            if way.ended and not way.waiting:
                return self.drop(wire)
        return self.watch(wire, now)

    def watch(self, wire, now):
        masks = {wire.near: 0, wire.far: 0}
        for way in wire.ways:
            if not way.ended and way.left != 0 and way.size < BUFFER_MAX:
                masks[way.source] |= selectors.EVENT_READ
            if way.waiting and way.waiting[0][0] <= now:
                masks[way.sink] |= selectors.EVENT_WRITE
        for end, mask in masks.items():
            known = self.selector.get_map().get(end.fileno())
            if mask and known is None:
                self.selector.register(end, mask, wire)
            elif mask and known.events != mask:
                self.selector.modify(end, mask, wire)
            elif not mask and known is not None:
                self.selector.unregister(end)

    def drop(self, wire):
        if wire not in self.wires:
            return
        self.wires.remove(wire)
        for end in (wire.near, wire.far):
            if end.fileno() in self.selector.get_map():
                self.selector.unregister(end)
            end.close()

    def cut(self, door):
        for wire in [w for w in self.wires if w.door is door]:
            door.cut_count += 1
            self.drop(wire)

    def half_cut(self, door, seconds):
        for wire in [w for w in self.wires if w.door is door and w.connected]:
            door.cut_count += 1
            self.wires.remove(wire)
            for end in (wire.near, wire.far):
                if end.fileno() in self.selector.get_map():
                    self.selector.unregister(end)
            wire.near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset, no farewell
            wire.near.close()
            self.half_dead.append((time.monotonic() + seconds, wire.far))
        self.half_dead.sort(key=lambda entry: entry[0])
