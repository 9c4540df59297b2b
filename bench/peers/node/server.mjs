// The Node peer of the HTTP benchmarks, by the environment: PORT, WWW (the folder of 1m.bin).
import fs from "node:fs";
import http from "node:http";

const EVENT_PERIOD_MS = 100;
const large = fs.readFileSync(`${process.env.WWW}/1m.bin`);
const padding = "x".repeat(40);

function answer(response, type, body) {
  response.writeHead(200, { "content-type": type, "content-length": body.length });
  response.end(body);
}

function sendEvents(response) {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.flushHeaders();
  let number = 0;
  const timer = setInterval(() => response.write(`data: ${number++} ${padding}\n\n`),
                            EVENT_PERIOD_MS);
  response.on("close", () => clearInterval(timer));
}

const routes = {
  "/plaintext": (response) => answer(response, "text/plain", "Hello, World!"),
  "/1m.bin": (response) => answer(response, "application/octet-stream", large),
  "/events": sendEvents,
};

http.createServer({ keepAliveTimeout: 0 }, (request, response) => routes[request.url](response))
  .listen(Number(process.env.PORT), "127.0.0.1", 4096);
