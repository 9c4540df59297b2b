// The global object as an event target, and the report of errors that nobody caught.
// https://html.spec.whatwg.org/#runtime-script-errors
//
// The host calls, through realm.events:
//     installGlobalEventTarget(globalThis)       done at the end of this script
//     reportException(error)                     an exception that left a callback
//     unhandledRejection(promise, reason) -> true when a listener prevented the default
//     rejectionHandled(promise, reason)
//     repair()                                   after a turn that was ended by force
// and provides `native.reportUncaught(error)`, which writes the error with its stack.

const { Number, ObjectSetPrototypeOf, RegExpPrototypeExec, String } = realm.primordials;
const { webidl, events } = realm;
const { ErrorEvent, EventTarget, PromiseRejectionEvent } = events;

let globalObject;
let installed = false;
// An error thrown by a listener of "error" is not dispatched to the listeners of "error" again.
let inErrorReporting = false;

class GlobalScope extends EventTarget {
  constructor() {
    if (arguments[0] !== webidl.internal) throw webidl.illegalConstructor();
    super();
  }
}
webidl.configureInterface(GlobalScope);

function installGlobalEventTarget(global) {
  if (globalObject === global) return;
  globalObject = global;
  installed = true;
  events.setGlobalTarget(global, new GlobalScope(webidl.internal));
  ObjectSetPrototypeOf(global, GlobalScope.prototype);
  events.defineEventHandler(GlobalScope, "error", events.processGlobalErrorHandler);
  events.defineEventHandler(GlobalScope, "unhandledrejection");
  events.defineEventHandler(GlobalScope, "rejectionhandled");
}

// The source position of an error, from the first frame of its stack.
function locate(error) {
  const place = { __proto__: null, message: "", filename: "", lineno: 0, colno: 0, error };
  if (!webidl.isObject(error)) {
    place.message = `Uncaught ${typeof error === "symbol" ? "symbol" : String(error)}`;
    return place;
  }
  try {
    place.message = `Uncaught ${String(error)}`;
    const { stack } = error;
    const frame = typeof stack === "string"
      ? RegExpPrototypeExec(/\n\s+at (?:.*\()?([^()\n]+):(\d+):(\d+)/, stack) : null;
    if (frame !== null) {
      place.filename = frame[1];
      place.lineno = Number(frame[2]);
      place.colno = Number(frame[3]);
    }
  } catch {
    // A getter of the application threw; the event contains what is known so far.
  }
  return place;
}

// https://html.spec.whatwg.org/#report-an-exception
function reportException(error) {
  if (installed && !inErrorReporting && events.hasListeners(globalObject, "error")) {
    inErrorReporting = true;
    try {
      const init = locate(error);
      init.cancelable = true;
      const notHandled = events.fireEvent(globalObject, new ErrorEvent("error", init));
      if (!notHandled) return;
    } finally {
      inErrorReporting = false;
    }
  }
  native.reportUncaught?.(error);
}

function unhandledRejection(promise, reason) {
  if (!installed || !events.hasListeners(globalObject, "unhandledrejection")) return false;
  const event = new PromiseRejectionEvent(
    "unhandledrejection", { promise, reason, cancelable: true });
  return !events.fireEvent(globalObject, event);
}

function rejectionHandled(promise, reason) {
  if (!installed || !events.hasListeners(globalObject, "rejectionhandled")) return;
  events.fireEvent(
    globalObject, new PromiseRejectionEvent("rejectionhandled", { promise, reason }));
}

// https://html.spec.whatwg.org/#dom-reporterror
const { reportError } = {
  reportError(error) {
    webidl.requiredArguments(arguments.length, 1, "Failed to execute 'reportError'");
    reportException(error);
  },
};

// Called by the host after a turn that was ended by force.
events.repair = () => {
  inErrorReporting = false;
};

events.installGlobalEventTarget = installGlobalEventTarget;
events.reportException = reportException;
events.unhandledRejection = unhandledRejection;
events.rejectionHandled = rejectionHandled;

installGlobalEventTarget(globalThis);
realm.expose({ reportError });
