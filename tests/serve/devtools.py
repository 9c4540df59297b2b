"""A client of the DevTools protocol, over a WebSocket of its own."""
import base64
import collections
import http.client
import json
import os
import re
import socket
import struct

from served import PATIENCE_S

TEXT, CLOSE, PING, PONG = 1, 8, 9, 10


class Refused(Exception):
    pass


class Session:
    """One with the target of that URL. Messages are taken as they come."""

    def __init__(self, url, host=None, origin=None):
        place, port, path = re.fullmatch(r"ws://([\d.]+):(\d+)(/.*)", url).groups()
        self.socket = socket.create_connection((place, int(port)), PATIENCE_S)
        key = base64.b64encode(os.urandom(16)).decode()
        head = (f"GET {path} HTTP/1.1\r\nhost: {host or place}\r\nconnection: Upgrade\r\n"
                f"upgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: {key}\r\n")
        self.socket.sendall(f"{head}{f'origin: {origin}' if origin else 'x: y'}\r\n\r\n".encode())
        self.bytes = b""
        self.last = 0
        self.events = collections.deque()
        self.scripts = {}  # URLs by ids
        while b"\r\n\r\n" not in self.bytes:
            self.more()
        answer, _, self.bytes = self.bytes.partition(b"\r\n\r\n")
        if not answer.startswith(b"HTTP/1.1 101 "):
            self.socket.close()
            raise Refused(answer.split(b"\r\n")[0].decode())

    def more(self):
        part = self.socket.recv(1 << 20)
        if not part:
            raise EOFError
        self.bytes += part

    def take(self, count):
        while len(self.bytes) < count:
            self.more()
        taken, self.bytes = self.bytes[:count], self.bytes[count:]
        return taken

    def write(self, kind, payload):
        mask = os.urandom(4)
        count = len(payload)
        head = (struct.pack("!BB", 0x80 | kind, 0x80 | count) if count < 126
                else struct.pack("!BBH", 0x80 | kind, 0x80 | 126, count))
        masked = bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))
        self.socket.sendall(head + mask + masked)

    def receive(self):
        """The next message; EOFError when the other side has closed."""
        while True:
            first, second = self.take(2)
            count = second & 0x7F
            if count == 126:
                count = struct.unpack("!H", self.take(2))[0]
            elif count == 127:
                count = struct.unpack("!Q", self.take(8))[0]
            payload = self.take(count)
            kind = first & 15
            assert first & 0x80, "messages come in one piece"
            if kind == TEXT:
                message = json.loads(payload)
                if message.get("method") == "Debugger.scriptParsed":
                    script = message["params"]
                    self.scripts[script["scriptId"]] = script["url"]
                return message
            if kind == PING:
                self.write(PONG, payload)
            if kind == CLOSE:
                self.write(CLOSE, payload)
                raise EOFError

    def send(self, method, **parameters):
        self.last += 1
        text = json.dumps({"id": self.last, "method": method, "params": parameters})
        self.write(TEXT, text.encode())
        return self.last

    def answer_to(self, number):
        while True:
            message = self.receive()
            if message.get("id") == number:
                assert "error" not in message, message
                return message["result"]
            self.events.append(message)

    def ask(self, method, **parameters):
        return self.answer_to(self.send(method, **parameters))

    def wait_for(self, method):
        """The next event of that name; those before it are dropped."""
        while True:
            event = self.events.popleft() if self.events else self.receive()
            if event.get("method") == method:
                return event["params"]

    def url_of(self, frame):
        return self.scripts[frame["location"]["scriptId"]]

    def await_end(self):
        try:
            while True:
                self.events.append(self.receive())
        except (EOFError, ConnectionResetError):
            self.close()

    def close(self):
        self.socket.close()


def listening(text):
    """The URLs that a log tells of."""
    return re.findall(r"debugger listening on (ws://\S+)", text)


def get(url, path, **headers):
    """The status and the text of what the debugger's port answers."""
    place = re.match(r"ws://([\d.:]+)/", url)[1]
    connection = http.client.HTTPConnection(place, timeout=PATIENCE_S)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()
