// setTimeout, setInterval, setImmediate, queueMicrotask and the functions that clear them.
//
// All timers of the isolate are in one binary heap, ordered by deadline and then by creation. The
// host has one native timer, armed for the earliest deadline, and calls runDue() when it fires.
// Every callback is a task of its own: it runs in the asynchronous context of its creation, a
// microtask checkpoint follows it, an error is reported and stops no other callback, and each has
// the full time limit of a turn. When callbacks together take long, runDue() stops between two of
// them, arms the native timer for at once so that the host serves other connections, and continues
// when it fires.
//
// A timer belongs to the request that made it, or to the application (0), and ends with it.
//
// For other scripts and for the host, realm.timers:
//   setTimeoutInternal(fn, ms, holds, request)
//                        an opaque handle; ms may have a fraction and may be 0
//   clearTimeoutInternal(handle)
//   runDue(now)          the owner's loop, when the native timer has fired
//   repair()             the owner's loop, after a turn that was ended by force
//   endRequest(id)       ends all timers of the request
//   setLastId(id)        for tests: the next timer gets the id after this one
//   pendingCount(id)     how many timers and immediates of the request could still run;
//                        those that do not hold (such as AbortSignal.timeout's) do not count
const { timerArm, timersHold, monotonicNow, endCallback, reportUncaught } = native;
const { continuationGet, continuationSet } = native;
const {
  ArrayPrototypePush, ArrayPrototypeSort,
  MapPrototypeDelete, MapPrototypeForEach, MapPrototypeGet, MapPrototypeHas, MapPrototypeSet, MathFloor,
  ObjectDefineProperty, Promise, PromisePrototypeThen, ReflectApply, TypeError,
} = realm.primordials;
const global = globalThis;

const kWaiting = 0;
const kEnded = 1;

// Web IDL: the functions that clear a timer take a long.
const kIdMax = 0x7fffffff;

// The pending timers of a request or of the application, as a list for endRequest().
class Owner {
  constructor(request) {
    this.request = request;
    this.first = null;
    this.holding = 0;
  }
}

class Timer {
  constructor(callback, args, deadline, period, owner, holds) {
    this.callback = callback;
    this.args = args;
    this.deadline = deadline;
    this.sequence = ++sequence;
    this.period = period;  // 0: once
    this.owner = owner;
    this.holds = holds;
    this.context = continuationGet();
    this.state = kWaiting;
    this.place = -1;       // index in the heap
    this.id = 0;           // 0: the application does not know it
    this.immediate = false;
    this.after = null;     // next in the queue of immediates
    this.previous = null;  // in the owner's list
    this.next = null;
    const first = owner.first;
    if (first !== null) {
      this.next = first;
      first.previous = this;
    }
    owner.first = this;
    if (holds) ++owner.holding;
    else ++nonHolding;
  }
}

let sequence = 0;
let lastId = 0;
let armed = Infinity;
let nonHolding = 0;    // number of timers that do not hold
let reportedHolding = true;
const heap = [];
let heapSize = 0;
// Made with the first timer: tables hashed at run time cannot be part of the snapshot.
let timersById = null;
let owners = null;
let lastOwner = null;
let immediates = null;
let immediatesLast = null;
// State of runDue(), which may stop between two callbacks and continue later.
let running = false;
let dueUntil = 0;           // the deadlines that were due when it began,
let dueSequence = 0;        // and the last timer made by then
let immediatesEnd = null;   // the last immediate that was queued when the timers had run

// ---- the heap

function before(a, b) {
  return a.deadline < b.deadline || (a.deadline === b.deadline && a.sequence < b.sequence);
}

function siftUp(timer, place) {
  while (place > 0) {
    const parentPlace = (place - 1) >> 1;
    const parent = heap[parentPlace];
    if (!before(timer, parent)) break;
    heap[place] = parent;
    parent.place = place;
    place = parentPlace;
  }
  heap[place] = timer;
  timer.place = place;
}

