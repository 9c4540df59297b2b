// The event classes with attributes of their own. Each class has the members of its dictionary.

const { ObjectFreeze } = realm.primordials;
const { webidl, events } = realm;
const { converters, requiredArguments } = webidl;
const { Event } = events;

const any = (key) => ({ key, converter: converters.any, defaultValue: null });
const text = (key) => ({ key, converter: converters.USVString, defaultValue: "" });
const domString = (key) => ({ key, converter: converters.DOMString, defaultValue: "" });
const flag = (key) => ({ key, converter: converters.boolean, defaultValue: false });
const number = (key, type) => ({ key, converter: converters[type], defaultValue: 0 });

function eventInit(name, members) {
  const converter = webidl.dictionaryConverter(name, members, converters.EventInit);
  converters[name] = converter;
  return converter;
}

// ---- CustomEvent: https://dom.spec.whatwg.org/#interface-customevent

const toCustomEventInit = eventInit("CustomEventInit", [any("detail")]);

class CustomEvent extends Event {
  #detail;

  constructor(type, eventInitDict = {}) {
    const prefix = "Failed to construct 'CustomEvent'";
    requiredArguments(arguments.length, 1, prefix);
    type = converters.DOMString(type, prefix, "Argument 1");
    const init = toCustomEventInit(eventInitDict, prefix, "Argument 2");
    super(type, init);
    this.#detail = init.detail;
  }

  get detail() { return this.#detail; }

  initCustomEvent(type, bubbles = false, cancelable = false, detail = null) {
    requiredArguments(arguments.length, 1, "Failed to execute 'initCustomEvent' on 'CustomEvent'");
    this.#detail;
    if (events.isDispatching(this)) return;
    this.initEvent(type, bubbles, cancelable);
    this.#detail = detail;
  }
}
webidl.configureInterface(CustomEvent);

// ---- ErrorEvent: https://html.spec.whatwg.org/#errorevent

const toErrorEventInit = eventInit("ErrorEventInit", [
  domString("message"), text("filename"), number("lineno", "unsigned long"),
  number("colno", "unsigned long"), { key: "error", converter: converters.any },
]);

class ErrorEvent extends Event {
  #init;

  constructor(type, eventInitDict = {}) {
    const prefix = "Failed to construct 'ErrorEvent'";
    requiredArguments(arguments.length, 1, prefix);
    type = converters.DOMString(type, prefix, "Argument 1");
    const init = toErrorEventInit(eventInitDict, prefix, "Argument 2");
    super(type, init);
    this.#init = init;
  }

