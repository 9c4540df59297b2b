// AbortController and AbortSignal. https://dom.spec.whatwg.org/#aborting-ongoing-activities
//
// A signal made by AbortSignal.any() refers to its sources. A source refers to that signal only
// while a listener or an abort algorithm can notice the abort; at other times `aborted` and
// `reason` are answered by reading the sources. So a signal that combines another one with a signal
// of the whole application (`AbortSignal.any([appSignal, ...])` for each request) can be collected
// when nothing refers to it, without weak references.
//
// For other scripts, in realm.events:
//     addAbortAlgorithm(signal, callback), removeAbortAlgorithm(signal, callback)
//         Runs callback() when the signal aborts, before listeners. Remove it when the work ended.
//     isAborted(signal), abortReason(signal)
//     createAbortSignal(), signalAbort(signal, reason)
//     createDependentSignal(signals)              the result of AbortSignal.any()

const {
  ArrayPrototypeIncludes, ArrayPrototypeIndexOf, ArrayPrototypePush, ArrayPrototypeSort,
  ArrayPrototypeSplice, Set, SetPrototypeAdd, SetPrototypeDelete, SetPrototypeForEach,
} = realm.primordials;
const { webidl, events, DOMException } = realm;
const { EventTarget, Event } = events;
const { converters, internal, requiredArguments } = webidl;

let isAbortSignal;
let isAborted;
let abortReason;
let signalAbort;
let addAbortAlgorithm;
let removeAbortAlgorithm;
let createDependentSignal;

// Orders signals by the time at which they were made or aborted.
let order = 0;

class AbortSignal extends EventTarget {
  #aborted = false;
  #reason = undefined;
  // The time of the abort, in terms of `order`.
  #abortedAt = 0;
  #algorithms = null;
  // Of a signal made by any(): the signals that it follows, none of which was made by any().
  #sources = null;
  #createdAt = 0;
  #registered = false;
  // The signals made by any() that follow this one and that somebody listens to.
  #dependents = null;

  constructor() {
    if (arguments[0] !== internal) throw webidl.illegalConstructor();
    super();
  }

  static abort(reason = undefined) {
    const signal = new AbortSignal(internal);
    signal.#setAborted(reason === undefined ? abortError() : reason);
    return signal;
  }

  static timeout(milliseconds) {
    const prefix = "Failed to execute 'timeout' on 'AbortSignal'";
    requiredArguments(arguments.length, 1, prefix);
    milliseconds = converters["unsigned long long"](
      milliseconds, prefix, "Argument 1", enforceRange);
    const signal = new AbortSignal(internal);
    // The timer does not keep the program running.
    realm.timers.setTimeoutInternal(() => {
      signalAbort(signal, new DOMException("The operation timed out", "TimeoutError"));
    }, milliseconds, false);
    return signal;
  }

  static any(signals) {
    const prefix = "Failed to execute 'any' on 'AbortSignal'";
    requiredArguments(arguments.length, 1, prefix);
    return createDependentSignal(toSignals(signals, prefix, "Argument 1"));
  }

  get aborted() { return isAborted(this); }
  get reason() { return abortReason(this); }

  throwIfAborted() {
    if (isAborted(this)) throw this.#reason;
  }