function siftDown(timer, place) {
  const half = heapSize >> 1;
  while (place < half) {
    let childPlace = 2 * place + 1;
    let child = heap[childPlace];
    const right = childPlace + 1;
    if (right < heapSize && before(heap[right], child)) {
      childPlace = right;
      child = heap[right];
    }
    if (!before(child, timer)) break;
    heap[place] = child;
    child.place = place;
    place = childPlace;
  }
  heap[place] = timer;
  timer.place = place;
}

function heapAdd(timer) {
  siftUp(timer, heapSize++);
}

function heapRemove(timer) {
  const place = timer.place;
  timer.place = -1;
  const last = heap[--heapSize];
  heap[heapSize] = undefined;
  if (last === timer) return;
  if (place > 0 && before(last, heap[(place - 1) >> 1])) siftUp(last, place);
  else siftDown(last, place);
}

function arm() {
  const deadline = immediates !== null ? 0 : heapSize > 0 ? heap[0].deadline : Infinity;
  if (deadline === armed) return;
  armed = deadline;
  timerArm(deadline);
}

function armNoLaterThan(deadline) {
  if (deadline >= armed) return;
  armed = deadline;
  timerArm(deadline);
}

// Tells the host whether a timer is left that keeps a script from ending. Only needed while there
// are timers that do not.
function reportHolding() {
  const holding = nonHolding === 0 || heapSize > nonHolding || immediates !== null;
  if (holding === reportedHolding) return;
  reportedHolding = holding;
  timersHold(holding);
}

// ---- owners

function currentRequest() {
  const continuation = continuationGet();
  return continuation === undefined ? 0 : continuation.request;
}

function ownerOf(request) {
  if (lastOwner !== null && lastOwner.request === request) return lastOwner;
  if (owners === null) {
    owners = new Map();
    timersById = new Map();
  }
  let owner = MapPrototypeGet(owners, request);
  if (owner === undefined) {
    owner = new Owner(request);
    MapPrototypeSet(owners, request, owner);
  }
  lastOwner = owner;
  return owner;
}

// Removes the timer from every table. Code that still holds it sees its state as ended.
function end(timer) {
  timer.state = kEnded;
  if (timer.place >= 0) heapRemove(timer);
  if (nonHolding > 0) {
    if (!timer.holds) --nonHolding;
    reportHolding();
  }
  unlink(timer);
}

// NB: Neither here nor where the constructor of Timer inserts it into the list may there be a loop
// or a call of a function of ours: repair() relies on complete lists.
function unlink(timer) {
  if (timer.id !== 0) MapPrototypeDelete(timersById, timer.id);
  const { owner, previous, next } = timer;
  if (previous !== null) previous.next = next;
  else owner.first = next;
  if (next !== null) next.previous = previous;
  timer.previous = null;
  timer.next = null;
  if (timer.holds) --owner.holding;
  timer.callback = null;
  timer.args = null;
  timer.context = undefined;
  if (owner.first !== null || owner.request === 0) return;
  MapPrototypeDelete(owners, owner.request);
  if (lastOwner === owner) lastOwner = null;
}

// After the last id the numbering restarts at one, skipping ids that an interval still has.
function nextId() {
  do lastId = lastId === kIdMax ? 1 : lastId + 1;
  while (MapPrototypeHas(timersById, lastId));
  return lastId;
}

function makeKnown(timer) {
  timer.id = nextId();
  MapPrototypeSet(timersById, timer.id, timer);
  return timer.id;
}

// ---- creation

function start(callback, args, ms, period, holds, request) {
  const deadline = monotonicNow() + ms;
  const timer = new Timer(callback, args, deadline, period, ownerOf(request), holds);
  heapAdd(timer);
  if (nonHolding > 0) reportHolding();
  armNoLaterThan(deadline);
  return timer;
}

function requireCallback(name, handler) {
  // NB: The HTML standard also compiles strings here. That would be eval(); it is refused.
  if (typeof handler !== "function") {
    throw new TypeError(`${name}: the handler is not a function`);
  }
}

