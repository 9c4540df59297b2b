// The module `weft:time`: delays, timeouts, intervals and recurring jobs that respect signals,
// deadlines and clocks. Built on clock.js.
const { lateOutcome } = native;
const { events } = realm;
const {
  CancellationController, CancellationSignal, CancelledError, Deadline, FakeClock,
  InvalidDeadlineError, TimeoutError, TimerDisposedError, begin, budgetMs, cancelledBecause,
  clockOf, delay, durationMs, isEndOf, periodMs, signalOf, systemClock,
} = realm.time;
const {
  Date, DatePrototypeGetTime, Error, MathFloor, MathMax, MathMin, NumberIsInteger, ObjectFreeze,
  PromisePrototypeThen, SymbolAsyncIterator, TypeError, markHandled, newPromise,
} = realm.primordials;

function countOf(value, operation, name) {
  if (value === undefined || value === Infinity) return Infinity;
  if (!NumberIsInteger(value) || value < 0) {
    throw new InvalidDeadlineError(`${operation}: ${name} must be a non-negative integer.`);
  }
  return value;
}

// The time of the clock `ms` milliseconds from now.
function instantIn(clock, ms) {
  return new Date(DatePrototypeGetTime(clock.now()) + ms);
}

// ---- timeout

// Runs a function, or awaits a promise, within a time limit. The function receives { signal,
// deadline }; it is not started if the time has expired or the signal has fired before. A result
// that comes later is counted, and an error of the function that comes later is reported; the error
// of a promise is left to its owner.
async function timeout(operation, options) {
  const clock = clockOf(options);
  const signal = signalOf(options, "Time.timeout");
  let budget = budgetMs(options, "Time.timeout");
  if (options?.afterMs !== undefined) {
    budget = MathMin(budget, durationMs(options.afterMs, "Time.timeout"));
  } else if (options?.deadline === undefined && options?.timeoutMs === undefined) {
    throw new InvalidDeadlineError("Time.timeout requires afterMs or deadline.");
  }
  if (signal?.aborted) throw cancelledBecause(signal.reason);
  if (budget <= 0) throw new TimeoutError();

  const inner = new CancellationController();
  const dueMs = clock.monotonicNowMs() + budget;
  const wait = begin(clock, budget === Infinity ? 0xffffffff : budget, signal, Infinity);
  const late = PromisePrototypeThen(wait.promise, () => {
    const error = new TimeoutError();
    inner.cancel(error);
    throw error;
  }, (error) => {
    inner.cancel(error);
    throw error;
  });
  markHandled(late);
  const { promise, resolve, reject } = newPromise();
  let isLate = false;
  PromisePrototypeThen(late, undefined, (error) => {
    isLate = true;
    reject(error);
  });
  const deadline = { remainingMs: () => MathMax(0, dueMs - clock.monotonicNowMs()) };
  const isFunction = typeof operation === "function";
  const run = async () =>
    (isFunction ? operation({ signal: inner.signal, deadline }) : operation);
  PromisePrototypeThen(run(), (value) => {
    if (isLate) return lateOutcome();
    wait.stop();
    resolve(value);
  }, (error) => {
    if (isLate) {
      lateOutcome();
      if (isFunction && !isEndOf(inner.signal, error)) events.reportException(error);
      return;
    }
    wait.stop();
    reject(error);
  });
  return promise;
}

// ---- interval

// An asynchronous iterable of ticks. Only one next() may be pending; cancellation ends the
// iteration.
class TimeInterval {
  #clock;
  #periodMs;
  #ticksMax;
  #controller;
  #dueMs;
  #ticks = 0;
  #waiting = false;
  #done = false;
  #endMs;
  #deadline;

  constructor(ms, options) {
    this.#periodMs = periodMs(ms, "Time.interval");
    this.#clock = clockOf(options);
    this.#ticksMax = countOf(options?.maxTicks, "Time.interval", "maxTicks");
    this.#deadline = { deadline: options?.deadline };
    this.#endMs = this.#clock.monotonicNowMs() + budgetMs(options, "Time.interval");
    this.#controller = CancellationController.linked(signalOf(options, "Time.interval"));
    this.#dueMs = this.#clock.monotonicNowMs() + (options?.immediate ? 0 : this.#periodMs);
  }

