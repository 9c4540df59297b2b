// The base of `weft:time`: errors, durations, clocks, deadlines and cancellation.
//
// Every wait of the module is begin(). It ends by its clock, by a signal or by a deadline,
// whichever comes first, settles once, and then removes its listener and its timer.
const { monotonicNow } = native;
const { setTimeoutInternal, clearTimeoutInternal } = realm.timers;
const {
  ArrayPrototypeIndexOf, ArrayPrototypePush, ArrayPrototypeSplice, Date, DateNow,
  DatePrototypeGetTime, Error, MathMax, MathMin, Number, NumberIsFinite, ObjectDefineProperty,
  ObjectFreeze, ObjectSetPrototypeOf, RegExpPrototypeExec, TypeError, newPromise,
} = realm.primordials;
const { AbortController, AbortSignal } = globalThis;

const kDelayMsMax = 0xffffffff;

// ---- errors

class TimeError extends Error {
  constructor(name, message, options) {
    super(message, options);
    ObjectDefineProperty(this, "name", {
      __proto__: null, value: name, writable: true, enumerable: false, configurable: true,
    });
    if (options?.reason !== undefined) this.reason = options.reason;
  }
}

class TimeoutError extends TimeError {
  constructor(message = "The operation did not end before its deadline.", options) {
    super("TimeoutError", message, options);
  }
}

class CancelledError extends TimeError {
  constructor(message = "The operation was cancelled.", options) {
    super("CancelledError", message, options);
  }
}

class InvalidDeadlineError extends TimeError {
  constructor(message = "The deadline is invalid.", options) {
    super("InvalidDeadlineError", message, options);
  }
}

class TimerDisposedError extends TimeError {
  constructor(message = "The timer was disposed.", options) {
    super("TimerDisposedError", message, options);
  }
}

function cancelledBecause(reason) {
  return reason instanceof CancelledError ? reason : new CancelledError(undefined, { reason });
}

// Whether an error only reports the end of the signal that ended the job. Such an error is expected
// and not worth a report if it comes late.
function isEndOf(signal, error) {
  if (!signal.aborted) return false;
  const name = error?.name;
  return error === signal.reason || name === "CancelledError" || name === "TimeoutError" ||
    name === "AbortError" ||
    (name === "AsyncError" && (error.kind === "Cancelled" || error.kind === "TimedOut"));
}

// ---- durations

