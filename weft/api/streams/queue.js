// The base of all streams: queues, promises that are made on demand, and a few operations on
// buffers. https://streams.spec.whatwg.org/#supporting-abstract-ops
//
// The public classes of this folder are thin: each holds one private `#state`, and the abstract
// operations of the standard work on these state objects. So the host can make and drain streams
// without the public controllers and readers, which are made only for scripts.
//
// The files of the folder share operations through `realm.streams.ops`, under the names of the
// standard.

const {
  Array, ArrayBufferPrototypeGetByteLength, ArrayBufferPrototypeSlice, FunctionPrototypeCall,
  NumberIsNaN, Promise, PromisePrototypeThen, PromiseReject, PromiseResolve, RangeError, TypeError,
  TypedArrayPrototypeSet, Uint8Array, noop,
} = realm.primordials;
const { webidl } = realm;

const ops = { __proto__: null };
realm.streams = { __proto__: null, ops };

// ---- queues

const kInitialCapacity = 8;  // Capacities are powers of two.

// A first-in first-out queue of single values.
class Fifo {
  constructor() {
    this.items = undefined;
    this.head = 0;
    this.length = 0;
  }

  push(item) {
    let { items } = this;
    if (items === undefined) items = this.items = new Array(kInitialCapacity);
    else if (this.length === items.length) items = this.grow();
    items[(this.head + this.length) & (items.length - 1)] = item;
    this.length++;
  }

  peek() { return this.items[this.head]; }

  at(index) { return this.items[(this.head + index) & (this.items.length - 1)]; }

  shift() {
    const { items, head } = this;
    const item = items[head];
    items[head] = undefined;
    this.head = (head + 1) & (items.length - 1);
    this.length--;
    return item;
  }

  clear() {
    this.items = undefined;
    this.head = 0;
    this.length = 0;
  }

  grow() {
    const { items, length } = this;
    const wider = new Array(items.length * 2);
    for (let i = 0; i < length; i++) wider[i] = this.at(i);
    this.head = 0;
    return (this.items = wider);
  }
}

// https://streams.spec.whatwg.org/#queue-with-sizes
// Values and sizes alternate in one ring, so a chunk needs no object of its own.
class QueueWithSizes {
  constructor() {
    this.items = undefined;
    this.head = 0;
    this.length = 0;
    this.totalSize = 0;
  }

  // EnqueueValueWithSize
  push(value, size) {
    if (!IsNonNegativeNumber(size) || size === Infinity) {
      throw new RangeError("The size of a chunk must be a finite, non-negative number");
    }
    let { items } = this;
    if (items === undefined) items = this.items = new Array(kInitialCapacity * 2);
    else if (this.length * 2 === items.length) items = this.grow();
    const at = (this.head + this.length * 2) & (items.length - 1);
    items[at] = value;
    items[at + 1] = size;
    this.length++;
    this.totalSize += size;
  }

  // PeekQueueValue
  peek() { return this.items[this.head]; }

  // DequeueValue
  shift() {
    const { items, head } = this;
    const value = items[head];
    items[head] = undefined;
    // Rounding errors may make the sum of sizes negative.
    const rest = this.totalSize - items[head + 1];
    this.totalSize = rest < 0 ? 0 : rest;
    this.head = (head + 2) & (items.length - 1);
    this.length--;
    return value;
  }

  // ResetQueue
  clear() {
    this.items = undefined;
    this.head = 0;
    this.length = 0;
    this.totalSize = 0;
  }

  grow() {
    const { items, head } = this;
    const { length } = items;
    const wider = new Array(length * 2);
    for (let i = 0; i < length; i++) wider[i] = items[(head + i) & (length - 1)];
    this.head = 0;
    return (this.items = wider);
  }
}

// ---- promises

let capturedResolve;
let capturedReject;
function capture(resolve, reject) {
  capturedResolve = resolve;
  capturedReject = reject;
}

// A promise that is settled from outside and made on demand. Without a demand it costs three
// fields. Its rejection is never reported as unhandled.
class Deferred {
  constructor() {
    this.state = 0;  // 0 pending, 1 fulfilled, 2 rejected
    this.reason = undefined;
    this.made = null;
    this.resolver = null;
    this.rejecter = null;
  }

  static resolved() {
    const deferred = new Deferred();
    deferred.state = 1;
    return deferred;
  }

  static rejected(reason) {
    const deferred = new Deferred();
    deferred.state = 2;
    deferred.reason = reason;
    return deferred;
  }

  get promise() {
    if (this.made !== null) return this.made;
    if (this.state === 1) {
      this.made = PromiseResolve(undefined);
    } else if (this.state === 2) {
      this.made = PromiseReject(this.reason);
      PromisePrototypeThen(this.made, undefined, noop);
    } else {
      this.made = new Promise(capture);
      this.resolver = capturedResolve;
      this.rejecter = capturedReject;
    }
    return this.made;
  }

