#!/usr/bin/env python3
"""Bodies that stream, in both directions: pace, ends and memory (JS-9, JS-10, JS-16)."""
import hashlib
import random
import socket
import time

from served import LONG, MIB, ServeTest, main, read_to_end

BODIES = """
const counts = { pulls: 0, cancels: 0, errors: 0 };
const chunk = () => new Uint8Array(16384).fill(120);
const sleep = (ms) => new Promise((go) => setTimeout(go, ms));
const endless = () => new ReadableStream({
  pull(controller) { counts.pulls++; controller.enqueue(chunk()); },
  cancel() { counts.cancels++; },
});

const paths = {
  ok: () => new Response("ok"),
  counts: () => Response.json(counts),
  endless: () => new Response(endless()),
  through: () => new Response(endless().pipeThrough(new TransformStream())),
  async upload(request) {
    let bytes = 0;
    for await (const part of request.body) bytes += part.byteLength;
    return new Response(String(bytes));
  },
  async hash(request) {
    const digest = await crypto.subtle.digest("SHA-256", await request.arrayBuffer());
    const hex = (byte) => byte.toString(16).padStart(2, "0");
    return new Response([...new Uint8Array(digest)].map(hex).join(""));
  },
  async clones(request) {
    const clone = request.clone();
    const again = clone.clone();
    const texts = [await again.text(), await request.text(), await clone.text()];
    return new Response(texts.every((text) => text === texts[0]) ? texts[0] : "they differ");
  },
  async remade(request) {
    const made = new Request(request, { headers: { "x-made": "1" } });
    return new Response(await made.text() + made.headers.get("x-made") + request.bodyUsed);
  },
  async branches(request) {
    const [one, two] = request.body.tee();
    const texts = await Promise.all([new Response(one).text(), new Response(two).text()]);
    return new Response(texts.join());
  },
  echo: (request) => new Response(request.body, { headers: { "x-echo": "1" } }),
  piped: (request) => new Response(request.body.pipeThrough(new TransformStream())),
  async slowUpload(request) {
    for await (const part of request.body) { await sleep(1); }
    return new Response("read");
  },
  unread: () => new Response("not read"),
  async cloned(request) {
    const [one, two] = await Promise.all([request.clone().text(), request.text()]);
    return new Response(one + two);
  },
  async caught(request) {
    try { await request.text(); } catch (error) { return new Response(error.code); }
    return new Response("read");
  },
  async half(request) { const reader = request.body.getReader();
    await reader.read(); return new Response("half"); },
  quiet() {
    return new Response(new ReadableStream({
      async start(controller) {
        controller.enqueue(new TextEncoder().encode("data: first\\n\\n"));
        await sleep(1500);
        controller.enqueue(new TextEncoder().encode("data: last\\n\\n"));
        controller.close();
      },
    }), { headers: { "content-type": "text/event-stream" } });
  },
  badChunk: () => new Response(new ReadableStream({
    start(controller) { controller.enqueue({ no: "bytes" }); controller.close(); },
  })),
  async failing() {
    return new Response(new ReadableStream({
      async pull(controller) {
        controller.enqueue(chunk());
        await sleep(5);
        controller.error(new Error("the stream failed on purpose"));
      },
    }));
  },
  loopInPull: () => new Response(new ReadableStream({
    pull(controller) { controller.enqueue(chunk()); for (;;); },
  })),
  length: () => new Response(new ReadableStream({
    start(controller) {
      controller.enqueue(new Uint8Array(1000)); controller.enqueue(new Uint8Array(234));
      controller.close();
    },
  }), { headers: { "content-length": "1234" } }),
  short: () => new Response(new ReadableStream({
    start(controller) { controller.enqueue(new Uint8Array(10)); controller.close(); },
  }), { headers: { "content-length": "1234" } }),
  long: () => new Response(new ReadableStream({
    start(controller) { controller.enqueue(new Uint8Array(2000)); controller.close(); },
  }), { headers: { "content-length": "1234" } }),
  named: () => new Response(new ReadableStream({
    start(controller) { controller.enqueue(new Uint8Array(10)); controller.close(); },
  }), { headers: { "Content-Length": "10" } }),
  declared: () => new Response(null, { headers: { "Content-Length": "123" } }),
  unchanged: () => new Response(null, { status: 304, headers: { "content-length": "123" } }),
  wrong: () => new Response(null, { headers: { "content-length": "12x" } }),
  fixed: () => new Response("x".repeat(321)),
  blob: () => new Response(new Blob(["y".repeat(1048576)])),
  started: () => new Response(new ReadableStream({
    start(controller) { controller.enqueue(new TextEncoder().encode("a b c"));
      controller.close(); },
  })),
};

export default {
  fetch(request) { return paths[new URL(request.url).pathname.slice(1)](request); },
};
"""


