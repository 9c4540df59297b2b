import { Hono } from "hono";
import { basicAuth } from "hono/basic-auth";
import { getCookie, setCookie } from "hono/cookie";
import { cors } from "hono/cors";
import { etag } from "hono/etag";
import { html } from "hono/html";
import { sign } from "hono/jwt";
import { streamSSE } from "hono/streaming";

const app = new Hono();
app.use(cors());
app.get("/", (c) => c.text("Hello Hono!"));
app.get("/json/:id", (c) => c.json({ id: c.req.param("id"), q: c.req.query("q") }));
app.post("/echo", async (c) => c.json(await c.req.json()));
app.post("/form", async (c) => c.json(Object.keys(await c.req.parseBody())));
app.get("/html", (c) => c.html(html`<p>${"<x>"}</p>`));
app.get("/events", (c) => streamSSE(c, async (stream) => {
  for (let i = 0; i < 3; i++) await stream.writeSSE({ data: String(i), id: String(i) });
}));
app.get("/cookie", (c) => {
  setCookie(c, "a", "b");
  return c.text(getCookie(c, "x") ?? "none");
});
app.get("/jwt", async (c) => c.text(await sign({ sub: "u" }, "secret", "HS256")));
app.use("/auth/*", basicAuth({ username: "u", password: "p" }));
app.get("/auth/x", (c) => c.text("in"));
app.use("/etag", etag());
app.get("/etag", (c) => c.text("etagged"));
app.get("/throw", () => {
  throw new Error("boom");
});
app.notFound((c) => c.text("nope", 404));
export default app;