  #setAborted(reason) {
    this.#aborted = true;
    this.#reason = reason;
    this.#abortedAt = ++order;
  }

  // Takes over the reason of the source that was aborted first.
  #follow() {
    const sources = this.#sources;
    let first = null;
    for (let i = 0; i < sources.length; i++) {
      const source = sources[i];
      if (source.#aborted && (first === null || source.#abortedAt < first.#abortedAt)) {
        first = source;
      }
    }
    if (first === null) return;
    this.#sources = null;
    this.#setAborted(first.#reason);
  }

  // Registers this signal with its sources, or removes it, depending on whether anybody could
  // notice their abort.
  #updateRegistration() {
    if (isAborted(this)) return;
    const sources = this.#sources;
    if (sources === null) return;
    const wanted = this.#algorithms !== null || events.hasListeners(this, "abort");
    if (wanted === this.#registered) return;
    this.#registered = wanted;
    for (let i = 0; i < sources.length; i++) {
      if (wanted) {
        // NB: Made with the first dependent signal, because few signals have any.
        SetPrototypeAdd(sources[i].#dependents ??= new Set(), this);
      } else {
        SetPrototypeDelete(sources[i].#dependents, this);
      }
    }
  }

  // https://dom.spec.whatwg.org/#run-the-abort-steps
  #runAbortSteps() {
    const algorithms = this.#algorithms;
    this.#algorithms = null;
    if (algorithms !== null) {
      for (let i = 0; i < algorithms.length; i++) {
        try {
          algorithms[i]();
        } catch (error) {
          events.reportException(error);
        }
      }
    }
    // No event is made if nobody listens.
    if (events.hasListeners(this, "abort")) events.fireEvent(this, new Event("abort"));
  }

  static {
    isAbortSignal = (value) => #aborted in value;

    isAborted = (signal) => {
      if (signal.#sources !== null) signal.#follow();
      return signal.#aborted;
    };

    abortReason = (signal) => {
      if (signal.#sources !== null) signal.#follow();
      return signal.#reason;
    };

    addAbortAlgorithm = (signal, callback) => {
      if (isAborted(signal)) return;
      if (signal.#algorithms === null) {
        signal.#algorithms = [callback];
        signal.#updateRegistration();
      } else {
        ArrayPrototypePush(signal.#algorithms, callback);
      }
    };

    removeAbortAlgorithm = (signal, callback) => {
      const algorithms = signal.#algorithms;
      if (algorithms === null) return;
      const at = ArrayPrototypeIndexOf(algorithms, callback);
      if (at < 0) return;
      if (algorithms.length > 1) {
        ArrayPrototypeSplice(algorithms, at, 1);
        return;
      }
      signal.#algorithms = null;
      signal.#updateRegistration();
    };

    // https://dom.spec.whatwg.org/#abortsignal-signal-abort
    signalAbort = (signal, reason) => {
      if (isAborted(signal)) return;
      signal.#setAborted(reason === undefined ? abortError() : reason);
      const toAbort = [];
      if (signal.#dependents !== null) {
        SetPrototypeForEach(signal.#dependents, (follower) => {
          const sources = follower.#sources;
          for (let i = 0; i < sources.length; i++) {
            if (sources[i] !== signal) SetPrototypeDelete(sources[i].#dependents, follower);
          }
          follower.#follow();
          ArrayPrototypePush(toAbort, follower);
        });
        signal.#dependents = null;
      }
      // They abort in the order in which any() made them.
      ArrayPrototypeSort(toAbort, (a, b) => a.#createdAt - b.#createdAt);
      signal.#runAbortSteps();
      for (let i = 0; i < toAbort.length; i++) toAbort[i].#runAbortSteps();
    };

    // https://dom.spec.whatwg.org/#create-a-dependent-abort-signal
    createDependentSignal = (signals) => {
      const result = new AbortSignal(internal);
      for (let i = 0; i < signals.length; i++) {
        if (isAborted(signals[i])) {
          result.#setAborted(signals[i].#reason);
          return result;
        }
      }
      const sources = [];
      for (let i = 0; i < signals.length; i++) {
        const signal = signals[i];
        if (signal.#createdAt === 0) {
          addOnce(sources, signal);
        } else if (signal.#sources !== null) {
          for (let j = 0; j < signal.#sources.length; j++) addOnce(sources, signal.#sources[j]);
        }
      }
      result.#createdAt = ++order;
      if (sources.length > 0) result.#sources = sources;
      return result;
    };

    events.setListenersChanged((target, type) => {
      if (type === "abort" && #aborted in target) target.#updateRegistration();
    });
  }
}
webidl.configureInterface(AbortSignal);
events.defineEventHandler(AbortSignal, "abort");

const enforceRange = { __proto__: null, enforceRange: true };

function abortError() {
  return new DOMException("The operation was aborted", "AbortError");
}

function addOnce(list, item) {
  if (!ArrayPrototypeIncludes(list, item)) ArrayPrototypePush(list, item);
}

converters.AbortSignal = webidl.interfaceConverter("AbortSignal", (value) => isAbortSignal(value));
const toSignals = webidl.sequenceConverter(converters.AbortSignal);

class AbortController {
  #signal = new AbortSignal(internal);

  constructor() {}

  get signal() { return this.#signal; }

  abort(reason = undefined) {
    signalAbort(this.#signal, reason);
  }
}
webidl.configureInterface(AbortController);

events.AbortSignal = AbortSignal;
events.AbortController = AbortController;
events.isAbortSignal = (value) => webidl.isObject(value) && isAbortSignal(value);
events.isAborted = isAborted;
events.abortReason = abortReason;
events.signalAbort = signalAbort;
events.addAbortAlgorithm = addAbortAlgorithm;
events.removeAbortAlgorithm = removeAbortAlgorithm;
events.createAbortSignal = () => new AbortSignal(internal);
events.createDependentSignal = createDependentSignal;

realm.expose({ AbortController, AbortSignal });
