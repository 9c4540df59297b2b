#!/usr/bin/env python3
"""Files from JavaScript: the kernel sends them (JS-18)."""
import os
import threading
import unittest

from served import MIB, PATIENCE_S, SANITIZED, ServeTest, main, read_to_end

APP = """
import { file, files, router } from "weft:http";

const app = router();
const folder = new URL("./static/", import.meta.url);
app.get("/ok", () => "ok");
app.get("/static/{path:*}", files(folder));
app.get("/one", (ctx) => file(new URL("./large.bin", folder), { request: ctx.request }));
app.get("/named", async (ctx) => (await file(new URL("./a.txt", folder), {
  request: ctx.request, contentType: "text/x-own", headers: { "x-mine": "1" },
})).cookie("seen", "1"));
app.get("/read", async () => {
  const response = await file(new URL("./large.bin", folder));
  let bytes = 0;
  for await (const chunk of response.body) bytes += chunk.length;
  return { bytes };
});
app.get("/twice", async () => {
  const response = await file(new URL("./a.txt", folder));
  const copy = response.clone();
  return [await response.text(), await copy.text()];
});
app.get("/missing", (ctx) => file("/nowhere/at/all.txt", { request: ctx.request }));
app.get("/link", (ctx) => file(new URL("./link.txt", folder), { request: ctx.request }));
app.onError((error) => Response.json({ name: error.name, code: error.code }, { status: 500 }));
export default app;
"""
LARGE = 24 * MIB