  get pending() { return this.state === 0; }

  resolve() {
    if (this.state !== 0) return;
    this.state = 1;
    if (this.made !== null) this.resolver(undefined);
  }

  reject(reason) {
    if (this.state !== 0) return;
    this.state = 2;
    this.reason = reason;
    if (this.made !== null) {
      this.rejecter(reason);
      PromisePrototypeThen(this.made, undefined, noop);
    }
  }
}

// A promise with its resolving functions, for results that scripts can see.
class Settling {
  constructor() {
    this.promise = new Promise(capture);
    this.resolve = capturedResolve;
    this.reject = capturedReject;
  }
}

// Calls a method of an underlying source, sink or transformer that is called for each chunk: pull,
// write, transform. https://webidl.spec.whatwg.org/#invoke-a-callback-function
// NB: A promise that the method returns is used directly. The standard wraps it, which costs three
// more microtasks per chunk and makes no difference to what arrives.
function invokeChunkMethod(method, thisValue, chunk, controller) {
  try {
    return PromiseResolve(FunctionPrototypeCall(method, thisValue, chunk, controller));
  } catch (error) {
    return PromiseReject(error);
  }
}

function invokePullMethod(method, thisValue, controller) {
  try {
    return PromiseResolve(FunctionPrototypeCall(method, thisValue, controller));
  } catch (error) {
    return PromiseReject(error);
  }
}

// Calls a method that is called once: cancel, abort, flush or close.
function invokePromiseMethod(method, thisValue, argument) {
  try {
    return promiseResolvedWith(FunctionPrototypeCall(method, thisValue, argument));
  } catch (error) {
    return PromiseReject(error);
  }
}

function invokeCloseMethod(method, thisValue) {
  try {
    return promiseResolvedWith(FunctionPrototypeCall(method, thisValue));
  } catch (error) {
    return PromiseReject(error);
  }
}

// https://webidl.spec.whatwg.org/#a-promise-resolved-with
// NB: Always a new promise, even for a promise. Scripts can observe it: a stream counts as started
// correspondingly later.
function promiseResolvedWith(value) {
  const promise = new Promise(capture);
  capturedResolve(value);
  return promise;
}

// ---- numbers and buffers

function IsNonNegativeNumber(value) {
  return typeof value === "number" && !NumberIsNaN(value) && value >= 0;
}

// https://streams.spec.whatwg.org/#transfer-array-buffer
// Throws a TypeError for a buffer that cannot be detached.
function TransferArrayBuffer(buffer) {
  return native.arrayBufferTransfer(buffer);
}

function CloneArrayBuffer(buffer, byteOffset, byteLength) {
  return ArrayBufferPrototypeSlice(buffer, byteOffset, byteOffset + byteLength);
}

// https://streams.spec.whatwg.org/#abstract-opdef-cloneasuint8array
function CloneAsUint8Array(view) {
  return new Uint8Array(CloneArrayBuffer(
    webidl.viewBuffer(view), webidl.viewByteOffset(view), webidl.viewByteLength(view)));
}

function CopyDataBlockBytes(toBuffer, toIndex, fromBuffer, fromIndex, count) {
  TypedArrayPrototypeSet(
    new Uint8Array(toBuffer, toIndex, count), new Uint8Array(fromBuffer, fromIndex, count));
}

// https://streams.spec.whatwg.org/#abstract-opdef-cancopydatablockbytes
function CanCopyDataBlockBytes(toBuffer, toIndex, fromBuffer, fromIndex, count) {
  return toBuffer !== fromBuffer && !webidl.isDetached(toBuffer) &&
    !webidl.isDetached(fromBuffer) &&
    toIndex + count <= ArrayBufferPrototypeGetByteLength(toBuffer) &&
    fromIndex + count <= ArrayBufferPrototypeGetByteLength(fromBuffer);
}

function rejectedTypeError(message) {
  return PromiseReject(new TypeError(message));
}

ops.Fifo = Fifo;
ops.QueueWithSizes = QueueWithSizes;
ops.Deferred = Deferred;
ops.Settling = Settling;
ops.invokeChunkMethod = invokeChunkMethod;
ops.invokePullMethod = invokePullMethod;
ops.invokeCloseMethod = invokeCloseMethod;
ops.invokePromiseMethod = invokePromiseMethod;
ops.promiseResolvedWith = promiseResolvedWith;
ops.rejectedTypeError = rejectedTypeError;
ops.IsNonNegativeNumber = IsNonNegativeNumber;
ops.TransferArrayBuffer = TransferArrayBuffer;
ops.CloneArrayBuffer = CloneArrayBuffer;
ops.CloneAsUint8Array = CloneAsUint8Array;
ops.CopyDataBlockBytes = CopyDataBlockBytes;
ops.CanCopyDataBlockBytes = CanCopyDataBlockBytes;
