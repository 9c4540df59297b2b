#!/usr/bin/env python3
"""What a handler reads of a request: its URL, its header fields and a body that came with the head
(JS-9, JS-16)."""
import json

from served import ServeTest, main, read_to_end

HEADS = """
const told = (request) => ({
  url: request.url,
  fields: [...request.headers],
  first: request.headers.get("x-first"),
});

const paths = {
  told: (request) => Response.json(told(request)),
  // Each URL is made of the one before, so that none may take the parts of another.
  urls(request) {
    const url = new URL(request.url);
    const other = new URL("http://other.example:81/a/b?c=d#e");
    const again = new URL(request.url);
    again.port = "99";
    again.searchParams.set("page", "4 5");
    const third = new URL(request.url);
    return Response.json([url, other, again, third].map(
      (one) => [one.href, one.host, one.pathname, one.search, one.hash]));
  },
  query(request) {
    return Response.json([...new URL(request.url).searchParams]);
  },
  text: async (request) => Response.json([await request.text(), request.bodyUsed]),
  async json(request) {
    const value = await request.json();
    return new Response(JSON.stringify(value));
  },
  async twice(request) {
    await request.text();
    return new Response(await request.json().catch((error) => error.name));
  },
  async cloned(request) {
    const clone = request.clone();
    return Response.json([await request.json(), await clone.text()]);
  },
};

export default {
  fetch(request) { return paths[new URL(request.url).pathname.slice(1)](request); },
};
"""


class HeadsTest(ServeTest):
    SOURCE = HEADS

    def fields(self, lines):
        with self.weft.send("/told", headers=lines + "connection: close\r\n") as client:
            answer = read_to_end(client)
        return json.loads(answer.split(b"\r\n\r\n", 1)[1])

    def test_JS_9_names_of_fields_are_in_lower_case_whether_they_are_known_or_not(self):
        told = self.fields("X-First: one\r\nACCEPT: */*\r\nuser-AGENT: me\r\nX-Second:\r\n")
        fields = dict(map(tuple, told["fields"]))
        self.assertEqual(told["first"], "one")
        self.assertEqual(fields["x-first"], "one")
        self.assertEqual(fields["accept"], "*/*")
        self.assertEqual(fields["user-agent"], "me")
        self.assertEqual(fields["x-second"], "")

    def test_JS_9_fields_of_one_name_are_joined_and_their_bytes_are_characters(self):
        told = self.fields("Accept: a\r\nX-First: one\r\nx-first: two\r\naccept: \xfc\r\n")
        fields = dict(map(tuple, told["fields"]))
        self.assertEqual(fields["x-first"], "one, two")
        self.assertEqual(fields["accept"].encode("latin-1").decode(), "a, \xfc")

    def test_JS_9_there_may_be_many_fields_and_long_ones(self):
        many = "".join(f"X-Name-{i}: {i}\r\n" for i in range(90))
        fields = dict(map(tuple, self.fields(many)["fields"]))
        self.assertEqual([fields[f"x-name-{i}"] for i in range(90)], [str(i) for i in range(90)])
        long = self.fields("X-First: " + "v" * 6000 + "\r\nCookie: " + "c" * 5000 + "\r\n")
        fields = dict(map(tuple, long["fields"]))
        self.assertEqual((len(fields["x-first"]), len(fields["cookie"])), (6000, 5000))

    def test_JS_9_URL_each_url_keeps_its_own_parts(self):
        base = f"http://127.0.0.1:{self.weft.port}/urls?page=3"
        url, other, again, third = self.weft.json("/urls?page=3")
        self.assertEqual(url[0], base)
        self.assertEqual(url[1:], [f"127.0.0.1:{self.weft.port}", "/urls", "?page=3", ""])
        self.assertEqual(other, ["http://other.example:81/a/b?c=d#e", "other.example:81", "/a/b",
                                 "?c=d", "#e"])
        self.assertEqual(again[0], "http://127.0.0.1:99/urls?page=4+5")
        self.assertEqual(third, url)

    def test_JS_9_URL_a_target_that_needs_the_parser_gets_it(self):
        self.assertEqual(self.weft.json("/a/../query?a=%41&b=c+d&&e"),
                         [["a", "A"], ["b", "c d"], ["e", ""]])

    def test_JS_9_a_body_that_came_with_its_head_is_read_as_text_and_json(self):
        text = "\u00e4 \u20ac \U0001f600"
        self.assertEqual(self.weft.json("/text", method="POST", body=text.encode()), [text, True])
        marked = b"\xef\xbb\xbf{}"
        self.assertEqual(self.weft.json("/text", method="POST", body=marked), ["{}", True])
        for value in ({"name": "plain", "n": [1, 2.5]}, {"n\u00e4me": text, "e": ""}, "x" * 3000,
                      "\u00e9" * 3000, ["y" * 1024, "\u20ac"]):
            body = json.dumps(value, ensure_ascii=False).encode()
            self.assertEqual(self.weft.json("/json", method="POST", body=body), value)

    def test_JS_9_json_of_a_body_that_is_none_fails_the_request(self):
        self.assertEqual(self.weft.ask("/json", method="POST", body=b"{").status, 500)

    def test_JS_9_a_body_is_read_once_and_by_each_clone(self):
        self.assertEqual(self.weft.ask("/twice", method="POST", body=b"{}").text, "TypeError")
        self.assertEqual(self.weft.json("/cloned", method="POST", body=b"[1]"), [[1], "[1]"])


if __name__ == "__main__":
    main()