class Files(ServeTest):
    SOURCE = APP

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        static = cls.weft.path / "static"
        static.mkdir()
        (static / "a.txt").write_text("0123456789")
        (static / "a.txt.gz").write_bytes(b"compressed")
        (static / "sub").mkdir()
        (static / "sub" / "index.html").write_text("index")
        (static / ".hidden").write_text("hidden")
        (cls.weft.path / "secret.txt").write_text("secret")
        os.symlink("../secret.txt", static / "out.txt")
        os.symlink("/etc", static / "etc")
        os.symlink("a.txt", static / "link.txt")
        with open(static / "large.bin", "wb") as large:
            for index in range(LARGE // MIB):
                large.write(bytes([index]) * MIB)

    def test_JS_18_a_file_has_its_length_type_and_validators(self):
        answer = self.weft.ask("/static/a.txt")
        self.assertEqual((answer.status, answer.text), (200, "0123456789"))
        self.assertEqual(answer.headers["content-length"], "10")
        self.assertEqual(answer.headers["content-type"], "text/plain; charset=utf-8")
        self.assertEqual(answer.headers["accept-ranges"], "bytes")
        self.assertEqual(self.weft.ask("/static/sub/").text, "index")

    def test_JS_18_what_a_client_has_is_not_sent_again(self):
        first = self.weft.ask("/static/a.txt")
        for name, value in [("if-none-match", first.headers["etag"]), ("if-none-match", "*"),
                            ("if-modified-since", first.headers["last-modified"])]:
            answer = self.weft.ask("/static/a.txt", headers={name: value})
            self.assertEqual((answer.status, answer.body), (304, b""), name)
            self.assertEqual(answer.headers["etag"], first.headers["etag"])
        self.assertEqual(self.weft.ask("/static/a.txt", headers={"if-match": '"x"'}).status, 412)

    def test_JS_18_ranges_one_several_and_none_that_is_there(self):
        def ask(value):
            return self.weft.ask("/static/a.txt", headers={"range": value})
        one = ask("bytes=2-5")
        self.assertEqual((one.status, one.text), (206, "2345"))
        self.assertEqual(one.headers["content-range"], "bytes 2-5/10")
        self.assertEqual(ask("bytes=-3").text, "789")
        several = ask("bytes=0-1,8-9")
        self.assertEqual(several.status, 206)
        self.assertTrue(several.headers["content-type"].startswith("multipart/byteranges"))
        self.assertEqual(several.body.count(b"Content-Range"), 2)
        none = ask("bytes=99-")
        self.assertEqual((none.status, none.headers["content-range"]), (416, "bytes */10"))

    def test_JS_18_HEAD_says_the_length_and_sends_nothing(self):
        answer = self.weft.ask("/one", method="HEAD")
        self.assertEqual((answer.status, answer.body), (200, b""))
        self.assertEqual(answer.headers["content-length"], str(LARGE))

    def test_JS_18_a_compressed_file_beside_it_is_sent_to_who_takes_it(self):
        answer = self.weft.ask("/static/a.txt", headers={"accept-encoding": "gzip"})
        self.assertEqual(answer.body, b"compressed")
        self.assertEqual(answer.headers["content-encoding"], "gzip")
        self.assertEqual(answer.headers["content-type"], "text/plain; charset=utf-8")
        self.assertEqual(answer.headers["vary"], "Accept-Encoding")
        self.assertNotIn("content-encoding", self.weft.ask("/static/a.txt").headers)

    def test_JS_18_no_path_leads_out_of_the_folder(self):
        for path in ["../secret.txt", "%2e%2e/secret.txt", "..%2fsecret.txt", "out.txt",
                     "etc/passwd", ".hidden", "sub", "a.txt/x", "a%00.txt", "none"]:
            answer = self.weft.ask(f"/static/{path}")
            self.assertEqual(answer.status, 404, f"{path}: {answer}")

    def test_JS_18_options_and_what_is_set_later_count(self):
        answer = self.weft.ask("/named")
        self.assertEqual(answer.text, "0123456789")
        self.assertEqual(answer.headers["content-type"], "text/x-own")
        self.assertEqual(answer.headers["x-mine"], "1")
        self.assertIn("seen=1", answer.headers["set-cookie"])

    def test_JS_18_a_script_may_read_it(self):
        self.assertEqual(self.weft.json("/read"), {"bytes": LARGE})
        self.assertEqual(self.weft.json("/twice"), ["0123456789"] * 2)

    def test_JS_18_a_link_that_is_named_is_followed_and_what_is_not_there_is_told(self):
        self.assertEqual(self.weft.ask("/link").text, "0123456789")
        answer = self.weft.ask("/missing")
        self.assertEqual((answer.status, answer.text), (500, '{"name":"Error","code":"NotFound"}'))

    def test_JS_18_new_content_is_seen(self):
        path = self.weft.path / "static" / "new.txt"
        for text in ["first", "second"]:
            other = path.with_suffix(".tmp")
            other.write_text(text)
            other.rename(path)
            self.weft.until(lambda text=text: self.weft.ask("/static/new.txt").text == text, text)
        path.unlink()
        self.weft.until(lambda: self.weft.ask("/static/new.txt").status == 404, "its end")

    @unittest.skipIf(SANITIZED, "its memory is not counted")
    def test_JS_18_a_large_file_passes_neither_script_nor_memory(self):
        self.weft.ask("/one")
        before = self.weft.rss()
        for _ in range(4):
            answer = self.weft.ask("/one")
            self.assertEqual(answer.body[MIB - 1:MIB + 1], b"\0\1")
            self.assertEqual(len(answer.body), LARGE)
        self.assertLess(self.weft.rss() - before, 8 * MIB)

    def test_JS_18_a_client_that_takes_slowly_and_leaves_holds_nobody_up(self):
        slow = self.weft.send("/one")
        slow.recv(4096)
        done = []
        threads = [threading.Thread(target=lambda: done.append(len(self.weft.ask("/one").body)))
                   for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_S)
        self.assertEqual(done, [LARGE] * 3)
        slow.close()
        self.assert_answers()

    def test_JS_18_several_files_on_one_connection(self):
        client = self.weft.send("/static/a.txt")
        client.sendall(b"GET /static/sub/ HTTP/1.1\r\nhost: t\r\n\r\n"
                       b"GET /ok HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n")
        text = read_to_end(client)
        self.assertEqual(text.count(b"HTTP/1.1 200"), 3)
        self.assertTrue(text.endswith(b"ok"))


if __name__ == "__main__":
    main()