class Uploads(ServeTest):
    SOURCE = BODIES
    OPTIONS = {"limits": {"handlerDeadlineMs": 120_000, "cpuMs": 60_000, "bodyBytes": 1 << 31}}

    def test_JS_9_an_upload_is_streamed(self):
        size = (1024 if LONG else 256) * MIB
        self.weft.ask("/upload", "POST", b"x" * 200_000)
        before = self.weft.rss()
        client = self.weft.send("/upload", "POST",
                                f"content-length: {size}\r\nconnection: close\r\n")
        piece = b"x" * MIB
        most = 0
        for index in range(size // MIB):
            client.sendall(piece)
            if index % 16 == 0:
                most = max(most, self.weft.rss())
        self.assertIn(str(size).encode(), read_to_end(client))
        # What was read is garbage until the next collection, and V8 makes one for every 64 MiB
        # outside of its heap at the latest.
        self.assertLess(most - before, 96 * MIB)


class QuietStream(ServeTest):
    SOURCE = BODIES
    OPTIONS = {"limits": {"handlerDeadlineMs": 1000}}

    def test_JS_5_a_quiet_stream_outlives_the_deadline(self):
        client = self.weft.send("/quiet", headers="connection: close\r\n")
        self.assertIn(b"data: last", read_to_end(client))


class Streams(ServeTest):
    SOURCE = BODIES
    OPTIONS = {"limits": {"handlerDeadlineMs": 60_000, "cpuMs": 2000, "bodyBytes": 1 << 31}}

    def counts(self):
        return self.weft.json("/counts")

    def test_JS_9_pull_stops_when_the_client_takes_nothing(self):
        for path in ["/endless", "/through"]:
            with self.subTest(path):
                before = self.weft.rss()
                client = socket.socket()
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
                client.connect(("127.0.0.1", self.weft.port))
                client.sendall(f"GET {path} HTTP/1.1\r\nhost: test\r\n\r\n".encode())
                self.assertEqual(client.recv(12), b"HTTP/1.1 200")

                def stands_still():
                    first = self.counts()["pulls"]
                    time.sleep(0.5)
                    return self.counts()["pulls"] == first

                # When the system's buffers for the socket are full, which a slow machine does late.
                self.weft.until(stands_still, "the end of the pulls")
                self.assertLess(self.weft.rss() - before, 12 * MIB)
                cancels = self.counts()["cancels"]
                client.close()
                self.weft.until(lambda: self.counts()["cancels"] > cancels, "the cancel")

    def test_JS_9_bodies_come_whole_in_both_directions(self):
        for size in [0, 1, 5, 16383, 65536, 65537, 1_000_000]:
            with self.subTest(size):
                body = random.Random(size).randbytes(size)
                hashed = self.weft.ask("/hash", "POST", body)
                self.assertEqual(hashed.text, hashlib.sha256(body).hexdigest())
                echoed = self.weft.ask("/echo", "POST", body)
                self.assertEqual(echoed.body, body)
                self.assertEqual(echoed.headers["x-echo"], "1")

    def test_JS_9_a_body_is_had_through_clones_and_branches(self):
        for body in [b"hello", bytes(300_000).replace(b"\0", b"z")]:
            with self.subTest(len(body)):
                self.assertEqual(self.weft.ask("/clones", "POST", body).body, body)
                self.assertEqual(self.weft.ask("/remade", "POST", body).body, body + b"1true")
                self.assertEqual(self.weft.ask("/branches", "POST", body).body, body + b"," + body)

    def test_JS_9_an_upload_is_piped_back_whole(self):
        for size in [1, 10, 5_000, 70_000, 300_000]:
            # A small one comes with its head, and may have been read before the answer begins.
            for _ in range(20):
                self.assertEqual(self.weft.ask("/piped", "POST", b"x" * size).body, b"x" * size)

    def test_JS_9_an_upload_in_chunks(self):
        client = self.weft.send("/hash", "POST",
                                "transfer-encoding: chunked\r\nconnection: close\r\n")
        for piece in [b"he", b"llo", b" world"]:
            client.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
            time.sleep(0.02)
        client.sendall(b"0\r\n\r\n")
        self.assertIn(hashlib.sha256(b"hello world").hexdigest().encode(), read_to_end(client))

    def test_JS_9_an_upload_in_chunks_is_cloned(self):
        client = self.weft.send("/cloned", "POST",
                                "transfer-encoding: chunked\r\nconnection: close\r\n")
        for piece in [b"he", b"llo"]:
            client.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
            time.sleep(0.02)
        client.sendall(b"0\r\n\r\n")
        self.assertIn(b"hellohello", read_to_end(client))

    def test_JS_16_an_unread_upload_does_no_harm(self):
        for path, text in [("/unread", b"not read"), ("/half", b"half")]:
            with self.subTest(path):
                client = self.weft.send(path, "POST", "content-length: 300000\r\n")
                try:
                    client.sendall(b"x" * 300_000)
                except (BrokenPipeError, ConnectionResetError):
                    pass
                try:
                    self.assertIn(text, client.recv(65536))
                except ConnectionResetError:
                    pass
                client.close()
                self.assert_answers()

    def test_JS_9_a_client_that_aborts_at_any_byte_fails_alone(self):
        body = b'{"a": "' + b"x" * 40 + b'"}'
        head = b"POST /hash HTTP/1.1\r\nhost: test\r\ncontent-length: %d\r\n\r\n" % len(body)
        whole = head + body
        for path in [b"/hash", b"/slowUpload", b"/echo", b"/endless"]:
            request = whole.replace(b"/hash", path)
            step = 1 if LONG else 5
            for offset in range(0, len(request) + 1, step):
                client = self.weft.connect()
                client.sendall(request[:offset])
                client.close()
        self.assertTrue(self.weft.alive(), self.weft.log()[-3000:])
        self.assert_answers()

    def test_JS_9_a_client_that_aborts_while_it_reads_fails_alone(self):
        for count in range(1, 200_000, 1_000 if LONG else 9_000):
            client = self.weft.send("/endless")
            read = 0
            while read < count:
                read += len(client.recv(min(65536, count - read)))
            client.close()
        self.assert_answers()

    def test_JS_16_a_chunk_that_is_no_bytes_fails_its_request_alone(self):
        answer = read_to_end(self.weft.send("/badChunk", headers="connection: close\r\n"))
        self.assertNotIn(b"\r\n0\r\n\r\n", answer)
        self.assert_answers()

    def test_JS_16_a_stream_that_fails_cuts_the_response_off(self):
        answer = read_to_end(self.weft.send("/failing", headers="connection: close\r\n"))
        self.assertIn(b" 200 ", answer)
        self.assertFalse(answer.endswith(b"0\r\n\r\n"))
        self.assertIn("the stream failed on purpose", self.weft.log())
        self.assert_answers()

    def test_JS_16_an_upload_that_is_cut_off_is_no_fault_of_who_sends_it_back(self):
        client = self.weft.send("/echo", "POST", "content-length: 10\r\n", b"abc")
        got = b""
        while b"abc" not in got:
            part = client.recv(65536)
            self.assertNotEqual(part, b"", got)
            got += part
        client.shutdown(socket.SHUT_WR)
        self.assertNotIn(b"\r\n0\r\n", read_to_end(client))
        self.assert_answers()
        self.assertNotIn("the body was cut off", self.weft.log())

    def test_JS_5_an_endless_loop_in_pull_ends_the_response(self):
        client = self.weft.send("/loopInPull")
        answer = read_to_end(client)
        self.assertFalse(answer.endswith(b"0\r\n\r\n"), answer[:100])
        self.assert_answers()

    def test_JS_9_the_length_of_a_stream_is_kept(self):
        answer = self.weft.ask("/length")
        self.assertEqual(answer.headers["content-length"], "1234")
        self.assertEqual(len(answer.body), 1234)
        answer = self.weft.ask("/named")
        self.assertEqual((answer.headers["content-length"], len(answer.body)), ("10", 10))

    def test_JS_9_a_length_without_a_body_is_kept_where_it_may_stand(self):
        for path, method, length in [("/declared", "HEAD", "123"), ("/declared", "GET", "0"),
                                     ("/unchanged", "GET", "123"), ("/unchanged", "HEAD", "123"),
                                     ("/wrong", "HEAD", "0")]:
            with self.subTest(path + method):
                answer = self.weft.ask(path, method)
                self.assertEqual((answer.headers["content-length"], answer.body), (length, b""))

    def test_JS_9_HEAD_has_the_length_and_no_body(self):
        for path, length in [("/length", "1234"), ("/fixed", "321"), ("/blob", "1048576")]:
            with self.subTest(path):
                answer = self.weft.ask(path, "HEAD")
                self.assertEqual(answer.headers["content-length"], length)
                self.assertEqual(answer.body, b"")
        cancels = self.counts()["cancels"]
        self.assertEqual(self.weft.ask("/endless", "HEAD").status, 200)
        self.weft.until(lambda: self.counts()["cancels"] > cancels, "the cancel after HEAD")

    def test_JS_9_a_body_that_differs_from_its_length_aborts_the_connection(self):
        for path in ["/short", "/long"]:
            with self.subTest(path):
                answer = read_to_end(self.weft.send(path))
                body = answer.partition(b"\r\n\r\n")[2]
                self.assertLessEqual(len(body), 1234)
        self.assert_answers()

    def test_JS_10_chunks_of_start_arrive_and_blobs_are_whole(self):
        self.assertEqual(self.weft.ask("/started").text, "a b c")
        self.assertEqual(len(self.weft.ask("/blob").body), MIB)


class StalledWhileReplaced(ServeTest):
    SOURCE = BODIES.replace("const paths = {", """const kept = [];
const paths = {
  bomb() { for (;;) kept.push(new Array(1000).fill(Math.random())); },""")
    OPTIONS = {"limits": {"heapMiB": 32, "cpuMs": 10_000}}

    def test_JS_7_streams_of_an_isolate_that_is_replaced_end_with_it(self):
        stalled = [self.weft.send("/endless") for _ in range(4)]
        for client in stalled:
            self.assertEqual(client.recv(12), b"HTTP/1.1 200")
        time.sleep(0.3)  # so that they stall
        answer = self.weft.ask("/bomb")
        self.assert_failed(answer, "HeapLimit")
        self.assert_answers()
        for client in stalled:
            self.assertFalse(read_to_end(client).endswith(b"0\r\n\r\n"))
        self.assert_answers()


class BodiesThatFail(ServeTest):
    SOURCE = BODIES
    OPTIONS = {"limits": {"bodyBytes": 256 * 1024}}

    def test_JS_16_a_body_that_fails_is_answered_by_what_is_wrong_with_it(self):
        large = b"1000\r\n" + b"x" * 4096 + b"\r\n"
        for path, pieces, status in [
                ("/upload", [large] * 200, b"413"), ("/hash", [large] * 200, b"413"),
                ("/cloned", [large] * 200, b"413"), ("/caught", [large] * 200, b"200"),
                ("/hash", [b"5\r\nhello", b"this is no end of a chunk"], b"400"),
                ("/hash", [b"5\r\nhel"], b"400")]:
            with self.subTest(f"{path} {status}"):
                before = self.weft.log()
                client = self.weft.send(path, "POST", "transfer-encoding: chunked\r\n")
                try:
                    for piece in pieces:
                        client.sendall(piece)
                        time.sleep(0.001)
                    client.shutdown(socket.SHUT_WR)
                except OSError:
                    pass  # it has been answered
                self.assertTrue(read_to_end(client).startswith(b"HTTP/1.1 " + status))
                self.assertNotIn("uncaught", self.weft.log()[len(before):])
        self.assert_answers()


CHAT = """
const text = (words) => new TextEncoder().encode(words);
const news = [];   // of streams whose chunks others put in
const pulls = [];  // of streams that are asked for chunks
let begun = 0;

const paths = {
  ok: () => new Response("ok"),
  begun: () => Response.json(begun),
  news() {
    begun++;
    return new Response(new ReadableStream({
      start(controller) { news.push(controller); controller.enqueue(text("first")); },
    }));
  },
  pulled() {
    begun++;
    let count = 0;
    return new Response(new ReadableStream({
      pull(controller) {
        if (count++ > 0) {
          controller.enqueue(text("again"));
          controller.close();
          return undefined;
        }
        controller.enqueue(text("first"));
        return new Promise((go) => pulls.push(go));
      },
    }));
  },
  async cutOff() {
    await null;
    for (const controller of news.splice(0)) {
      controller.enqueue(text("again"));
      controller.close();
    }
    for (const go of pulls.splice(0)) go();
    for (;;);
  },
};

export default {
  fetch(request) { return paths[new URL(request.url).pathname.slice(1)](request); },
};
"""


class Bystanders(ServeTest):
    SOURCE = CHAT
    OPTIONS = {"limits": {"cpuMs": 40}}

    def test_JS_5_streams_go_on_when_another_request_is_ended_in_the_same_drain(self):
        for path in ["/news", "/pulled"]:
            with self.subTest(path):
                clients = [self.weft.begin(path, headers="connection: close\r\n")
                           for _ in range(3)]
                for client in clients:
                    seen = b""
                    while b"first" not in seen:
                        seen += client.recv(65536)
                self.assert_failed(self.weft.ask("/cutOff"), "CpuLimit")
                for client in clients:
                    self.assertIn(b"again", read_to_end(client))
                self.assert_answers()


if __name__ == "__main__":
    main()