  get message() { return this.#init.message; }
  get filename() { return this.#init.filename; }
  get lineno() { return this.#init.lineno; }
  get colno() { return this.#init.colno; }
  get error() { return this.#init.error; }

  static {
    events.isErrorEvent = (event) => #init in event;
  }
}
webidl.configureInterface(ErrorEvent);

// ---- PromiseRejectionEvent: https://html.spec.whatwg.org/#promiserejectionevent

const toPromiseRejectionEventInit = eventInit("PromiseRejectionEventInit", [
  { key: "promise", converter: converters.object, required: true },
  { key: "reason", converter: converters.any },
]);

class PromiseRejectionEvent extends Event {
  #promise;
  #reason;

  constructor(type, eventInitDict) {
    const prefix = "Failed to construct 'PromiseRejectionEvent'";
    requiredArguments(arguments.length, 2, prefix);
    type = converters.DOMString(type, prefix, "Argument 1");
    const init = toPromiseRejectionEventInit(eventInitDict, prefix, "Argument 2");
    super(type, init);
    this.#promise = init.promise;
    this.#reason = init.reason;
  }

  get promise() { return this.#promise; }
  get reason() { return this.#reason; }
}
webidl.configureInterface(PromiseRejectionEvent);

// ---- CloseEvent: https://websockets.spec.whatwg.org/#the-closeevent-interface

const toCloseEventInit = eventInit("CloseEventInit", [
  flag("wasClean"), number("code", "unsigned short"), text("reason"),
]);

class CloseEvent extends Event {
  #init;

  constructor(type, eventInitDict = {}) {
    const prefix = "Failed to construct 'CloseEvent'";
    requiredArguments(arguments.length, 1, prefix);
    type = converters.DOMString(type, prefix, "Argument 1");
    const init = toCloseEventInit(eventInitDict, prefix, "Argument 2");
    super(type, init);
    this.#init = init;
  }

  get wasClean() { return this.#init.wasClean; }
  get code() { return this.#init.code; }
  get reason() { return this.#init.reason; }
}
webidl.configureInterface(CloseEvent);

// ---- MessageEvent: https://html.spec.whatwg.org/#messageevent

// MessagePort is defined by a later script, which adds its converter then.
function toMessagePort(value, prefix, context) {
  const converter = converters.MessagePort ?? converters.EventTarget;
  return converter(value, prefix, context);
}

const toSource = webidl.nullableConverter(toMessagePort);
const toPorts = webidl.sequenceConverter(toMessagePort);
const toMessageEventInit = eventInit("MessageEventInit", [
  any("data"), text("origin"), domString("lastEventId"),
  { key: "source", converter: toSource, defaultValue: null },
  { key: "ports", converter: toPorts, defaultValue: () => [] },
]);

class MessageEvent extends Event {
  #data;
  #origin;
  #lastEventId;
  #source;
  #ports;

  constructor(type, eventInitDict = {}) {
    const prefix = "Failed to construct 'MessageEvent'";
    requiredArguments(arguments.length, 1, prefix);
    type = converters.DOMString(type, prefix, "Argument 1");
    const init = toMessageEventInit(eventInitDict, prefix, "Argument 2");
    super(type, init);
    this.#data = init.data;
    this.#origin = init.origin;
    this.#lastEventId = init.lastEventId;
    this.#source = init.source;
    this.#ports = ObjectFreeze(init.ports);
  }

  get data() { return this.#data; }
  get origin() { return this.#origin; }
  get lastEventId() { return this.#lastEventId; }
  get source() { return this.#source; }
  get ports() { return this.#ports; }

  initMessageEvent(type, bubbles = false, cancelable = false, data = null, origin = "",
    lastEventId = "", source = null, ports = []) {
    const prefix = "Failed to execute 'initMessageEvent' on 'MessageEvent'";
    requiredArguments(arguments.length, 1, prefix);
    this.#data;
    origin = converters.USVString(origin, prefix, "Argument 5");
    lastEventId = converters.DOMString(lastEventId, prefix, "Argument 6");
    source = toSource(source, prefix, "Argument 7");
    ports = toPorts(ports, prefix, "Argument 8");
    if (events.isDispatching(this)) return;
    this.initEvent(type, bubbles, cancelable);
    this.#data = data;
    this.#origin = origin;
    this.#lastEventId = lastEventId;
    this.#source = source;
    this.#ports = ObjectFreeze(ports);
  }
}
webidl.configureInterface(MessageEvent);

// ---- ProgressEvent: https://xhr.spec.whatwg.org/#interface-progressevent

const toProgressEventInit = eventInit("ProgressEventInit", [
  flag("lengthComputable"), number("loaded", "double"), number("total", "double"),
]);

class ProgressEvent extends Event {
  #init;

  constructor(type, eventInitDict = {}) {
    const prefix = "Failed to construct 'ProgressEvent'";
    requiredArguments(arguments.length, 1, prefix);
    type = converters.DOMString(type, prefix, "Argument 1");
    const init = toProgressEventInit(eventInitDict, prefix, "Argument 2");
    super(type, init);
    this.#init = init;
  }

  get lengthComputable() { return this.#init.lengthComputable; }
  get loaded() { return this.#init.loaded; }
  get total() { return this.#init.total; }
}
webidl.configureInterface(ProgressEvent);

const types = {
  CustomEvent, ErrorEvent, PromiseRejectionEvent, CloseEvent, MessageEvent, ProgressEvent,
};
events.CustomEvent = CustomEvent;
events.ErrorEvent = ErrorEvent;
events.PromiseRejectionEvent = PromiseRejectionEvent;
events.CloseEvent = CloseEvent;
events.MessageEvent = MessageEvent;
events.ProgressEvent = ProgressEvent;
realm.expose(types);
