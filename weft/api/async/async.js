// The module `weft:async`: Group, Task, Pool, every and withTimeout, with the guarantees and the
// error texts of the C++ library (weft/async). Programs compare these texts.
//
// A job is a function (sync or async) that receives a context: { signal, deadline, clock, check()
// }. The context can be passed on wherever { signal, deadline } is accepted. If nobody waited for
// an error, it is reported when its owner is garbage collected.
const { lateOutcome, valueKind } = native;
const { events } = realm;
const { kinds, tryGet } = realm.inspecting;
const {
  CancellationController, TimeoutError, begin, budgetMs, clockOf, durationMs, isEndOf, signalOf,
} = realm.time;
const {
  ArrayPrototypeIndexOf, ArrayPrototypePush, ArrayPrototypeShift, ArrayPrototypeSlice,
  ArrayPrototypeSplice, Error, FinalizationRegistry, FinalizationRegistryPrototypeRegister, MathMax,
  MathMin, NumberIsInteger, ObjectDefineProperty, PromisePrototypeThen, newPromise,
} = realm.primordials;

// kind: the name of the error kind in C++.
class AsyncError extends Error {
  constructor(kind, message, options) {
    super(message, options);
    ObjectDefineProperty(this, "name", {
      __proto__: null, value: "AsyncError", writable: true, enumerable: false, configurable: true,
    });
    this.kind = kind;
  }
}

const fault = (kind, message) => () => new AsyncError(kind, message);
const nilJob = fault("Misuse", "async: job function is nil");
const timedOut = fault("TimedOut", "async: timeout");
const groupGoAfterWait =
  fault("Misuse", "async: group does not accept new tasks after wait starts");
const groupMaxErrors = fault("Misuse", "async: group max_errors must be positive");
const groupWaited = fault("Misuse", "async: group wait was already called");
const taskWaited = fault("Misuse", "async: task wait was already called");
const poolWorkers = fault("Misuse", "async: pool worker count must be positive");
const poolQueueSize = fault("Misuse", "async: pool queue size must be positive");
const poolClosed = fault("Closed", "async: pool is closed");
const poolFull = fault("Limit", "async: pool queue is full");
const poolWaited = fault("Misuse", "async: pool wait was already called");
const intervalNotPositive = fault("Misuse", "async: interval must be positive");
const periodicWaited = fault("Misuse", "async: periodic wait was already called");

function contextError(reason) {
  if (reason instanceof AsyncError) return reason;
  const late = reason instanceof TimeoutError || reason?.name === "TimeoutError";
  return late
    ? new AsyncError("TimedOut", "context deadline exceeded", { cause: reason })
    : new AsyncError("Cancelled", "context canceled", { cause: reason });
}

// ---- contexts

let endContext;

class Context {
  #controller;
  #dueMs;
  #wait = undefined;