// HTML: the timeout is a Web IDL long, negative ones are 0. NB: The minimum delay is 1 ms, as in
// Node.js, and nesting does not increase it.
function delayOf(timeout) {
  const delay = timeout | 0;
  return delay < 1 ? 1 : delay;
}

function clear(id, immediate) {
  if (timersById === null) return;
  const timer = MapPrototypeGet(timersById, id);
  if (timer === undefined || timer.immediate !== immediate) return;
  end(timer);
  // The native timer stays armed if this was the first: one spurious turn of the loop costs less
  // than arming again for each request that makes a timeout and clears it. Without any timer it is
  // disarmed, so that the loop can tell that nothing is pending.
  if (heapSize === 0 && !immediate) arm();
}

// A promise that is already settled, so that its constructor is not looked up where applications
// can change it. Made on first use, because promises cannot be part of the snapshot.
let settled = null;

function settledPromise() {
  settled = new Promise((resolve) => resolve());
  settled.constructor = undefined;
  return settled;
}

// Methods of an object, because operations of Web IDL are not constructors.
const operations = {
  setTimeout(handler, timeout = 0, ...args) {
    requireCallback("setTimeout", handler);
    return makeKnown(start(handler, args, delayOf(timeout), 0, true, currentRequest()));
  },

  setInterval(handler, timeout = 0, ...args) {
    requireCallback("setInterval", handler);
    const delay = delayOf(timeout);
    return makeKnown(start(handler, args, delay, delay, true, currentRequest()));
  },

  clearTimeout(id = 0) {
    clear(id | 0, false);
  },

  clearInterval(id = 0) {
    clear(id | 0, false);
  },

  setImmediate(handler, ...args) {
    requireCallback("setImmediate", handler);
    const timer = new Timer(handler, args, 0, 0, ownerOf(currentRequest()), true);
    timer.immediate = true;
    if (immediates === null) immediates = timer;
    else immediatesLast.after = timer;
    immediatesLast = timer;
    if (nonHolding > 0) reportHolding();
    armNoLaterThan(0);
    return makeKnown(timer);
  },

  clearImmediate(id = 0) {
    clear(id | 0, true);
  },

  queueMicrotask(callback) {
    requireCallback("queueMicrotask", callback);
    // A reaction of a promise, because V8 carries the asynchronous context only to those.
    PromisePrototypeThen(settled ?? settledPromise(), () => {
      try {
        ReflectApply(callback, undefined, []);
      } catch (error) {
        report(error);
      }
    });
  },
};

// ---- running

function report(error) {
  const { events } = realm;
  if (events === undefined) reportUncaught(error);
  else events.reportException(error);
}

// Returns true if the loop should serve other connections now.
function call(callback, args, context) {
  continuationSet(context);
  try {
    ReflectApply(callback, global, args);
  } catch (error) {
    report(error);
  }
  // V8 gives the current context to microtasks that have none of their own.
  continuationSet(undefined);
  return endCallback();
}

// Before a callback runs, the native timer is armed for the next one: the watchdog may end this
// turn, and the other timers must still run then.
function runTimer(timer) {
  const { callback, args, context } = timer;
  if (timer.period === 0) {
    end(timer);
    if (heapSize > 0) armNoLaterThan(heap[0].deadline);
    return call(callback, args, context);
  }
  placeNext(timer);
  armNoLaterThan(heap[0].deadline);
  const enough = call(callback, args, context);
  // The callback may have taken longer than the period.
  if (timer.state !== kEnded && timer.deadline <= monotonicNow()) placeNext(timer);
  return enough;
}

// The next deadline is computed from the previous one, so that the interval does not drift; periods
// that have passed meanwhile are skipped.
function placeNext(timer) {
  heapRemove(timer);
  const late = monotonicNow() - timer.deadline;
  const periods = late < timer.period ? 1 : MathFloor(late / timer.period) + 1;
  timer.deadline += periods * timer.period;
  timer.sequence = ++sequence;
  heapAdd(timer);
}

