#!/usr/bin/env python3
"""Tests of the PostgreSQL that tests start:  tests/data/postgres_server_test.py"""
import os
import signal
import subprocess
import time
import unittest
from pathlib import Path

SERVER = Path(__file__).with_name("postgres_server")
# So long that only a broken server waits for it.
FAR_S = 120


class Server:
    def __init__(self):
        self.process = subprocess.Popen([SERVER], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self.words = {}
        for line in self.process.stdout:
            word, _, value = line.strip().partition(" ")
            if word == "ready":
                break
            self.words[word] = value
        self.folder = Path(self.words["folder"])

    def postmaster(self):
        return int((self.folder / "cluster/postmaster.pid").read_text().splitlines()[0])

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(FAR_S)


def is_alive(process):
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def mentions(folder):
    """The processes that were started with a file of this folder."""
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            if str(folder).encode() in Path(f"/proc/{process}/cmdline").read_bytes():
                found.append(process)
        except OSError:
            pass
    return found


def wait_until(done):
    end = time.monotonic() + FAR_S
    while not done() and time.monotonic() < end:
        time.sleep(0.02)
    return done()


class PostgresServer(unittest.TestCase):
    def expect_gone(self, process, folder):
        # The postmaster removes its last file shortly before it has ended.
        self.assertTrue(wait_until(lambda: not is_alive(process)))
        self.assertTrue(wait_until(lambda: not mentions(folder)), mentions(folder))

    def test_it_is_no_one_of_importance_in_a_folder_of_its_own(self):
        server = Server()
        process = server.postmaster()
        self.assertNotEqual(os.stat(f"/proc/{process}").st_uid, 0)
        self.assertTrue(str(server.folder).startswith("/tmp/weft-postgres-"))
        self.assertEqual(server.folder.stat().st_mode & 0o077, 0)
        server.close()
        self.assertEqual(server.process.returncode, 0)
        self.assertFalse(server.folder.exists())
        self.expect_gone(process, server.folder)

    def test_two_at_once_have_a_port_each(self):
        one, other = Server(), Server()
        self.assertNotEqual(one.words["port"], other.words["port"])
        one.close()
        self.assertTrue(is_alive(other.postmaster()))
        other.close()

    def test_nothing_is_left_of_one_that_is_killed(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
            server = Server()
            process = server.postmaster()
            server.process.send_signal(number)
            server.process.wait(FAR_S)
            self.assertTrue(wait_until(lambda folder=server.folder: not folder.exists()))
            self.expect_gone(process, server.folder)
            server.process.stdin.close()
            server.process.stdout.close()


if __name__ == "__main__":
    unittest.main()