const unitsMs = { __proto__: null, ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

// Milliseconds from a number or from a text such as "500ms", "5s", "2.5m", "1h".
function durationMs(value, operation) {
  let ms = value;
  if (typeof value === "string") {
    const parts = RegExpPrototypeExec(/^(\d+(?:\.\d+)?)(ms|s|m|h)$/, value);
    if (parts === null) {
      throw new InvalidDeadlineError(
        `${operation}: "${value}" is not a duration such as "500ms", "5s", "2.5m" or "1h".`);
    }
    ms = Number(parts[1]) * unitsMs[parts[2]];
  }
  if (typeof ms !== "number" || !NumberIsFinite(ms) || ms < 0) {
    throw new InvalidDeadlineError(
      `${operation} requires a number of milliseconds that is not negative, or a duration text.`);
  }
  if (ms > kDelayMsMax) {
    throw new InvalidDeadlineError(`${operation}: ${ms} ms is more than ${kDelayMsMax} ms.`);
  }
  return ms;
}

function periodMs(value, operation) {
  const ms = durationMs(value, operation);
  if (ms <= 0) throw new InvalidDeadlineError(`${operation} requires an interval greater than 0.`);
  return ms;
}

function instantMs(value, operation) {
  const ms = value instanceof Date ? DatePrototypeGetTime(value) : value;
  if (typeof ms !== "number" || !NumberIsFinite(ms)) {
    throw new InvalidDeadlineError(`${operation} requires a finite Date or Unix milliseconds.`);
  }
  return ms;
}

// ---- clocks

// A clock has now(): Date, monotonicNowMs() and delay(ms, options). For this module,
// timersOf(clock) gives start(clock, ms, onDue, onDisposed) -> timer and
// stop(clock, timer).
class SystemClock {
  kind = "system";
  now() {
    return new Date();
  }
  monotonicNowMs() {
    return monotonicNow();
  }
  delay(ms, options = undefined) {
    return delay(ms, options, this);
  }
}

const systemTimers = {
  start: (clock, ms, onDue) => setTimeoutInternal(onDue, ms),
  stop: (clock, timer) => clearTimeoutInternal(timer),
};

let fakeTimers;
let isFakeClock;

// A clock that advances only when told to. Timers run inside advanceBy(), each at its own time,
// ordered by deadline and then by creation. Code that awaits them runs after it, or inside
// advanceByAsync().
class FakeClock {
  kind = "fake";
  #wallMs;
  #monotonicMs = 0;
  #timers = [];
  #disposed = false;

  constructor(options) {
    this.#wallMs = options?.now === undefined ? DateNow()
      : instantMs(options.now, "Time.fakeClock");
  }

  now() {
    return new Date(this.#wallMs);
  }

  monotonicNowMs() {
    return this.#monotonicMs;
  }

  delay(ms, options = undefined) {
    return delay(ms, options, this);
  }

  // Forward it advances like advanceBy(); backward it sets only the wall clock.
  set(instant) {
    this.#requireAlive();
    const wallMs = instantMs(instant, "FakeClock.set");
    if (wallMs > this.#wallMs) this.advanceBy(wallMs - this.#wallMs);
    else this.#wallMs = wallMs;
  }

  advanceBy(ms) {
    this.#requireAlive();
    const until = this.#monotonicMs + durationMs(ms, "FakeClock.advanceBy");
    while (!this.#disposed && this.#runNext(until));
    this.#moveTo(until);
  }

  // Like advanceBy(), but after each timer everything that it made ready runs, and may set further
  // timers, as a recurring job does.
  async advanceByAsync(ms) {
    this.#requireAlive();
    const until = this.#monotonicMs + durationMs(ms, "FakeClock.advanceByAsync");
    for (;;) {
      const ready = newPromise();
      setTimeoutInternal(ready.resolve, 0);
      await ready.promise;
      if (this.#disposed) return;
      if (!this.#runNext(until)) break;
    }
    // Other code may have advanced the clock meanwhile.
    this.#moveTo(MathMax(until, this.#monotonicMs));
  }

  dispose() {
    if (this.#disposed) return;
    this.#disposed = true;
    const timers = this.#timers;
    this.#timers = [];
    for (let i = 0; i < timers.length; i++) timers[i].onDisposed();
  }

  // Returns false if no timer is due by then.
  #runNext(until) {
    const at = this.#earliest(until);
    if (at < 0) return false;
    const timer = ArrayPrototypeSplice(this.#timers, at, 1)[0];
    this.#moveTo(MathMax(timer.dueMs, this.#monotonicMs));
    timer.onDue();
    return true;
  }

  #moveTo(monotonicMs) {
    this.#wallMs += monotonicMs - this.#monotonicMs;
    this.#monotonicMs = monotonicMs;
  }

  // The first timer that is due; timers are stored in order of creation.
  #earliest(untilMs) {
    let best = -1;
    for (let i = 0; i < this.#timers.length; i++) {
      const { dueMs } = this.#timers[i];
      if (dueMs <= untilMs && (best < 0 || dueMs < this.#timers[best].dueMs)) best = i;
    }
    return best;
  }

  #requireAlive() {
    if (this.#disposed) throw new TimerDisposedError("The fake clock was disposed.");
  }

  static {
    isFakeClock = (value) => #wallMs in value;
    fakeTimers = {
      start(clock, ms, onDue, onDisposed) {
        const timer = { dueMs: clock.#monotonicMs + ms, onDue, onDisposed };
        if (clock.#disposed) onDisposed();
        else ArrayPrototypePush(clock.#timers, timer);
        return timer;
      },
      stop(clock, timer) {
        const at = ArrayPrototypeIndexOf(clock.#timers, timer);
        if (at >= 0) ArrayPrototypeSplice(clock.#timers, at, 1);
      },
    };
  }
}

const systemClock = ObjectFreeze(new SystemClock());

function clockOf(options) {
  const clock = options?.clock;
  if (clock === undefined || clock === systemClock) return systemClock;
  if (typeof clock !== "object" || clock === null || !isFakeClock(clock)) {
    throw new TypeError("The clock must come from Time.systemClock() or Time.fakeClock().");
  }
  return clock;
}

function timersOf(clock) {
  return clock === systemClock ? systemTimers : fakeTimers;
}

// ---- deadlines

class DeadlineValue {
  #clock;
  #dueMs;
  constructor(clock, dueMs) {
    this.#clock = clock;
    this.#dueMs = dueMs;
    ObjectFreeze(this);
  }
  remainingMs() {
    return this.#dueMs === Infinity ? Infinity
      : MathMax(0, this.#dueMs - this.#clock.monotonicNowMs());
  }
  get expired() {
    return this.remainingMs() <= 0;
  }
}

const Deadline = ObjectFreeze({
  after(ms, options = undefined) {
    const clock = clockOf(options);
    return new DeadlineValue(clock, clock.monotonicNowMs() + durationMs(ms, "Deadline.after"));
  },
  at(instant, options = undefined) {
    const clock = clockOf(options);
    const wallMs = instantMs(instant, "Deadline.at");
    const remaining = wallMs - DatePrototypeGetTime(clock.now());
    return new DeadlineValue(clock, clock.monotonicNowMs() + remaining);
  },
  never() {
    return new DeadlineValue(systemClock, Infinity);
  },
});

// The time that `deadline` and `timeoutMs` leave, whichever is less; Infinity without them.
function budgetMs(options, operation) {
  if (options === undefined || options === null) return Infinity;
  let budget = Infinity;
  const { deadline, timeoutMs } = options;
  if (deadline !== undefined && deadline !== null) {
    if (typeof deadline.remainingMs !== "function") {
      throw new InvalidDeadlineError(
        `${operation}: the deadline must come from Deadline.after, Deadline.at or Deadline.never.`);
    }
    budget = Number(deadline.remainingMs());
    if (budget !== budget) {
      throw new InvalidDeadlineError(`${operation}: the deadline is not a time.`);
    }
  }
  if (timeoutMs !== undefined) budget = MathMin(budget, durationMs(timeoutMs, operation));
  return budget;
}

// ---- signals

function signalOf(options, operation) {
  const signal = options?.signal;
  if (signal === undefined || signal === null) return undefined;
  if (typeof signal.aborted !== "boolean" || typeof signal.addEventListener !== "function") {
    throw new TypeError(
      `${operation}: the signal is neither a CancellationSignal nor an AbortSignal.`);
  }
  return signal;
}

// An AbortSignal with additional names for cancellation, accepted wherever an AbortSignal is.
class CancellationSignal extends AbortSignal {
  get cancelled() {
    return this.aborted;
  }
  throwIfCancelled() {
    if (this.aborted) throw cancelledBecause(this.reason);
  }
}

class CancellationController {
  #controller = new AbortController();
  #release = undefined;

  constructor() {
    ObjectSetPrototypeOf(this.#controller.signal, CancellationSignal.prototype);
  }

  get signal() {
    return this.#controller.signal;
  }

  // Only the first call has an effect.
  cancel(reason = new CancelledError()) {
    if (this.#controller.signal.aborted) return;
    this.dispose();
    this.#controller.abort(reason);
  }

  // Releases the timer or the signals that it follows. It can still be cancelled explicitly.
  dispose() {
    const release = this.#release;
    this.#release = undefined;
    if (release !== undefined) release();
  }

  // Cancelled with the first of the signals that is cancelled, with its reason.
  static linked(...signals) {
    const controller = new CancellationController();
    const listeners = [];
    for (let i = 0; i < signals.length; i++) {
      const signal = signalOf({ signal: signals[i] }, "CancellationController.linked");
      if (signal === undefined) continue;
      if (signal.aborted) {
        controller.cancel(signal.reason);
        break;
      }
      const listener = () => controller.cancel(signal.reason);
      signal.addEventListener("abort", listener, { once: true });
      ArrayPrototypePush(listeners, [signal, listener]);
    }
    const release = () => {
      for (let i = 0; i < listeners.length; i++) {
        listeners[i][0].removeEventListener("abort", listeners[i][1]);
      }
    };
    if (controller.signal.aborted) release();
    else controller.#release = release;
    return controller;
  }

  // Cancelled after this time, with a TimeoutError.
  static timeout(ms, options = undefined) {
    const controller = new CancellationController();
    const clock = clockOf(options);
    const timers = timersOf(clock);
    const timer = timers.start(
      clock, durationMs(ms, "CancellationController.timeout"),
      () => controller.cancel(new TimeoutError()),
      () => controller.cancel(new TimerDisposedError()));
    controller.#release = () => timers.stop(clock, timer);
    return controller;
  }
}

// ---- waits

// Waits `ms` on the clock; gives { promise, stop() }. The promise is rejected with a
// CancelledError when the signal fires and with a TimeoutError when less time is left than `ms`.
function begin(clock, ms, signal, budget) {
  const { promise, resolve, reject } = newPromise();
  if (signal !== undefined && signal.aborted) {
    reject(cancelledBecause(signal.reason));
    return { promise, stop() {} };
  }
  if (budget <= 0) {
    reject(new TimeoutError());
    return { promise, stop() {} };
  }
  const timers = timersOf(clock);
  let timer;
  const release = () => {
    if (timer !== undefined) timers.stop(clock, timer);
    if (signal !== undefined) signal.removeEventListener("abort", onAbort);
  };
  const onAbort = () => {
    release();
    reject(cancelledBecause(signal.reason));
  };
  const onDue = () => {
    timer = undefined;
    release();
    if (budget < ms) reject(new TimeoutError());
    else resolve();
  };
  const onDisposed = () => {
    timer = undefined;
    release();
    reject(new TimerDisposedError());
  };
  if (signal !== undefined) signal.addEventListener("abort", onAbort, { once: true });
  timer = timers.start(clock, MathMin(ms, budget), onDue, onDisposed);
  return { promise, stop: release };
}

// Returns the promise itself, not one derived from it, so that delays on a fake clock end in the
// order of the clock.
function delay(ms, options, clock) {
  try {
    const wait = durationMs(ms, "Time.delay");
    const signal = signalOf(options, "Time.delay");
    return begin(clock ?? clockOf(options), wait, signal, budgetMs(options, "Time.delay")).promise;
  } catch (error) {
    const { promise, reject } = newPromise();
    reject(error);
    return promise;
  }
}

realm.time = {
  __proto__: null,
  CancellationController,
  CancellationSignal,
  CancelledError,
  Deadline,
  FakeClock,
  InvalidDeadlineError,
  TimeoutError,
  TimerDisposedError,
  begin,
  budgetMs,
  cancelledBecause,
  clockOf,
  delay,
  durationMs,
  isEndOf,
  periodMs,
  signalOf,
  systemClock,
};
