// The Node of bench-js: the same work in the idiom of node:http, without Request and Response. By the
// environment: PORT, WORKLOAD, UPSTREAM_PORT, WWW (the folder of 10k.bin).
import fs from "node:fs";
import http from "node:http";

const { PORT, UPSTREAM_PORT, WORKLOAD, WWW } = process.env;
const UPSTREAM = `http://127.0.0.1:${UPSTREAM_PORT}/1k`;
const CHUNKS = 64;
const CHUNK = Buffer.alloc(16 * 1024, 120);
const STEPS = 10;
const SLEEP_MS = 5;
const FILE_BYTES = 10 * 1024;
const FIELDS = ["host", "user-agent", "accept", "accept-language", "authorization", "x-request-id",
                "cookie", "cache-control"];

function end(response, body, type = "text/plain") {
  response.writeHead(200, { "content-type": type, "content-length": Buffer.byteLength(body) });
  response.end(body);
}

function bodyOf(request) {
  return new Promise((resolve, reject) => {
    let text = "";
    request.setEncoding("utf8");
    request.on("data", (data) => text += data);
    request.on("end", () => resolve(text));
    request.on("error", reject);
  });
}

const step = async (value) => value + 1;

async function json(request, response) {
  const value = JSON.parse(await bodyOf(request));
  value.seen = value.items.length;
  end(response, JSON.stringify(value), "application/json");
}

function headers(request, response) {
  const url = new URL(request.url, `http://${request.headers.host}`);
  const parts = url.pathname.split("/");
  if (parts[1] !== "users" || parts[3] !== "posts") {
    response.writeHead(404).end();
    return;
  }
  let bytes = 0;
  for (const name of FIELDS) bytes += request.headers[name].length;
  const query = url.searchParams;
  end(response, `${parts[2]} ${parts[4]} ${query.get("page")} ${query.get("sort")} ${bytes}`);
}

async function sleep5(_request, response) {
  await new Promise((resolve) => setTimeout(resolve, SLEEP_MS));
  end(response, "slept");
}

async function chain(_request, response) {
  let value = 0;
  for (let i = 0; i < STEPS; ++i) value = await step(value);
  end(response, String(value));
}

async function fanout(_request, response) {
  const body = async () => (await fetch(UPSTREAM)).text();
  end(response, (await Promise.all([body(), body(), body()])).join(""));
}

function stream(_request, response) {
  response.writeHead(200);
  let sent = 0;
  const fill = () => {
    while (sent < CHUNKS) {
      ++sent;
      if (!response.write(Buffer.from(CHUNK))) {
        response.once("drain", fill);
        return;
      }
    }
    response.end();
  };
  fill();
}

function file(_request, response) {
  response.writeHead(200, { "content-length": FILE_BYTES });
  fs.createReadStream(`${WWW}/10k.bin`).pipe(response);
}

async function proxy(_request, response) {
  const answer = await fetch(UPSTREAM);
  const body = Buffer.from(await answer.arrayBuffer());
  response.writeHead(answer.status, { "content-type": answer.headers.get("content-type"),
                                      "content-length": body.length });
  response.end(body);
}

const plaintext = (_request, response) => end(response, "Hello, World!");
const handlers = { plaintext, json, headers, sleep5, chain, fanout, stream, file, proxy };

http.createServer({ keepAliveTimeout: 120_000 }, handlers[WORKLOAD])
  .listen(Number(PORT), "127.0.0.1", 4096);
