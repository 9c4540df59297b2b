// Event and EventTarget. https://dom.spec.whatwg.org/#events
//
// There is no tree here: the path of an event is its target alone. So each dispatch invokes first
// the capturing and then the other listeners of one object.
//
// For other scripts, in realm.events:
//     fireEvent(target, event)            dispatches an event that the platform made (isTrusted)
//     hasListeners(target, type)          whether it is worth making an event at all
//     defineEventHandler(C, "abort")      the attribute `onabort` on the prototype of C
//     reportException(error)              see global.js

const {
  ArrayPrototypeFilter, ArrayPrototypePush, FunctionPrototypeCall, ObjectDefineProperty,
  ObjectGetOwnPropertyDescriptor, ReflectApply, TypeError,
} = realm.primordials;
const { webidl, DOMException } = realm;
const { converters, isObject, requiredArguments } = webidl;

const NONE = 0;
const AT_TARGET = 2;

const events = { __proto__: null };
realm.events = events;

converters.EventInit = webidl.dictionaryConverter("EventInit", [
  { key: "bubbles", converter: converters.boolean, defaultValue: false },
  { key: "cancelable", converter: converters.boolean, defaultValue: false },
  { key: "composed", converter: converters.boolean, defaultValue: false },
]);

// The clock of `performance.now()`.
const { monotonicNow } = native;

// Assigned by EventTarget below, which holds the lists of listeners.
let listenersOf;
let removeListener;
let shownTarget;

let dispatch;
let setTrusted;
let isEvent;
let setCanceled;

const isTrustedGetter = ObjectGetOwnPropertyDescriptor({
  get isTrusted() { return isTrustedOf(this); },
}, "isTrusted").get;
const isTrustedDescriptor = {
  __proto__: null,
  get: isTrustedGetter,
  set: undefined,
  enumerable: true,
  configurable: false,
};
let isTrustedOf;

class Event {
  #type;
  #bubbles = false;
  #cancelable = false;
  #composed = false;
  #target = null;
  #currentTarget = null;
  #phase = NONE;
  #trusted = false;
  #dispatching = false;
  #canceled = false;
  #inPassiveListener = false;
  #stopPropagation = false;
  #stopImmediatePropagation = false;
  #timeStamp;

  constructor(type, eventInitDict = undefined) {
    const prefix = "Failed to construct 'Event'";
    requiredArguments(arguments.length, 1, prefix);
    this.#type = converters.DOMString(type, prefix, "Argument 1");
    if (eventInitDict !== undefined) {
      const init = converters.EventInit(eventInitDict, prefix, "Argument 2");
      this.#bubbles = init.bubbles;
      this.#cancelable = init.cancelable;
      this.#composed = init.composed;
    }
    this.#timeStamp = monotonicNow();
    ObjectDefineProperty(this, "isTrusted", isTrustedDescriptor);
  }

