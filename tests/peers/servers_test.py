#!/usr/bin/env python3
"""Tests of servers.py: how the tests start the real servers that they need (TST-2)."""
import socket
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from servers import Servers, await_port, free_port  # noqa: E402

# Begins to listen a while after it has begun.
SERVER = "import socket, sys, threading; port = int(sys.argv[1]); gate = threading.Event()\n" \
         "gate.wait(0.2); s = socket.create_server(('127.0.0.1', port)); s.listen()\n" \
         "while True: s.accept()\n"


class PeerServers(unittest.TestCase):
    def test_TST_2a_a_server_is_awaited_on_its_free_port_and_leaves_nothing(self):
        with Servers() as one, Servers() as other:
            places = []
            for servers in (one, other):
                port = free_port()
                process = servers.start([sys.executable, "-c", SERVER, port])
                await_port(process, port)
                socket.create_connection(("127.0.0.1", port), 5).close()
                places.append((port, process, servers.folder))
            self.assertNotEqual(places[0][0], places[1][0])
            self.assertNotEqual(places[0][2], places[1][2])
            self.assertTrue(all(folder.exists() for _, _, folder in places))
        for _, process, folder in places:
            self.assertIsNotNone(process.poll())
            self.assertFalse(folder.exists())

    def test_TST_2a_a_server_that_ends_at_once_is_not_awaited(self):
        with Servers() as servers:
            process = servers.start([sys.executable, "-c", "raise SystemExit(3)"])
            with self.assertRaisesRegex(RuntimeError, "ended with 3"):
                await_port(process, free_port())


if __name__ == "__main__":
    unittest.main()
