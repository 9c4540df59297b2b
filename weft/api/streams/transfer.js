// The transfer of readable and writable streams. https://streams.spec.whatwg.org/#rs-transfer
//
// Both ends live in the same isolate, so that a transform stream that clones each chunk stands for
// the pair of ports of the standard. A TransformStream cannot be transferred: its two sides can.
const { clone, streams, structuredClone } = realm;
const { ops } = streams;
const { PromisePrototypeThen, WeakMap, WeakMapPrototypeGet, WeakMapPrototypeSet, noop } =
  realm.primordials;

// The new stream: the other side of what it stands on.
const otherSides = new WeakMap();

function newPair() {
  return streams.createTransformStream((chunk, enqueue) => enqueue(structuredClone(chunk)));
}

function pipe(readable, writable) {
  const promise = ops.ReadableStreamPipeTo(
    ops.readableState(readable), ops.writableState(writable), false, false, false, undefined);
  // Both streams tell how it ends.
  PromisePrototypeThen(promise, noop, noop);
}

clone.transferable({
  is: ops.isReadableStream,
  isDetached: (stream) => ops.IsReadableStreamLocked(ops.readableState(stream)),
  create() {
    const { readable, writable } = newPair();
    WeakMapPrototypeSet(otherSides, readable, writable);
    return readable;
  },
  move: (stream, fresh) => pipe(stream, WeakMapPrototypeGet(otherSides, fresh)),
});

clone.transferable({
  is: ops.isWritableStream,
  isDetached: (stream) => ops.IsWritableStreamLocked(ops.writableState(stream)),
  create() {
    const { readable, writable } = newPair();
    WeakMapPrototypeSet(otherSides, writable, readable);
    return writable;
  },
  move: (stream, fresh) => pipe(WeakMapPrototypeGet(otherSides, fresh), stream),
});
