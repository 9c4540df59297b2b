// The transfer of readable and writable streams. https://streams.spec.whatwg.org/#rs-transfer
//
// Both ends belong to the same isolate, so a transform stream that clones each chunk replaces the
// pair of ports of the standard. A TransformStream cannot be transferred, but its two sides can.
const { clone, streams, structuredClone } = realm;
const { ops } = streams;
const { PromisePrototypeThen, WeakMap, WeakMapPrototypeGet, WeakMapPrototypeSet, noop } =
  realm.primordials;

// Maps a new stream to the other side of its transform stream.
const otherSides = new WeakMap();

function newPair() {
  return streams.createTransformStream((chunk, enqueue) => enqueue(structuredClone(chunk)));
}

function pipe(readable, writable) {
  const promise = ops.ReadableStreamPipeTo(
    ops.readableState(readable), ops.writableState(writable), false, false, false, undefined);
  // Both streams report how it ends.
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
