#!/usr/bin/env python3
"""Certificates that are replaced, and hosts that a connection is not for (HST-1, HST-5)."""
import os
import re
import signal
import socket
import ssl
import subprocess
import unittest

from served import PATIENCE_S, Weft, main

APP = "export default { fetch: () => new Response('ok') };"


def make_certificate(folder, name, *hosts):
    """A certificate and its key: folder/name.pem and folder/name.key."""
    names = ",".join(f"DNS:{host}" for host in hosts)
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                    "-addext", f"subjectAltName={names}", "-keyout", folder / f"{name}.key",
                    "-out", folder / f"{name}.pem"], check=True, capture_output=True)


def put(folder, name):
    """The certificate that is shown, in one step each."""
    for kind in ("key", "pem"):
        (folder / f"new.{kind}").write_bytes((folder / f"{name}.{kind}").read_bytes())
        os.replace(folder / f"new.{kind}", folder / f"shown.{kind}")


class Tls(unittest.TestCase):
    ARGUMENTS = ()

    def setUp(self):
        def prepare(folder):
            make_certificate(folder, "first", "a.example", "b.example")
            make_certificate(folder, "second", "a.example")
            put(folder, "first")

        self.weft = Weft(APP, folders=prepare, arguments=self.ARGUMENTS, config={
            "listeners": [{"address": "127.0.0.1:0"},
                          {"address": "127.0.0.1:0",
                           "tls": {"certificate": "shown.pem", "key": "shown.key"}}],
            "apps": [{"entry": "app.js", "hosts": ["a.example", "b.example", "c.example"]},
                     {"entry": "app.js", "hosts": ["d.example"], "path": "/d"}]})
        self.addCleanup(self.weft.close)
        second = self.weft.process.stdout.readline().decode()
        self.port = int(re.search(r"https://[\d.]+:(\d+)/", second)[1])

    def connect(self, name="a.example"):
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        plain = socket.create_connection(("127.0.0.1", self.port), PATIENCE_S)
        return context.wrap_socket(plain, server_hostname=name)

    def status(self, client, host="a.example", path="/"):
        client.sendall(f"GET {path} HTTP/1.1\r\nhost: {host}\r\n\r\n".encode())
        text = b""
        while b"\r\n\r\n" not in text:
            part = client.recv(4096)
            self.assertNotEqual(part, b"", text)
            text += part
        return int(text.split()[1])

    def shown(self):
        with self.connect() as client:
            return client.getpeercert(binary_form=True)

    def certificate(self, name):
        return ssl.PEM_cert_to_DER_cert((self.weft.path / f"{name}.pem").read_text())

    def test_HST_5_new_files_are_shown_and_connections_stay(self):
        with self.connect() as kept:
            self.assertEqual(self.status(kept), 200)
            self.assertEqual(self.shown(), self.certificate("first"))
            put(self.weft.path, "second")
            self.weft.until(lambda: self.shown() == self.certificate("second"), "the new one")
            self.assertEqual(self.status(kept), 200)

    def test_HST_5_files_that_cannot_be_used_leave_the_old_ones(self):
        (self.weft.path / "shown.pem").write_text("this is no certificate")
        self.weft.until(lambda: "stays as it was" in self.weft.log(), "the complaint")
        self.assertIn("shown.pem", self.weft.log())
        self.assertEqual(self.shown(), self.certificate("first"))
        # And when they are mended it goes on.
        put(self.weft.path, "second")
        self.weft.until(lambda: self.shown() == self.certificate("second"), "the new one")

    def test_HST_5_SIGHUP_reads_them_anew(self):
        # What the kernel does not tell of: another file under the same name, elsewhere.
        (self.weft.path / "elsewhere").mkdir()
        for kind in ("pem", "key"):
            path = self.weft.path / "elsewhere" / f"shown.{kind}"
            path.write_bytes((self.weft.path / f"first.{kind}").read_bytes())
            (self.weft.path / f"shown.{kind}").unlink()
            (self.weft.path / f"shown.{kind}").symlink_to(path)
        self.weft.until(lambda: self.lines("anew") > 0, "the links")
        for kind in ("pem", "key"):
            path = self.weft.path / "elsewhere" / f"shown.{kind}"
            path.write_bytes((self.weft.path / f"second.{kind}").read_bytes())
        self.assertEqual(self.shown(), self.certificate("first"))
        self.weft.process.send_signal(signal.SIGHUP)
        self.weft.until(lambda: self.shown() == self.certificate("second"), "the new one")

    def lines(self, text):
        os.set_blocking(self.weft.process.stdout.fileno(), False)
        return sum(text in line.decode() for line in self.weft.process.stdout)

    def test_HST_1_a_host_that_the_connection_is_not_for_is_421(self):
        with self.connect("a.example") as client:
            self.assertEqual(self.status(client), 200)
            self.assertEqual(self.status(client, "A.Example:8443"), 200)
            self.assertEqual(self.status(client, "b.example"), 200)  # of the same certificate
            self.assertEqual(self.status(client, "c.example"), 421)
            self.assertEqual(self.status(client), 200)
        with self.connect("c.example") as client:
            self.assertEqual(self.status(client, "c.example"), 200)

    def test_HST_1_a_host_of_nobody_is_421_and_a_path_of_nobody_404(self):
        for host, path, status in [("a.example", "/", 200), ("x.example", "/", 421),
                                   ("d.example", "/d", 200), ("d.example", "/", 404)]:
            answer = self.weft.ask(path, headers={"host": host})
            self.assertEqual(answer.status, status, f"{host} {path}")


class SupervisedTls(unittest.TestCase):
    """The signal reaches the process that serves."""

    setUp, connect, shown, certificate = Tls.setUp, Tls.connect, Tls.shown, Tls.certificate
    ARGUMENTS = ("--supervised",)

    def test_HST_5_SIGHUP_reaches_the_process_of_the_applications(self):
        put(self.weft.path, "second")
        self.weft.process.send_signal(signal.SIGHUP)
        self.weft.until(lambda: self.shown() == self.certificate("second"), "the new one")
        self.assertTrue(self.weft.alive())


if __name__ == "__main__":
    main()
