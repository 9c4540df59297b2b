// How requests reach the application's handler and how its responses are sent.
//
// For the host, realm.serve:
//   install(target, env)   takes the default export of the entry; returns whether it has a handler
//   dispatch(id)           calls the handler for a request
//   abort(id, why)         the client is gone, or the request has been answered without its handler
//   warn(id, why)          the server drains
//   end(id)                the request is over
//   repair()               a turn was ended by force, and the rest of its work is lost
//   expire(id, why)        the response was sent, and waitUntil() has held the request for too long

const {
  respond, respondFetch, respondFile, respondStream, bodyWrite, bodyClose, bodyFail, requestFail,
  requestHold, requestDeadline, requestLimit, requestRelease, requestWatch, continuationSet,
} = native;
const {
  asyncContext, body: bodies, events, formData, headers: headerLists, http, streams, time, timers,
  websocket,
} = realm;
const {
  ArrayBufferIsView, ArrayPrototypePush, FunctionPrototypeCall, Promise, PromisePrototypeThen,
  PromiseResolve, ReflectApply, RegExpPrototypeTest, SymbolToStringTag, TypeError,
} = realm.primordials;
const { Continuation } = asyncContext;
const { makeServerRequest, unpackResponse } = http;
const { DOMException } = globalThis;

const kThrew = 0;
const kNotAResponse = 1;
const kBodyFailed = 2;
const kFormTooLarge = 3;
const kUnsendable = 4;

let target = null;
let handler = null;
let environment = null;

// A request that the application is answering: until its response was sent, and as long as
// waitUntil() holds it.
class Call {
  constructor(id) {
    this.id = id;
    this.request = makeServerRequest(id);
    this.open = true;  // the script may be told if the request ends early
    this.pump = null;  // sends the stream of a response
    this.exchange = null;  // of a fetch whose response is being forwarded and which may be aborted
    this.held = 0;     // number of promises given to waitUntil(); -1: the time limit has expired
  }
}

// Indexed by the slot of a request in the host's table, which is the low bits of its number. The
// host reuses a slot when the request is over.
const calls = [];
const kPlaceMask = 0xfffff;

function find(id) {
  const call = calls[id & kPlaceMask];
  return call !== undefined && call.id === id ? call : undefined;
}

// The third argument of the handler.
class ExecutionContext {
  #call;
  #deadline = null;

