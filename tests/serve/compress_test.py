#!/usr/bin/env python3
"""Compressed responses, and how many segments a stream takes (HST-1, JS-10)."""
import gzip
import http.client
import socket
import struct
import zlib

from served import PATIENCE_S, ServeTest, Weft, main, read_to_end

APP = """
import { sse } from "weft:http";

let go;
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
export default {
  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === "/text") return new Response("hello ".repeat(2000));
    if (pathname === "/small") return new Response("hello");
    if (pathname === "/bytes") {
      return new Response(new Uint8Array(10_000), { headers: { "content-type": "image/png" } });
    }
    if (pathname === "/go") { go(); return new Response("gone"); }
    if (pathname === "/events") {
      return sse(request, async (events) => {
        await events.send("first");
        await new Promise((done) => { go = done; });
        await events.send("second");
      });
    }
    if (pathname === "/chunks") {
      return new Response(new ReadableStream({
        async start(controller) {
          await sleep(20);
          for (let i = 0; i < 50; i++) controller.enqueue(new Uint8Array(10).fill(97));
          await sleep(20);
          for (let i = 0; i < 50; i++) controller.enqueue(new Uint8Array(10).fill(98));
          await sleep(20);
          controller.close();
        },
      }));
    }
    return new Response("ok");
  },
};
"""
# struct tcp_info, linux/tcp.h
TCP_INFO_BYTES = 192
DATA_SEGMENTS_IN_AT = 152


class Compressed(ServeTest):
    SOURCE = APP
    OPTIONS = {"config": {"listeners": [{"address": "127.0.0.1:0"}],
                          "apps": [{"entry": "app.js", "compress": True}]}}

    def test_HST_1_texts_are_compressed_for_who_takes_it(self):
        plain = self.weft.ask("/text")
        self.assertNotIn("content-encoding", plain.headers)
        for accepted, coding in [("gzip", "gzip"), ("br, gzip;q=0.5", "br"), ("zstd", "zstd"),
                                 ("gzip, br, zstd", "zstd"), ("deflate", None)]:
            answer = self.weft.ask("/text", headers={"accept-encoding": accepted})
            self.assertEqual(answer.headers.get("content-encoding"), coding, accepted)
            self.assertEqual(answer.headers["vary"], "Accept-Encoding")
            if coding:
                self.assertLess(len(answer.body), 1000)
            if coding == "gzip":
                self.assertEqual(gzip.decompress(answer.body), plain.body)

    def test_HST_1_what_is_not_worth_it_is_left_as_it_is(self):
        for path in ["/small", "/bytes"]:
            answer = self.weft.ask(path, headers={"accept-encoding": "gzip"})
            self.assertNotIn("content-encoding", answer.headers)

    def test_HST_1_events_arrive_as_they_are_sent(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.weft.port, timeout=PATIENCE_S)
        connection.request("GET", "/events", headers={"accept-encoding": "gzip"})
        response = connection.getresponse()
        self.assertEqual(response.headers["content-encoding"], "gzip")
        inflate = zlib.decompressobj(31)
        text = b""
        while b"first" not in text:  # the second is sent when this one is here
            text += inflate.decompress(response.read1(4096))
        self.assertNotIn(b"second", text)
        self.assertEqual(self.weft.ask("/go").text, "gone")
        while part := response.read1(4096):
            text += inflate.decompress(part)
        self.assertIn(b"data: second\n\n", text)
        connection.close()


class Segments(ServeTest):
    SOURCE = APP

    def test_HST_1_it_is_off_where_nobody_wants_it(self):
        answer = self.weft.ask("/text", headers={"accept-encoding": "gzip"})
        self.assertNotIn("content-encoding", answer.headers)

    def test_JS_10_chunks_of_one_turn_leave_at_once(self):
        # The head, two turns with fifty chunks each, the end.
        best = 1000
        for _ in range(5):
            client = self.weft.send("/chunks", headers="connection: close\r\n")
            text = b""
            while part := client.recv(65536):
                text += part
            info = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_BYTES)
            client.close()
            self.assertEqual(text.count(b"a" * 10), text.count(b"b" * 10))
            best = min(best, struct.unpack_from("I", info, DATA_SEGMENTS_IN_AT)[0])
        self.assertGreaterEqual(best, 2)  # the kernel counts them
        self.assertLessEqual(best, 4)


if __name__ == "__main__":
    main()