  get type() { return this.#type; }
  get target() { return this.#target; }
  get srcElement() { return this.#target; }
  get currentTarget() { return this.#currentTarget; }
  get eventPhase() { return this.#phase; }
  get bubbles() { return this.#bubbles; }
  get cancelable() { return this.#cancelable; }
  get composed() { return this.#composed; }
  get timeStamp() { return this.#timeStamp; }
  get defaultPrevented() { return this.#canceled; }

  composedPath() {
    return this.#currentTarget === null ? [] : [this.#currentTarget];
  }

  stopPropagation() { this.#stopPropagation = true; }

  get cancelBubble() { return this.#stopPropagation; }
  set cancelBubble(value) {
    if (value) this.#stopPropagation = true;
    else this.#type;  // NB: the brand check of a setter that does nothing.
  }

  stopImmediatePropagation() {
    this.#stopPropagation = true;
    this.#stopImmediatePropagation = true;
  }

  get returnValue() { return !this.#canceled; }
  set returnValue(value) {
    if (!value) setCanceled(this);
    else this.#type;
  }

  preventDefault() { setCanceled(this); }

  initEvent(type, bubbles = false, cancelable = false) {
    const prefix = "Failed to execute 'initEvent' on 'Event'";
    requiredArguments(arguments.length, 1, prefix);
    if (this.#dispatching) {
      converters.DOMString(type, prefix, "Argument 1");
      return;
    }
    this.#type = converters.DOMString(type, prefix, "Argument 1");
    this.#bubbles = !!bubbles;
    this.#cancelable = !!cancelable;
    this.#stopPropagation = false;
    this.#stopImmediatePropagation = false;
    this.#canceled = false;
    this.#trusted = false;
    this.#target = null;
  }

  static {
    isEvent = (value) => #type in value;
    isTrustedOf = (event) => event.#trusted;
    setTrusted = (event) => { event.#trusted = true; };

    // https://dom.spec.whatwg.org/#set-the-canceled-flag
    setCanceled = (event) => {
      if (event.#cancelable && !event.#inPassiveListener) event.#canceled = true;
    };

    // https://dom.spec.whatwg.org/#concept-event-dispatch
    dispatch = (target, event) => {
      event.#dispatching = true;
      const shown = shownTarget(target);
      event.#target = shown;
      const listeners = listenersOf(target, event.#type);
      if (listeners !== undefined) {
        event.#phase = AT_TARGET;
        event.#currentTarget = shown;
        if (!event.#stopPropagation) innerInvoke(target, event, listeners, true);
        // The capturing listeners may have added or removed others.
        const now = listenersOf(target, event.#type);
        if (now !== undefined && !event.#stopPropagation) innerInvoke(target, event, now, false);
      }
      event.#phase = NONE;
      event.#currentTarget = null;
      event.#dispatching = false;
      event.#stopPropagation = false;
      event.#stopImmediatePropagation = false;
      return !event.#canceled;
    };

    // https://dom.spec.whatwg.org/#concept-event-listener-inner-invoke
    // A list is never shortened in place, so its first `count` listeners are those that were there
    // when the loop began.
    const innerInvoke = (target, event, listeners, capture) => {
      const count = listeners.length;
      for (let i = 0; i < count; i++) {
        const listener = listeners[i];
        if (listener.removed || listener.capture !== capture) continue;
        if (listener.once) removeListener(target, event.#type, listener);
        if (listener.passive) event.#inPassiveListener = true;
        try {
          invokeCallback(listener.callback, event, event.#currentTarget);
        } catch (error) {
          events.reportException(error);
        }
        event.#inPassiveListener = false;
        if (event.#stopImmediatePropagation) return;
      }
    };

    events.isDispatching = (event) => event.#dispatching;

    events.beginDispatch = (event) => {
      if (event.#dispatching) {
        throw new DOMException("The event is already being dispatched", "InvalidStateError");
      }
      event.#trusted = false;
    };
  }
}
webidl.configureInterface(Event);
webidl.defineConstants(Event, { NONE: 0, CAPTURING_PHASE: 1, AT_TARGET: 2, BUBBLING_PHASE: 3 });

// https://webidl.spec.whatwg.org/#call-a-user-objects-operation
function invokeCallback(callback, event, currentTarget) {
  if (callback === null) return;
  if (typeof callback === "function") {
    FunctionPrototypeCall(callback, currentTarget, event);
    return;
  }
  const { handleEvent } = callback;
  if (typeof handleEvent !== "function") {
    throw new TypeError("The event listener has no function 'handleEvent'");
  }
  FunctionPrototypeCall(handleEvent, callback, event);
}

// https://dom.spec.whatwg.org/#concept-event-listener
class Listener {
  constructor(callback, capture, passive, once, signal) {
    this.callback = callback;
    this.capture = capture;
    this.passive = passive;
    this.once = once;
    this.signal = signal;
    this.onAbort = null;
    this.removed = false;
  }
}

// The value of an event handler attribute and the listener that stands for it.
class Handler {
  constructor(value) {
    this.value = value;
    this.listener = null;
  }
}

let hasListeners;
let addListener;
let handlerOf;
let setHandler;
let isEventTarget;
let onListenersChanged;

// The EventTarget that holds the listeners of the global object, which is `globalObject`.
let globalTarget;
let globalObject;

const addPrefix = "Failed to execute 'addEventListener' on 'EventTarget'";
const removePrefix = "Failed to execute 'removeEventListener' on 'EventTarget'";

class EventTarget {
  // Lists of listeners by type; made with the first listener.
  #listeners = null;
  // The event handler attributes that were set, by type.
  #handlers = null;

  constructor() {}

  addEventListener(type, callback, options = undefined) {
    const self = receiver(this);
    self.#listeners;
    requiredArguments(arguments.length, 2, addPrefix);
    type = converters.DOMString(type, addPrefix, "Argument 1");
    callback = toEventListener(callback, addPrefix);
    // https://dom.spec.whatwg.org/#event-flatten-more
    let capture = false;
    let once = false;
    let passive = false;
    let signal = null;
    if (isObject(options)) {
      capture = !!options.capture;
      once = !!options.once;
      passive = !!options.passive;
      const given = options.signal;
      if (given !== undefined) {
        signal = converters.AbortSignal(given, addPrefix, "'signal' of 'AddEventListenerOptions'");
      }
    } else {
      capture = toCapture(options);
    }
    // https://dom.spec.whatwg.org/#add-an-event-listener
    if (signal !== null && events.isAborted(signal)) return;
    if (callback === null) return;
    addListener(self, type, new Listener(callback, capture, passive, once, signal));
  }

  removeEventListener(type, callback, options = undefined) {
    const self = receiver(this);
    self.#listeners;
    requiredArguments(arguments.length, 2, removePrefix);
    type = converters.DOMString(type, removePrefix, "Argument 1");
    callback = toEventListener(callback, removePrefix);
    const capture = isObject(options) ? !!options.capture : toCapture(options);
    const list = listenersOf(self, type);
    if (list === undefined) return;
    for (let i = 0; i < list.length; i++) {
      const listener = list[i];
      if (listener.callback === callback && listener.capture === capture) {
        removeListener(self, type, listener);
        return;
      }
    }
  }

  dispatchEvent(event) {
    const self = receiver(this);
    self.#listeners;
    const prefix = "Failed to execute 'dispatchEvent' on 'EventTarget'";
    requiredArguments(arguments.length, 1, prefix);
    event = converters.Event(event, prefix, "Argument 1");
    events.beginDispatch(event);
    return dispatch(self, event);
  }

  static {
    isEventTarget = (value) => #listeners in value || value === globalObject;

    listenersOf = (target, type) => {
      const all = target.#listeners;
      return all === null ? undefined : all[type];
    };

    hasListeners = (target, type) => {
      const list = listenersOf(receiver(target), type);
      return list !== undefined && list.length > 0;
    };

    addListener = (target, type, listener) => {
      const all = target.#listeners ??= { __proto__: null };
      const list = all[type];
      if (list === undefined) {
        all[type] = [listener];
      } else {
        for (let i = 0; i < list.length; i++) {
          if (list[i].callback === listener.callback && list[i].capture === listener.capture) {
            return;
          }
        }
        ArrayPrototypePush(list, listener);
      }
      if (listener.signal !== null) {
        listener.onAbort = () => removeListener(target, type, listener);
        events.addAbortAlgorithm(listener.signal, listener.onAbort);
      }
      onListenersChanged?.(target, type);
    };

    removeListener = (target, type, listener) => {
      listener.removed = true;
      const all = target.#listeners;
      // NB: A new list, because a dispatch may be iterating over the old one.
      const rest = ArrayPrototypeFilter(all[type], (other) => other !== listener);
      if (rest.length === 0) delete all[type];
      else all[type] = rest;
      if (listener.onAbort !== null) {
        events.removeAbortAlgorithm(listener.signal, listener.onAbort);
        listener.onAbort = null;
      }
      onListenersChanged?.(target, type);
    };

    handlerOf = (target, type) => {
      const handlers = receiver(target).#handlers;
      return handlers === null ? null : handlers[type]?.value ?? null;
    };

    // https://html.spec.whatwg.org/#event-handler-attributes
    setHandler = (given, type, value, process) => {
      const target = receiver(given);
      const handlers = target.#handlers;
      if (handlers === null && value === null) return;
      const handler = (target.#handlers ??= { __proto__: null })[type] ??= new Handler(null);
      handler.value = value;
      if (value === null) {
        if (handler.listener !== null) removeListener(target, type, handler.listener);
        handler.listener = null;
      } else if (handler.listener === null) {
        const callback = function (event) { process(handler.value, this, event); };
        handler.listener = new Listener(callback, false, false, false, null);
        addListener(target, type, handler.listener);
      }
    };
  }
}
webidl.configureInterface(EventTarget);

// Operations called without a receiver apply to the global object.
function receiver(value) {
  return (value === undefined || value === null || value === globalObject) &&
    globalTarget !== undefined ? globalTarget : value;
}

shownTarget = (target) => (target === globalTarget ? globalObject : target);

function toEventListener(callback, prefix) {
  if (callback === null || callback === undefined) return null;
  if (!isObject(callback)) {
    throw webidl.failure("is neither a function nor an object", prefix, "Argument 2");
  }
  return callback;
}

function toCapture(options) {
  return options !== undefined && options !== null && !!options;
}

converters.Event = webidl.interfaceConverter("Event", (value) => isEvent(value));
converters.EventTarget = webidl.interfaceConverter("EventTarget", (value) => isEventTarget(value));

// https://html.spec.whatwg.org/#the-event-handler-processing-algorithm
function processHandler(callback, currentTarget, event) {
  if (typeof callback !== "function") return;
  const result = FunctionPrototypeCall(callback, currentTarget, event);
  if (result === false) setCanceled(event);
}

// `onerror` of a global object receives the parts of the error; returning true means that it was
// handled.
function processGlobalErrorHandler(callback, currentTarget, event) {
  if (typeof callback !== "function") return;
  if (!events.isErrorEvent(event)) {
    processHandler(callback, currentTarget, event);
    return;
  }
  const parts = [event.message, event.filename, event.lineno, event.colno, event.error];
  if (ReflectApply(callback, currentTarget, parts) === true) setCanceled(event);
}

// Defines the attribute `on<type>` on `holder`, a class or an object.
function defineEventHandler(holder, type, process = processHandler) {
  const target = typeof holder === "function" ? holder.prototype : holder;
  const name = `on${type}`;
  const accessors = {
    get [name]() { return handlerOf(this, type); },
    set [name](value) { setHandler(this, type, isObject(value) ? value : null, process); },
  };
  const descriptor = ObjectGetOwnPropertyDescriptor(accessors, name);
  ObjectDefineProperty(target, name, descriptor);
}

events.Event = Event;
events.EventTarget = EventTarget;
events.isEventTarget = (value) => isObject(value) && isEventTarget(value);
events.hasListeners = hasListeners;
events.defineEventHandler = defineEventHandler;
events.processGlobalErrorHandler = processGlobalErrorHandler;

// https://dom.spec.whatwg.org/#concept-event-fire. False when a listener prevented the default.
events.fireEvent = function fireEvent(target, event) {
  setTrusted(event);
  return dispatch(receiver(target), event);
};

// Called when the listeners of a target have changed; used by AbortSignal.
events.setListenersChanged = (callback) => { onListenersChanged = callback; };

events.setGlobalTarget = (object, target) => {
  globalObject = object;
  globalTarget = target;
};

realm.expose({ Event, EventTarget });