  constructor(options, operation) {
    const budget = budgetMs(options, operation);
    const clock = clockOf(options);
    this.clock = clock;
    this.#controller = CancellationController.linked(signalOf(options, operation));
    this.#dueMs = budget === Infinity ? Infinity : clock.monotonicNowMs() + budget;
    if (budget <= 0) this.#controller.cancel(new TimeoutError());
    else if (budget !== Infinity) {
      this.#wait = begin(clock, budget, this.#controller.signal, Infinity);
      PromisePrototypeThen(
        this.#wait.promise, () => this.#controller.cancel(new TimeoutError()), () => {});
    }
    // An object that can be passed on as `deadline`.
    this.deadline = { remainingMs: () => this.remainingMs() };
  }

  get signal() {
    return this.#controller.signal;
  }
  remainingMs() {
    return this.#dueMs === Infinity ? Infinity
      : MathMax(0, this.#dueMs - this.clock.monotonicNowMs());
  }
  get error() {
    const { signal } = this.#controller;
    if (signal.aborted) return contextError(signal.reason);
    return this.remainingMs() <= 0 ? contextError(new TimeoutError()) : undefined;
  }
  // Throws if the context has ended.
  check() {
    const { error } = this;
    if (error !== undefined) throw error;
  }

  static {
    endContext = (context, reason) => {
      context.#wait?.stop();
      context.#wait = undefined;
      context.#controller.cancel(reason);
    };
  }
}

function requireJob(job) {
  if (typeof job !== "function") throw nilJob();
}

// A time limit of zero or less is not an error; it has expired.
function timeoutMs(timeout, operation) {
  return typeof timeout === "number" && timeout <= 0 ? 0 : durationMs(timeout, operation);
}

// Never throws synchronously: an error that the job throws is its outcome.
async function start(job, context) {
  return job(context);
}

// ---- errors for which nobody waited

let owners;

// Keeps `outcome` as long as `owner` lives. If it then has an error that nobody has taken, the
// error is reported.
function reportWhenDropped(owner, outcome) {
  owners ??= new FinalizationRegistry((dropped) => {
    if (dropped.failed && !dropped.taken) events.reportException(dropped.error);
  });
  FinalizationRegistryPrototypeRegister(owners, owner, outcome);
}

class Outcome {
  failed = false;
  taken = false;
  error = undefined;
  fail(error) {
    if (this.failed) return false;
    this.failed = true;
    this.error = error;
    // An error keeps the receivers of its stack frames until its stack is formatted. One of these
    // may be the owner, which would then never be collected.
    if (valueKind(error) === kinds.kError) tryGet(error, "stack");
    return true;
  }
  // For the caller who waits.
  take() {
    this.taken = true;
    if (this.failed) throw this.error;
  }
}

// ---- Group

class Group {
  #context;
  #outcome = new Outcome();
  #errors = [];
  #errorsMax = 0;
  #running = 0;
  #waited = false;
  #idle = newPromise();

  constructor(options = undefined) {
    if (options?.collectErrors) {
      const max = options.maxErrors;
      if (!NumberIsInteger(max) || max <= 0) throw groupMaxErrors();
      this.#errorsMax = max;
    }
    this.#context = new Context(options, "Group");
    reportWhenDropped(this, this.#outcome);
  }

  // The context that the jobs receive.
  get context() {
    return this.#context;
  }
  get signal() {
    return this.#context.signal;
  }

  go(job) {
    requireJob(job);
    if (this.#waited) throw groupGoAfterWait();
    ++this.#running;
    PromisePrototypeThen(start(job, this.#context), () => this.#done(), (error) => {
      this.#fail(error);
      this.#done();
    });
  }

  // Waits for every job, ends the context and throws the first error. May be called once.
  async wait() {
    if (this.#waited) throw groupWaited();
    this.#waited = true;
    if (this.#running > 0) await this.#idle.promise;
    endContext(this.#context);
    this.#outcome.take();
  }

  // The errors so far, if the group collects them.
  errors() {
    return ArrayPrototypeSlice(this.#errors);
  }

  #fail(error) {
    if (this.#errors.length < this.#errorsMax) ArrayPrototypePush(this.#errors, error);
    if (this.#outcome.fail(error)) endContext(this.#context, error);
  }

  #done() {
    if (--this.#running === 0 && this.#waited) this.#idle.resolve();
  }
}

// ---- Task

class Task {
  #context;
  #outcome = new Outcome();
  #promise;
  #waited = false;

  constructor(job, options = undefined) {
    requireJob(job);
    const context = new Context(options, "Task");
    const outcome = this.#outcome;
    this.#context = context;
    this.#promise = PromisePrototypeThen(start(job, context), (value) => {
      endContext(context);
      return value;
    }, (error) => {
      endContext(context);
      outcome.fail(error);
    });
    reportWhenDropped(this, outcome);
  }

  static run(job, options = undefined) {
    return new Task(job, options);
  }

  get signal() {
    return this.#context.signal;
  }

  cancel(reason = undefined) {
    endContext(this.#context, reason);
  }

  // Gives the job's result when it has ended. May be called once.
  async wait() {
    if (this.#waited) throw taskWaited();
    this.#waited = true;
    this.#outcome.taken = true;
    const value = await this.#promise;
    this.#outcome.take();
    return value;
  }
}

// ---- Pool

class Pool {
  #workers;
  #capacity;
  #context;
  #queue = [];
  #running = 0;
  #submitters = [];
  #closed = false;
  #idle = newPromise();
  #outcome = new Outcome();

  constructor(options = undefined) {
    const { workers, queueSize } = options ?? {};
    if (!NumberIsInteger(workers) || workers <= 0) throw poolWorkers();
    if (!NumberIsInteger(queueSize) || queueSize <= 0) throw poolQueueSize();
    this.#workers = workers;
    this.#capacity = workers + queueSize;
    this.#context = new Context(options, "Pool");
    reportWhenDropped(this, this.#outcome);
  }

  get context() {
    return this.#context;
  }
  get signal() {
    return this.#context.signal;
  }

  // Never waits.
  trySubmit(job) {
    requireJob(job);
    if (this.#closed) throw poolClosed();
    if (!this.#hasRoom()) throw poolFull();
    this.#accept(job);
  }

  // Waits for room as long as the options allow. The job's own context is that of the pool.
  async submit(job, options = undefined) {
    requireJob(job);
    const signal = signalOf(options, "Pool.submit");
    const budget = budgetMs(options, "Pool.submit");
    const clock = options?.clock === undefined ? this.#context.clock : clockOf(options);
    if (signal?.aborted) throw contextError(signal.reason);
    if (budget <= 0) throw contextError(new TimeoutError());
    await this.#admit(job, clock, signal, budget, () => contextError(new TimeoutError()));
  }

  // Throws `async: timeout` if there was no room in time.
  async submitFor(timeout, job) {
    requireJob(job);
    const budget = timeoutMs(timeout, "Pool.submitFor");
    if (budget <= 0) throw timedOut();
    await this.#admit(job, this.#context.clock, undefined, budget, timedOut);
  }

  // Accepts no more jobs, wakes the callers that wait for room, waits for every accepted job, ends
  // the context and throws the first error. May be called once, by either name.
  async close() {
    if (this.#closed) throw poolWaited();
    this.#closed = true;
    const submitters = this.#submitters;
    this.#submitters = [];
    for (let i = 0; i < submitters.length; i++) submitters[i].reject(poolClosed());
    if (this.#running > 0) await this.#idle.promise;
    endContext(this.#context);
    this.#outcome.take();
  }
  wait() {
    return this.close();
  }

  #hasRoom() {
    return this.#running + this.#queue.length < this.#capacity && this.#submitters.length === 0;
  }

  async #admit(job, clock, signal, budget, late) {
    if (this.#closed) throw poolClosed();
    if (this.#hasRoom()) return this.#accept(job);
    const submitter = newPromise();
    submitter.job = job;
    ArrayPrototypePush(this.#submitters, submitter);
    const wait = begin(clock, budget === Infinity ? 0xffffffff : budget, signal, Infinity);
    const leave = (error) => {
      const at = ArrayPrototypeIndexOf(this.#submitters, submitter);
      if (at >= 0) ArrayPrototypeSplice(this.#submitters, at, 1);
      submitter.reject(error);
    };
    PromisePrototypeThen(wait.promise, () => leave(late()), (error) =>
      leave(signal?.aborted ? contextError(signal.reason) : error));
    try {
      await submitter.promise;
    } finally {
      wait.stop();
    }
  }

  #accept(job) {
    if (this.#running < this.#workers) this.#start(job);
    else ArrayPrototypePush(this.#queue, job);
  }

  #start(job) {
    ++this.#running;
    PromisePrototypeThen(start(job, this.#context), () => this.#done(), (error) => {
      this.#outcome.fail(error);
      this.#done();
    });
  }

  #done() {
    --this.#running;
    if (this.#queue.length > 0) this.#start(ArrayPrototypeShift(this.#queue));
    const submitter = ArrayPrototypeShift(this.#submitters);
    if (submitter !== undefined) {
      this.#accept(submitter.job);
      submitter.resolve();
    }
    if (this.#running === 0 && this.#closed) this.#idle.resolve();
  }
}

// ---- every

function intervalMs(interval) {
  if (typeof interval === "number" && !(interval > 0)) throw intervalNotPositive();
  const ms = durationMs(interval, "every");
  if (ms <= 0) throw intervalNotPositive();
  return ms;
}

// Checks in the same order as C++.
function checkPeriodic(interval, job, options, operation) {
  const ms = intervalMs(interval);
  requireJob(job);
  const context = new Context(options, operation);
  const { error } = context;
  if (error === undefined) return { ms, context };
  endContext(context);
  throw error;
}

// A loop that has ended always has an error; `byJob` says whether it is the job's.
async function runPeriodic(ms, job, context) {
  for (;;) {
    try {
      await begin(context.clock, ms, context.signal, Infinity).promise;
      context.check();
    } catch (error) {
      return { error: context.error ?? error, byJob: false };
    }
    try {
      await start(job, context);
    } catch (error) {
      return { error, byJob: true };
    }
    const { error } = context;
    if (error !== undefined) return { error, byJob: false };
  }
}

// Runs the job repeatedly, each run an interval after the end of the previous one, so two runs
// never overlap. Stops when the job fails or the context ends, and throws that error.
async function every(interval, job, options = undefined) {
  const { ms, context } = checkPeriodic(interval, job, options, "every");
  const { error } = await runPeriodic(ms, job, context);
  endContext(context);
  throw error;
}

class PeriodicHandle {
  #parent;
  #context;
  #outcome = new Outcome();  // of the job
  #loop;
  #stopped = false;
  #stoppedLate = false;  // the parent had ended before, so its error counts
  #waited = false;

  constructor(interval, job, options) {
    const { ms, context } = checkPeriodic(interval, job, options, "startEvery");
    this.#parent = context;
    this.#context = new Context(context, "startEvery");
    const inner = this.#context;
    const outcome = this.#outcome;
    this.#loop = PromisePrototypeThen(runPeriodic(ms, job, inner), (end) => {
      if (end.byJob) outcome.fail(end.error);
      endContext(inner);
      endContext(context);
      return end;
    });
    reportWhenDropped(this, outcome);
  }

  // Ends the job's context and does not wait. Further calls do nothing.
  stop() {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#stoppedLate = this.#parent.error !== undefined;
    if (!this.#stoppedLate) endContext(this.#context);
  }

  // Waits until the loop has ended. Throws the error of the job or of the parent, unless stop()
  // ended the loop. May be called once.
  async wait() {
    if (this.#waited) throw periodicWaited();
    this.#waited = true;
    this.#outcome.taken = true;
    const { error, byJob } = await this.#loop;
    if (byJob || !this.#stopped || this.#stoppedLate) throw error;
  }
}

function startEvery(interval, job, options = undefined) {
  return new PeriodicHandle(interval, job, options);
}

// ---- withTimeout

// Gives the job's result if it ends in time. Otherwise throws `async: timeout`, or the error of the
// enclosing signal or deadline if that ends first. A job that ignores its signal continues; its end
// is counted, and an error of it is reported.
async function withTimeout(timeout, job, options = undefined) {
  requireJob(job);
  const ownMs = timeoutMs(timeout, "withTimeout");
  const parent = new Context(options, "withTimeout");
  const { clock } = parent;
  const parentError = parent.error ?? (ownMs <= 0 ? timedOut() : undefined);
  if (parentError !== undefined) {
    endContext(parent);
    throw parentError;
  }
  const parentMs = parent.remainingMs();
  const ownsDeadline = ownMs <= parentMs;
  const dueMs = clock.monotonicNowMs() + ownMs;
  const context = new Context(
    { signal: parent.signal, clock, timeoutMs: MathMin(ownMs, parentMs) }, "withTimeout");
  // Includes an end of which nobody was notified yet: the first end counts.
  const endedBefore = () => {
    const byParent = parent.error;
    const error = byParent ?? context.error;
    if (error?.kind !== "TimedOut" || !ownsDeadline) return error;
    return byParent === undefined || clock.monotonicNowMs() >= dueMs ? timedOut() : error;
  };
  const { promise, resolve, reject } = newPromise();
  let settled = false;
  const settle = (how, value) => {
    settled = true;
    endContext(context);
    endContext(parent);
    how(value);
  };
  context.signal.addEventListener("abort", () => {
    if (!settled) settle(reject, endedBefore());
  });
  PromisePrototypeThen(start(job, context), (value) => {
    if (settled) return lateOutcome();
    const instead = endedBefore();
    if (instead === undefined) settle(resolve, value);
    else settle(reject, instead);
  }, (error) => {
    const wasSettled = settled;
    const instead = wasSettled ? undefined : endedBefore();
    if (!wasSettled) settle(reject, instead ?? error);
    else lateOutcome();
    if (!wasSettled && instead === undefined) return;
    if (!isEndOf(context.signal, error)) events.reportException(error);
  });
  return promise;
}

realm.modules["weft:async"] = {
  __proto__: null,
  AsyncError,
  AsyncLocalStorage: realm.asyncContext?.AsyncLocalStorage,
  Group,
  Pool,
  Task,
  every,
  startEvery,
  withTimeout,
};
