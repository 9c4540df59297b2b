#!/usr/bin/env python3
"""Two guests of a chat over WebSockets, by hand: what one says the other hears.

    chat.py HOST:PORT [PATH]
"""
import os
import socket
import sys


class Guest:
    def __init__(self, address, path):
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=10)
        self.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\n"
                            "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode())
        self.file = self.socket.makefile("rb")
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = self.file.readline()
            assert line, head
            head += line
        assert head.startswith(b"HTTP/1.1 101 "), head
        assert b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in head, head  # RFC 6455 §1.3

    def say(self, text):
        payload = text.encode()
        assert len(payload) < 126
        mask = os.urandom(4)
        masked = bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))
        self.socket.sendall(bytes([0x81, 0x80 | len(payload)]) + mask + masked)

    def hear(self):
        kind, size = self.file.read(2)
        assert kind == 0x81 and size < 126, (kind, size)
        return self.file.read(size).decode()

    def hear_until(self, text):
        heard = []
        while text not in heard:
            heard.append(self.hear())


def main():
    address, path = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "/"
    first = Guest(address, path)
    first.hear_until("Guest 1 is here")
    second = Guest(address, path)
    first.hear_until("Guest 2 is here")
    second.say("grüß dich")
    first.hear_until("Guest 2\tgrüß dich")
    second.hear_until("Guest 2\tgrüß dich")
    second.socket.close()
    second.file.close()
    first.hear_until("Guest 2 has left")


main()
