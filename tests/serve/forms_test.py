#!/usr/bin/env python3
"""Forms that clients send: how much of them is taken (HST-1)."""
from served import MIB, SANITIZED, ServeTest, main

APP = """
export default {
  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === "/ok") return new Response("ok");
    if (pathname === "/caught") {
      try {
        await request.formData();
      } catch (error) {
        return new Response(`${error.name}: ${error.message}`, { status: 400 });
      }
    }
    let bytes = 0;
    let count = 0;
    for (const [, value] of await request.formData()) {
      bytes += typeof value === "string" ? value.length : value.size;
      count++;
    }
    return Response.json([count, bytes]);
  },
};
"""
FORM = {"content-type": "multipart/form-data; boundary=B"}


def part(name, content, head=""):
    return (f'--B\r\ncontent-disposition: form-data; name="{name}"{head}\r\n\r\n'.encode() +
            content + b"\r\n")


def form(*parts):
    return b"".join(parts) + b"--B--\r\n"


class Forms(ServeTest):
    SOURCE = APP
    OPTIONS = {"limits": {"bodyBytes": 32 * MIB}}

    def post(self, body, path="/"):
        return self.weft.ask(path, "POST", body, FORM)

    def test_HST_1_a_form_has_a_thousand_parts_and_not_one_more(self):
        self.assertEqual(self.post(form(*[part("a", b"1")] * 1000)).text, "[1000,1000]")
        for count in (1001, 300_000):
            answer = self.post(form(*[part("a", b"1")] * count))
            self.assertEqual(answer.status, 413)
        self.assert_answers()

    def test_HST_1_the_head_of_a_part_is_bounded(self):
        self.assertEqual(self.post(form(part("a", b"1", f'; filename="{"f" * 7000}"'))).status, 200)
        self.assertEqual(self.post(form(part("a", b"1", f'; filename="{"f" * 9000}"'))).status, 413)
        # Of bytes that have no end of a head at all.
        self.assertEqual(self.post(b"--B\r\n" + b"x: y\r\n" * 100_000).status, 413)

    def test_HST_1_whoever_catches_it_answers_himself(self):
        answer = self.post(form(*[part("a", b"1")] * 1001), "/caught")
        self.assertEqual((answer.status, answer.text),
                         (400, "RangeError: The form has more than 1000 parts"))

    def test_HST_1_a_form_above_the_limit_of_the_body_is_413(self):
        # By what its head says: nobody has to send it all.
        client = self.weft.send("/", "POST", "content-type: multipart/form-data; boundary=B\r\n"
                                f"content-length: {33 * MIB}\r\n")
        self.assertIn(b"HTTP/1.1 413", client.recv(4096))
        client.close()

    def test_HST_1_forms_that_were_read_leave_nothing_behind(self):
        body = form(part("a", bytes(8 * MIB), '; filename="f"'))
        sizes = []
        for _ in range(6):
            for _ in range(4):
                self.assertEqual(self.post(body).text, f"[1,{8 * MIB}]")
            sizes.append(self.weft.rss())
        if not SANITIZED:
            self.assertLess(sizes[-1], max(sizes[:3]) + 32 * MIB)


if __name__ == "__main__":
    main()
