// For Node.js, with chrome-remote-interface: sets a breakpoint in debugged.js, as an editor does.
// node debugger.mjs DEBUGGER_PORT URL
import assert from "node:assert/strict";
import CDP from "chrome-remote-interface";

const [port, url] = process.argv.slice(2);
const targets = await CDP.List({ port });
assert.equal(targets.length, 1);
assert.equal(targets[0].type, "node");
assert.match((await CDP.Version({ port })).Browser, /^weft\//);

const client = await CDP({ port, target: targets[0] });
const { Debugger, HeapProfiler, Profiler, Runtime } = client;
const logged = new Promise((go) => Runtime.consoleAPICalled(go));
const paused = new Promise((go) => Debugger.paused(go));
await Runtime.enable();
await Debugger.enable();
await Debugger.setAsyncCallStackDepth({ maxDepth: 8 });
await Debugger.setBlackboxPatterns({ patterns: ["^weft:"] });
const { locations } = await Debugger.setBreakpointByUrl({ url: targets[0].url, lineNumber: 3 });
assert.equal(locations.length, 1);
await Profiler.enable();
await Profiler.start();

const response = fetch(new URL("/12345", url)).then((answer) => answer.text());
const { callFrames: [frame] } = await paused;
assert.equal(frame.functionName, "fetch");
const { result } = await Debugger.evaluateOnCallFrame({
  callFrameId: frame.callFrameId, expression: "answer += 0",
});
assert.equal(result.value, 6);
const { result: properties } = await Runtime.getProperties({
  objectId: frame.scopeChain[0].object.objectId,
});
assert.deepEqual(properties.map(({ name }) => name).sort(), ["answer", "request"]);
const { scriptSource } = await Debugger.getScriptSource({ scriptId: frame.location.scriptId });
assert.match(scriptSource, /the answer/);
await Debugger.resume();
assert.equal(await response, "42");
const { args: [text, object] } = await logged;
assert.equal(text.value, "the answer");
assert.equal(object.preview.properties[0].value, "42");

assert.ok((await Profiler.stop()).profile.nodes.length > 0);
let snapshot = "";
HeapProfiler.addHeapSnapshotChunk(({ chunk }) => { snapshot += chunk; });
await HeapProfiler.takeHeapSnapshot();
assert.ok(JSON.parse(snapshot).nodes.length > 0);
await client.close();
console.log("the debugger is content");
