// BroadcastChannel, within one isolate.
// https://html.spec.whatwg.org/#broadcasting-to-other-browsing-contexts
const { clone, events, webidl, messaging } = realm;
const { MessageEvent, EventTarget } = events;
const { ArrayPrototypeIndexOf, ArrayPrototypePush, ArrayPrototypeSplice } = realm.primordials;

// Channels by name, in the order of their creation.
const channels = { __proto__: null };

class BroadcastChannel extends EventTarget {
  #name;
  #closed = false;

  constructor(name) {
    const prefix = "Failed to construct 'BroadcastChannel'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    super();
    this.#name = webidl.converters.DOMString(name, prefix, "Argument 1");
    ArrayPrototypePush(channels[this.#name] ??= [], this);
  }

  get name() {
    return this.#name;
  }

  postMessage(message) {
    const name = this.#name;
    const prefix = "Failed to execute 'postMessage' on 'BroadcastChannel'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    if (this.#closed) throw new realm.DOMException("The channel is closed.", "InvalidStateError");
    // The message is cloned even if nobody listens, because an invalid one must throw.
    let copy = clone.cloneWith(message, []).value;
    const all = channels[name];
    let first = true;
    for (let i = 0; i < all.length; i++) {
      const target = all[i];
      if (target === this) continue;
      if (!first) copy = clone.cloneWith(message, []).value;
      first = false;
      const data = copy;
      messaging.postTask(() => {
        if (target.#closed) return;
        events.fireEvent(target, new MessageEvent("message", { __proto__: null, data }));
      });
    }
  }

  close() {
    const name = this.#name;
    if (this.#closed) return;
    this.#closed = true;
    const all = channels[name];
    ArrayPrototypeSplice(all, ArrayPrototypeIndexOf(all, this), 1);
    if (all.length === 0) delete channels[name];
  }
}
webidl.configureInterface(BroadcastChannel);
events.defineEventHandler(BroadcastChannel, "message");
events.defineEventHandler(BroadcastChannel, "messageerror");

realm.expose({ BroadcastChannel });
