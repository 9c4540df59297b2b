// How requests reach the application's handler and how its responses leave.
//
// For the host, realm.serve:
//   install(target, env)   the default export of the entry; gives whether it has a handler
//   dispatch(id)           calls the handler for a request
//   abort(id, why)         the client is gone, or the request has been answered without its handler
//   warn(id, why)          the server drains
//   end(id)                the request is over
//   repair()               a turn was ended by force, and what it would still have run is lost
//   expire(id, why)        its response has been sent, and waitUntil() has held it for too long

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

// A request that is with the application: until its response has been sent, and as long as
// waitUntil() holds it.
class Call {
  constructor(id) {
    this.id = id;
    this.request = makeServerRequest(id);
    this.open = true;  // the script may want to know that it ends early
    this.pump = null;  // of a response whose stream is being sent
    this.exchange = null;  // of a fetch whose response is being passed on, and which may be ended
    this.held = 0;     // by so many promises that were given to waitUntil(); -1: for too long
  }
}

// By the place that a request has in the host's table, which is in the low bits of its number. The
// host gives a place to another request when the one before is over.
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

  // For routers: the request is to be answered so many milliseconds after it came.
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
    // What the request says must outlive its response.
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
  // A script that is part of the prelude later than this one.
  realm.weftHttp.declareRoutes(handler);
  return handler !== null;
}

// Whether the handler is to blame: not for what its client sends too slowly, cuts off or gets
// wrong, and not where it gives up when it is told to.
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

// Whoever else holds the call keeps it; the table does not.
function finish(call) {
  call.open = false;
  const place = call.id & kPlaceMask;
  if (!isHeld(call) && calls[place] === call) calls[place] = undefined;
}

function isHeld(call) {
  return call.held !== 0 || call.pump !== null || call.exchange !== null;
}

// What waitUntil() holds goes on, and the time of a fetch whose response is being passed on.
function endTimers(call) {
  if (call.held === 0 && call.exchange === null) timers.endRequest(call.id);
}

// The fields are arguments: reading a list from outside costs as much as all the rest.
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

// From socket to socket. What may end the fetch may do so until all of its body has been sent: its
// exchange is kept for that long.
function passOn(call, status, list, { nativeFetch, exchange }) {
  const { id } = call;
  const mayEnd = exchange !== null && exchange.passOnTo(id);
  // Whoever listens to its signal may ask what the request was.
  if (mayEnd) http.materialize(call.request);
  const all = [id, status, nativeFetch, mayEnd];
  for (let i = 0; i < list.length; i++) ArrayPrototypePush(all, list[i]);
  if (ReflectApply(respondFetch, undefined, all)) call.exchange = exchange;
  else if (exchange !== null) exchange.end();
  finish(call);
  endTimers(call);
}

// What cannot be sent fails the call at once: its body was used, or that of a fetch is gone.
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
  if (status === 0) {  // Response.error(), or one of fetch() that shows nothing
    finish(call);
    requestFail(call.id, kUnsendable);
    endTimers(call);
    return;
  }
  if (status === 101) {
    // Its request is over when the socket is closed; end() is called then.
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
    passOn(call, status, headerList, body);
    return;
  }
  sendStream(call, status, headerList, body);
}

function sendStream(call, status, headerList, stream) {
  const { id } = call;
  // The stream may ask what the request was, which goes with the head of the response.
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

// The response has been sent, or nobody takes it any more.
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

// The server drains: whoever wants to knows, and what is under way may end well, also behind a
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

// A promise that a bystander waits for may have been among what was lost: the streams that are being
// sent go on by themselves.
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
