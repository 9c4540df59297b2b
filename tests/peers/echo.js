// A server that answers with what it saw, "METHOD TARGET [BODY]":  node echo.js PORT LOG
// It logs each head as "CLIENT head METHOD TARGET" and each request that came whole as
// "CLIENT METHOD TARGET [BODY]", before it answers.
'use strict';
const fs = require('node:fs');
const http = require('node:http');

const [port, path] = process.argv.slice(2);
const log = fs.openSync(path, 'a');

const server = http.createServer((request, response) => {
  const client = request.headers['x-forwarded-for'] ?? '-';
  fs.writeSync(log, `${client} head ${request.method} ${request.url}\n`);
  const pieces = [];
  request.on('data', (piece) => pieces.push(piece));
  request.on('error', () => {});  // cut off: the log has only its head
  request.on('end', () => {
    const seen = `${request.method} ${request.url} [${Buffer.concat(pieces)}]`;
    fs.writeSync(log, `${client} ${seen}\n`);
    response.end(seen);
  });
});
server.listen(Number(port), '127.0.0.1');