// Returns true if it has stopped and must continue later.
function runDueTimers() {
  while (heapSize > 0) {
    const timer = heap[0];
    if (timer.deadline > dueUntil || timer.sequence > dueSequence) break;
    if (runTimer(timer)) return true;
  }
  return false;
}

function runImmediates() {
  immediatesEnd ??= immediatesLast;
  while (immediates !== null) {
    const timer = immediates;
    immediates = timer.after;
    if (immediates === null) immediatesLast = null;
    else armNoLaterThan(0);
    const enough = timer.state !== kEnded && runTimer(timer);
    if (timer === immediatesEnd) break;
    if (enough) return true;
  }
  immediatesEnd = null;
  return false;
}

function runDue(now) {
  armed = Infinity;
  continuationSet(undefined);
  if (!running) {
    running = true;
    dueUntil = now;
    dueSequence = sequence;
  }
  if ((immediatesEnd !== null || !runDueTimers()) && !runImmediates()) {
    running = false;
    arm();
    return;
  }
  armNoLaterThan(0);
}

// The turn may have been ended within any loop and before any call above. Only the lists of the
// owners are always consistent; everything else is rebuilt from them.
function repair() {
  if (owners === null) return;
  const live = [];
  MapPrototypeForEach(owners, (owner) => {
    let next;
    for (let timer = owner.first; timer !== null; timer = next) {
      next = timer.next;
      if (timer.state === kEnded) unlink(timer);
      else ArrayPrototypePush(live, timer);
    }
  });
  heap.length = 0;
  heapSize = 0;
  nonHolding = 0;
  const waiting = [];
  // In order of creation, so that few timers must move up in the heap.
  for (let i = live.length - 1; i >= 0; i--) {
    const timer = live[i];
    if (!timer.holds) ++nonHolding;
    if (timer.immediate) ArrayPrototypePush(waiting, timer);
    else heapAdd(timer);
  }
  queueImmediates(ArrayPrototypeSort(waiting, (a, b) => a.sequence - b.sequence));
  reportHolding();
  running = false;
  armed = NaN;
  arm();
}

function queueImmediates(timers) {
  immediates = null;
  immediatesLast = null;
  immediatesEnd = null;
  for (let i = 0; i < timers.length; i++) {
    const timer = timers[i];
    timer.after = null;
    if (immediates === null) immediates = timer;
    else immediatesLast.after = timer;
    immediatesLast = timer;
  }
}

function endRequest(id) {
  if (owners === null) return;
  const owner = MapPrototypeGet(owners, id);
  if (owner === undefined) return;
  for (let timer = owner.first; timer !== null; timer = owner.first) end(timer);
  if (heapSize === 0) arm();
}

function pendingCount(id) {
  if (owners === null) return 0;
  const owner = MapPrototypeGet(owners, id);
  return owner === undefined ? 0 : owner.holding;
}

function setLastId(id) {
  lastId = id;
}

function setTimeoutInternal(callback, ms, holds = true, request = currentRequest()) {
  const timer = start(callback, [], ms > 0 ? ms : 0, 0, holds, request);
  // A callback that a request hands over to the application runs without an asynchronous context.
  if (request !== currentRequest()) timer.context = undefined;
  return timer;
}

function clearTimeoutInternal(timer) {
  if (timer.state === kEnded) return;
  end(timer);
  if (heapSize === 0) arm();
}

realm.timers = {
  __proto__: null,
  setTimeoutInternal,
  clearTimeoutInternal,
  runDue,
  repair,
  endRequest,
  setLastId,
  pendingCount,
};
for (const name of Object.keys(operations)) {
  // Web IDL: the operations of the global object are enumerable.
  ObjectDefineProperty(global, name, {
    value: operations[name], writable: true, enumerable: true, configurable: true,
  });
}