  // For routers: the request must be answered this many milliseconds after it arrived.
  static limit(context, ms) {
    if (context !== null && typeof context === "object" && #call in context) {
      requestLimit(context.#call.id, ms);
    }
  }

  constructor(call) {
    this.#call = call;
  }

  waitUntil(promise) {
    if (arguments.length === 0) throw new TypeError("waitUntil needs a promise");
    const call = this.#call;
    // The request's data must remain readable after the response.
    http.materialize(call.request);
    if (call.held < 0) return;
    requestHold(call.id);
    call.held++;
    const release = () => {
      if (call.held < 0) return;
      call.held--;
      if (requestRelease(call.id)) timers.endRequest(call.id);
    };
    PromisePrototypeThen(PromiseResolve(promise), release, (error) => {
      events.reportException(error);
      release();
    });
  }

  passThroughOnException() {}

  get signal() {
    return this.#call.request.signal;
  }

  get deadline() {
    return this.#deadline ??= time.Deadline.after(requestDeadline(this.#call.id) ?? 0);
  }
}
Object.defineProperty(ExecutionContext.prototype, SymbolToStringTag, {
  __proto__: null, value: "ExecutionContext", configurable: true,
});

function install(exported, env) {
  environment = env;
  target = exported;
  handler = typeof exported === "function" ? exported : exported?.fetch;
  if (typeof handler !== "function") handler = null;
  // Defined by a script of the prelude that runs after this one.
  realm.weftHttp.declareRoutes(handler);
  return handler !== null;
}

// Whether the handler is responsible for the error. It is not if the client sent its body too
// slowly, incompletely or malformed, or if the handler was told to stop.
function isFault(call, error) {
  return !bodies.isFailureOf(call.id, error) && !http.wasAbortedWith(call.request, error);
}

function failed(call, error) {
  finish(call);
  const isTooLarge = formData.isTooLarge(error);
  const isClients = isTooLarge || bodies.isFailureOf(call.id, error);
  if (!isTooLarge && isFault(call, error)) events.reportException(error);
  requestFail(call.id, isTooLarge ? kFormTooLarge : isClients ? kBodyFailed : kThrew);
  endTimers(call);
}

// Removes the call from the table; other references to it remain valid.
function finish(call) {
  call.open = false;
  const place = call.id & kPlaceMask;
  if (!isHeld(call) && calls[place] === call) calls[place] = undefined;
}

function isHeld(call) {
  return call.held !== 0 || call.pump !== null || call.exchange !== null;
}

// Ends the timers of the request, unless waitUntil() holds it or the response of a fetch is still
// being forwarded, whose time limit is a timer.
function endTimers(call) {
  if (call.held === 0 && call.exchange === null) timers.endRequest(call.id);
}

// The fields are passed as arguments: reading an array natively costs as much as everything else.
function respondWith(id, status, list, body) {
  switch (list.length) {
    case 0: return respond(id, status, body);
    case 2: return respond(id, status, body, list[0], list[1]);
    case 4: return respond(id, status, body, list[0], list[1], list[2], list[3]);
    case 6:
      return respond(id, status, body, list[0], list[1], list[2], list[3], list[4], list[5]);
    default: {
      const all = [id, status, body];
      for (let i = 0; i < list.length; i++) ArrayPrototypePush(all, list[i]);
      return ReflectApply(respond, undefined, all);
    }
  }
}

function respondFileWith(id, status, list, content) {
  const all = [id, status, content];
  for (let i = 0; i < list.length; i++) ArrayPrototypePush(all, list[i]);
  ReflectApply(respondFile, undefined, all);
}

// Forwards the response of a fetch from socket to socket. If the fetch can be aborted, its exchange
// is kept until the whole body was sent.
function forward(call, status, list, { nativeFetch, exchange }) {
  const { id } = call;
  const mayAbort = exchange !== null && exchange.forwardTo(id);
  // A listener of the signal may read the request.
  if (mayAbort) http.materialize(call.request);
  const all = [id, status, nativeFetch, mayAbort];
  for (let i = 0; i < list.length; i++) ArrayPrototypePush(all, list[i]);
  if (ReflectApply(respondFetch, undefined, all)) call.exchange = exchange;
  else if (exchange !== null) exchange.end();
  finish(call);
  endTimers(call);
}

// An error fails the call at once: the body was used before, or the body of a fetch is gone.
function send(call, value) {
  try {
    sendUnpacked(call, value, unpackResponse(value));
  } catch (error) {
    failed(call, error);
  }
}

function sendUnpacked(call, value, unpacked) {
  if (unpacked === null) {
    finish(call);
    requestFail(call.id, kNotAResponse);
    return;
  }
  const { status, headerList, body } = unpacked;
  if (status === 0) {  // Response.error(), or an opaque response of fetch()
    finish(call);
    requestFail(call.id, kUnsendable);
    endTimers(call);
    return;
  }
  if (status === 101) {
    // The request is over when the socket is closed; then end() is called.
    if (!websocket.accept(call.id, value, headerList)) requestFail(call.id, kNotAResponse);
    return;
  }
  if (body === null || typeof body === "string" || ArrayBufferIsView(body)) {
    finish(call);
    respondWith(call.id, status, headerList, body);
    endTimers(call);
    return;
  }
  if (body.nativeFile !== undefined) {
    finish(call);
    respondFileWith(call.id, status, headerList, body.nativeFile);
    endTimers(call);
    return;
  }
  if (body.nativeFetch !== undefined) {
    forward(call, status, headerList, body);
    return;
  }
  sendStream(call, status, headerList, body);
}

function sendStream(call, status, headerList, stream) {
  const { id } = call;
  // The stream may read the request, whose data is released when the head of the response is sent.
  http.materialize(call.request);
  const declared = headerLists.get(headerList, "content-length");
  const length =
    declared !== null && RegExpPrototypeTest(/^[0-9]+$/, declared) ? +declared : -1;
  if (!respondStream(id, status, headerList, length)) {
    finish(call);
    streams.cancel(stream, new TypeError("The request is over"));
    return;
  }
  call.pump = streams.pumpToSink(
    stream, (chunks) => bodyWrite(id, chunks), () => bodyClose(id), (reason) => {
      if (isFault(call, reason)) events.reportException(reason);
      bodyFail(id);
    });
}

// The response was sent, or its client takes no more of it.
function end(id) {
  const call = find(id);
  if (call === undefined) {
    timers.endRequest(id);
    return;
  }
  const { exchange, pump } = call;
  if (pump !== null) {
    call.pump = null;
    pump.cancel(new TypeError("The client took no more of the response"));
  }
  if (exchange !== null) {
    call.exchange = null;
    exchange.end();
  }
  finish(call);
  endTimers(call);
}

function sendLater(call, promise) {
  PromisePrototypeThen(promise, (value) => send(call, value), (error) => failed(call, error));
}

function dispatch(id) {
  continuationSet(new Continuation(id, undefined));
  if (handler === null) {
    respond(id, 404, "There is no handler: export default { fetch(request) { ... } }");
    return;
  }
  const call = new Call(id);
  calls[id & kPlaceMask] = call;
  let result;
  try {
    result = FunctionPrototypeCall(
      handler, target, call.request, environment, new ExecutionContext(call));
  } catch (error) {
    failed(call, error);
    return;
  }
  if (result instanceof Promise) {
    requestWatch(id, result);
    sendLater(call, result);
  } else if (result !== null && typeof result === "object" && typeof result.then === "function") {
    sendLater(call, PromiseResolve(result));
  } else {
    send(call, result);
  }
}

function abortSignal(call, why) {
  http.abortServerRequest(call.request, new DOMException(why, "AbortError"));
}

// The server drains: signals listeners, so that work in progress can end properly, also after a
// response.
function warn(id, why) {
  const call = find(id);
  if (call !== undefined && (call.open || call.held > 0)) abortSignal(call, why);
}

function abort(id, why) {
  const call = find(id);
  if (call !== undefined && call.open) abortSignal(call, why);
  end(id);
}

function expire(id, why) {
  const call = find(id);
  if (call === undefined || call.held <= 0) return;
  call.held = -1;
  calls[id & kPlaceMask] = undefined;
  http.abortServerRequest(call.request, new DOMException(why, "TimeoutError"));
  timers.endRequest(id);
}

// The lost work may include a reaction to a promise that another request waits for. So the pumps of
// the streams that are being sent check by themselves how to go on.
function repair() {
  for (let place = 0; place < calls.length; place++) {
    const call = calls[place];
    if (call === undefined || call.pump === null) continue;
    continuationSet(new Continuation(call.id, undefined));
    streams.repairPump(call.pump);
  }
  continuationSet(undefined);
}

const { limit } = ExecutionContext;
delete ExecutionContext.limit;

realm.serve = { limit, install, dispatch, abort, warn, end, expire, repair };
