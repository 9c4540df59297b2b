// MessageChannel and MessagePort, within one isolate.
// https://html.spec.whatwg.org/#message-channels
//
// A message is cloned when it is sent and arrives in a task of its own. The task belongs to the
// application, so the end of the request that sent the message does not cancel it.
const { clone, events, webidl } = realm;
const { MessageEvent, EventTarget, Event } = events;
const { setTimeoutInternal } = realm.timers;
const {
  ArrayPrototypeIndexOf, ArrayPrototypePush, ArrayPrototypeShift, FunctionPrototypeCall,
  ObjectDefineProperty, ObjectGetOwnPropertyDescriptor, SymbolIterator,
} = realm.primordials;

// The owner of the tasks of the application.
const kApplication = 0;

function postTask(task) {
  setTimeoutInternal(task, 0, true, kApplication);
}

// The overloads (message, transfer) and (message, options).
function transferOf(options, prefix) {
  if (webidl.isObject(options) && options[SymbolIterator] !== undefined &&
      options[SymbolIterator] !== null) {
    return clone.toTransfer(options, prefix, "Argument 2");
  }
  return clone.toOptions(options, prefix, "Argument 2").transfer;
}

let entangle;
let isPort;
let receive;
let start;

class MessagePort extends EventTarget {
  #peer = null;
  #queue = [];
  #enabled = false;
  #detached = false;

  constructor() {
    if (arguments[0] !== webidl.internal) throw webidl.illegalConstructor();
    super();
  }

  postMessage(message, options = undefined) {
    webidl.brandCheck(isPort(this), "MessagePort");
    const prefix = "Failed to execute 'postMessage' on 'MessagePort'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    const transfer = transferOf(options, prefix);
    // 2. If transfer contains this MessagePort, then throw a "DataCloneError" DOMException.
    if (ArrayPrototypeIndexOf(transfer, this) >= 0) {
      throw new realm.DOMException(
        "A port cannot be transferred through itself.", "DataCloneError");
    }
    const target = this.#peer;
    // 4. If targetPort is not null and transfer contains targetPort, then the message is doomed.
    const doomed = target !== null && ArrayPrototypeIndexOf(transfer, target) >= 0;
    const { value, transferred } = clone.cloneWith(message, transfer);
    if (target === null || doomed) return;
    receive(target, value, transferred);
  }

  start() {
    webidl.brandCheck(isPort(this), "MessagePort");
    start(this);
  }

  close() {
    webidl.brandCheck(isPort(this), "MessagePort");
    this.#detached = true;
    const peer = this.#peer;
    if (peer === null) return;
    this.#peer = null;
    peer.#peer = null;
    // The event comes after the messages that were sent before.
    postTask(() => events.fireEvent(peer, new Event("close")));
  }

  // Delivers one queued message, in a task.
  #deliver() {
    if (!this.#enabled || this.#queue.length === 0) return;
    const { data, transferred } = ArrayPrototypeShift(this.#queue);
    const ports = [];
    for (let i = 0; i < transferred.length; i++) {
      if (webidl.isObject(transferred[i]) && isPort(transferred[i])) {
        ArrayPrototypePush(ports, transferred[i]);
      }
    }
    events.fireEvent(this, new MessageEvent("message", { __proto__: null, data, ports }));
  }

  static {
    isPort = (value) => #queue in value;
    entangle = (a, b) => {
      a.#peer = b;
      b.#peer = a;
    };
    receive = (port, data, transferred) => {
      ArrayPrototypePush(port.#queue, { data, transferred });
      if (port.#enabled) postTask(() => port.#deliver());
    };
    start = (port) => {
      if (port.#enabled || port.#detached) return;
      port.#enabled = true;
      for (let i = 0; i < port.#queue.length; i++) postTask(() => port.#deliver());
    };
    clone.transferable({
      is: (value) => isPort(value),
      isDetached: (port) => port.#detached,
      create: () => new MessagePort(webidl.internal),
      move(port, fresh) {
        port.#detached = true;
        port.#enabled = false;
        fresh.#queue = port.#queue;
        port.#queue = [];
        const peer = port.#peer;
        port.#peer = null;
        if (peer !== null) entangle(fresh, peer);
      },
    });
  }
}
webidl.configureInterface(MessagePort);
webidl.converters.MessagePort = webidl.interfaceConverter("MessagePort", (value) => isPort(value));
events.defineEventHandler(MessagePort, "message");
events.defineEventHandler(MessagePort, "messageerror");
events.defineEventHandler(MessagePort, "close");

// HTML: the first time a MessagePort's onmessage IDL attribute is set, its port message queue must
// be enabled, as if the start() method had been called.
const attribute = ObjectGetOwnPropertyDescriptor(MessagePort.prototype, "onmessage");
const setHandler = attribute.set;
attribute.set = ObjectGetOwnPropertyDescriptor({
  set onmessage(value) {
    FunctionPrototypeCall(setHandler, this, value);
    if (isPort(this)) start(this);
  },
}, "onmessage").set;
ObjectDefineProperty(MessagePort.prototype, "onmessage", attribute);

class MessageChannel {
  #port1 = new MessagePort(webidl.internal);
  #port2 = new MessagePort(webidl.internal);

  constructor() {
    entangle(this.#port1, this.#port2);
  }
  get port1() {
    return this.#port1;
  }
  get port2() {
    return this.#port2;
  }
}
webidl.configureInterface(MessageChannel);

realm.messaging = { __proto__: null, MessageChannel, MessagePort, postTask };
realm.expose({ MessageChannel, MessagePort });