  async next() {
    if (this.#waiting) throw new Error("Time.interval does not support overlapping next() calls.");
    if (this.#done || this.#ticks >= this.#ticksMax || this.#controller.signal.aborted) {
      return this.#finish(undefined);
    }
    this.#waiting = true;
    try {
      const now = this.#clock.monotonicNowMs();
      const ms = MathMax(0, this.#dueMs - now);
      // The deadline may belong to another clock.
      const budget = MathMin(budgetMs(this.#deadline, "Time.interval"), this.#endMs - now);
      await begin(this.#clock, ms, this.#controller.signal, budget).promise;
    } catch (error) {
      this.#finish(undefined);
      if (error instanceof CancelledError) return { done: true, value: undefined };
      throw error;
    } finally {
      this.#waiting = false;
    }
    return this.#tick();
  }

  #tick() {
    const lateMs = MathMax(0, this.#clock.monotonicNowMs() - this.#dueMs);
    const value = ObjectFreeze({
      index: ++this.#ticks,
      at: this.#clock.now(),
      scheduledAt: instantIn(this.#clock, -lateMs),
    });
    // Missed ticks are skipped, and the period is kept.
    this.#dueMs += (MathFloor(lateMs / this.#periodMs) + 1) * this.#periodMs;
    return { done: false, value };
  }

  #finish(value) {
    this.#done = true;
    this.#controller.dispose();
    return { done: true, value };
  }

  async return(value = undefined) {
    this.#finish(value);
    this.#controller.cancel();
    return { done: true, value };
  }

  [SymbolAsyncIterator]() {
    return this;
  }
}

// ---- every

// A recurring job. An error of a run is stored in lastError and does not stop the job.
class ScheduledJob {
  #clock;
  #periodMs;
  #handler;
  #runsMax;
  #noOverlap;
  #controller;
  #dueMs;
  #runs = 0;
  #active = 0;
  #skippedRuns = 0;
  #lastError = undefined;
  #paused = false;
  #stopped = false;
  #idle = undefined;  // resolved when the last run has ended
  #limit = undefined;  // the wait for the end of the time limit

  constructor(ms, handler, options) {
    this.#periodMs = periodMs(ms, "Time.every");
    if (typeof handler !== "function") throw new TypeError("Time.every requires a function.");
    const policy = options?.missedRunPolicy;
    if (policy !== undefined && policy !== "skip") {
      throw new InvalidDeadlineError('Time.every only supports missedRunPolicy: "skip".');
    }
    this.#clock = clockOf(options);
    this.#handler = handler;
    this.#noOverlap = options?.noOverlap ?? true;
    this.#runsMax = countOf(options?.maxRuns, "Time.every", "maxRuns");
    const budget = budgetMs(options, "Time.every");
    this.#controller = CancellationController.linked(signalOf(options, "Time.every"));
    this.#dueMs = this.#clock.monotonicNowMs() + (options?.immediate ? 0 : this.#periodMs);
    if (budget !== Infinity) this.#endAfter(budget);
    this.#loop();
  }

  get running() {
    return this.#active > 0;
  }
  get stopped() {
    return this.#stopped;
  }
  get skippedRuns() {
    return this.#skippedRuns;
  }
  get lastError() {
    return this.#lastError;
  }
  get nextRun() {
    if (this.#stopped) return undefined;
    return instantIn(this.#clock, MathMax(0, this.#dueMs - this.#clock.monotonicNowMs()));
  }

  // While the job is paused, runs that become due are skipped and not counted.
  pause() {
    this.#paused = true;
  }

  resume() {
    this.#paused = false;
  }

  // Starts no more runs, cancels the signal of a current run, and waits for its end.
  async stop(reason = undefined) {
    this.#end(reason);
    if (this.#active === 0) return;
    this.#idle ??= newPromise();
    await this.#idle.promise;
  }

  #end(reason) {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#controller.cancel(reason);
  }

  #endAfter(ms) {
    this.#limit = begin(this.#clock, ms, this.#controller.signal, Infinity);
    PromisePrototypeThen(this.#limit.promise, () => this.#end(new TimeoutError()), () => {});
  }

  async #loop() {
    try {
      while (!this.#stopped && this.#runs < this.#runsMax) {
        const ms = MathMax(0, this.#dueMs - this.#clock.monotonicNowMs());
        await begin(this.#clock, ms, this.#controller.signal, Infinity).promise;
        if (this.#stopped) break;
        this.#due();
      }
    } catch (error) {
      if (!(error instanceof CancelledError)) this.#lastError = error;
    }
    this.#stopped = true;
    this.#limit?.stop();
    if (this.#active === 0) this.#controller.dispose();
  }

  #due() {
    const scheduledMs = this.#dueMs;
    const lateMs = MathMax(0, this.#clock.monotonicNowMs() - scheduledMs);
    const missed = MathFloor(lateMs / this.#periodMs);
    this.#dueMs += (missed + 1) * this.#periodMs;
    if (this.#paused) return;
    this.#skippedRuns += missed;
    if (this.#noOverlap && this.#active > 0) ++this.#skippedRuns;
    else this.#run(instantIn(this.#clock, -lateMs));
  }

  async #run(scheduledAt) {
    ++this.#active;
    const context = ObjectFreeze({
      signal: this.#controller.signal,
      scheduledAt,
      startedAt: this.#clock.now(),
      run: ++this.#runs,
      skippedRuns: this.#skippedRuns,
    });
    try {
      await (0, this.#handler)(context);
    } catch (error) {
      this.#lastError = error;
    }
    if (--this.#active > 0) return;
    this.#idle?.resolve();
    this.#idle = undefined;
    if (this.#stopped) this.#controller.dispose();
  }
}

// ---- the module

const Time = ObjectFreeze({
  delay: (ms, options = undefined) => delay(ms, options),
  timeout,
  interval: (ms, options = undefined) => new TimeInterval(ms, options),
  every: (ms, handler, options = undefined) => new ScheduledJob(ms, handler, options),
  // Lets all other work that is ready run first.
  yield: (options = undefined) => delay(0, options),
  systemClock: () => systemClock,
  fakeClock: (options = undefined) => new FakeClock(options),
});

realm.modules["weft:time"] = {
  __proto__: null,
  Time,
  Deadline,
  CancellationController,
  CancellationSignal,
  // The same two classes under the names that workers use.
  WorkerCancellationController: CancellationController,
  WorkerCancellationSignal: CancellationSignal,
  TimeoutError,
  CancelledError,
  InvalidDeadlineError,
  TimerDisposedError,
  delay: Time.delay,
  timeout: Time.timeout,
  interval: Time.interval,
  every: Time.every,
  systemClock: Time.systemClock,
  fakeClock: Time.fakeClock,
  default: Time,
};
