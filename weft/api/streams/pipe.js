// pipeTo. https://streams.spec.whatwg.org/#readable-stream-pipe-to
//
// Chunks are moved from the source's queue to the destination's without a promise for each. While
// the destination wants more, queued chunks are moved in one loop. A chunk that arrives later is
// written in a microtask, never inside the enqueue() of the source.

const {
  ArrayPrototypePush, PromisePrototypeThen, PromiseResolve, TypeError, noop,
} = realm.primordials;
const { events } = realm;
const { ops } = realm.streams;
const {
  CLOSED, ERRORED, READABLE, ReadableStreamCancel, ReadableStreamDefaultReaderRead,
  ReadableStreamDefaultReaderRelease, Settling, WRITABLE, WRITABLE_CLOSED, WRITABLE_ERRORED,
  WritableStreamAbort, WritableStreamCloseQueuedOrInFlight,
  WritableStreamDefaultWriterCloseWithErrorPropagation, WritableStreamDefaultWriterGetDesiredSize,
  WritableStreamDefaultWriterRelease, WritableStreamDefaultWriterWrite,
} = ops;

// Serves as the read request of its reads and as the write request of its writes.
class Pipe {
  constructor(source, dest, preventClose, preventAbort, preventCancel, signal) {
    this.source = source;
    this.dest = dest;
    this.preventClose = preventClose;
    this.preventAbort = preventAbort;
    this.preventCancel = preventCancel;
    this.signal = signal;
    this.onAbort = null;
    this.result = new Settling();
    this.reader = ops.AcquireReadableStreamDefaultReaderState(source);
    this.writer = ops.AcquireWritableStreamDefaultWriterState(dest);
    source.disturbed = true;
    this.shuttingDown = false;
    this.readPending = false;    // a read is pending, or its chunk waits to be written
    this.inRead = false;         // within the call of a read
    this.writesPending = 0;
    this.idle = null;            // a Settling, for those who wait for the last write
    this.continueLoop = () => this.loop();
    this.writeLater = null;
    this.lateChunk = undefined;
  }

  start() {
    const { signal } = this;
    if (signal !== undefined) {
      this.onAbort = () => this.abort();
      if (events.isAborted(signal)) {
        this.abort();
        return;
      }
      events.addAbortAlgorithm(signal, this.onAbort);
    }
    this.watch();
    this.loop();
  }

  // ---- reading and writing

  loop() {
    while (!this.shuttingDown && !this.readPending) {
      const desiredSize = WritableStreamDefaultWriterGetDesiredSize(this.writer);
      if (desiredSize === null) return;   // errored or erroring: the watchers handle it
      if (this.dest.backpressure || desiredSize <= 0) {
        PromisePrototypeThen(this.writer.ready.promise, this.continueLoop, noop);
        return;
      }
      if (this.source.state !== READABLE) return;
      this.readPending = true;
      this.inRead = true;
      ReadableStreamDefaultReaderRead(this.reader, this);
      this.inRead = false;
    }
  }

  // The read request.
  chunkSteps(chunk) {
    if (this.inRead) {
      this.readPending = false;
      this.write(chunk);
      return;
    }
    // The source is inside enqueue(), which must not call write().
    this.lateChunk = chunk;
    this.writesPending++;
    this.writeLater ??= () => {
      const late = this.lateChunk;
      this.lateChunk = undefined;
      this.readPending = false;
      this.write(late);
      this.writeEnded();
      this.loop();
    };
    PromisePrototypeThen(PromiseResolve(undefined), this.writeLater);
  }

  closeSteps() { this.readPending = false; }
  errorSteps() { this.readPending = false; }

  write(chunk) {
    this.writesPending++;
    const failed = WritableStreamDefaultWriterWrite(this.writer, chunk, this);
    if (failed !== undefined) {
      PromisePrototypeThen(failed, undefined, noop);
      this.writeEnded();
    }
  }

  // The write request.
  resolve() { this.writeEnded(); }
  reject() { this.writeEnded(); }

  writeEnded() {
    this.writesPending--;
    if (this.writesPending === 0 && this.idle !== null) {
      const { idle } = this;
      this.idle = null;
      idle.resolve(undefined);
    }
  }

  waitForWrites() {
    if (this.writesPending === 0) return PromiseResolve(undefined);
    this.idle ??= new Settling();
    return PromisePrototypeThen(this.idle.promise, () => this.waitForWrites());
  }

  // ---- the ends of a pipe, in the order of the standard

  watch() {
    const { source, dest, reader, writer } = this;
    // Errors must be propagated forward.
    this.isOrBecomesErrored(source.state === ERRORED, source, reader, () => {
      if (this.preventAbort) this.shutdown(true, source.storedError);
      else this.abortDest(source.storedError);
    });
    // Errors must be propagated backward.
    this.isOrBecomesErrored(dest.state === WRITABLE_ERRORED, dest, writer, () => {
      if (this.preventCancel) this.shutdown(true, dest.storedError);
      else this.cancelSource(dest.storedError);
    });
    // Closing must be propagated forward.
    const onClose = () => {
      if (this.preventClose) {
        this.shutdown(false, undefined);
      } else {
        this.shutdownWithAction(
          () => WritableStreamDefaultWriterCloseWithErrorPropagation(writer), false, undefined);
      }
    };
    if (source.state === CLOSED) onClose();
    else PromisePrototypeThen(reader.closed.promise, onClose, noop);
    // Closing must be propagated backward.
    if (WritableStreamCloseQueuedOrInFlight(dest) || dest.state === WRITABLE_CLOSED) {
      const closed = new TypeError(
        "The destination closed before all chunks could be written");
      if (this.preventCancel) this.shutdown(true, closed);
      else this.cancelSource(closed);
    }
  }

  isOrBecomesErrored(errored, stream, end, action) {
    if (errored) action();
    else PromisePrototypeThen(end.closed.promise, undefined, action);
  }

  abortDest(error) {
    this.shutdownWithAction(() => WritableStreamAbort(this.dest, error), true, error);
  }

  cancelSource(error) {
    this.shutdownWithAction(() => ReadableStreamCancel(this.source, error), true, error);
  }

  abort() {
    const { source, dest, signal } = this;
    const error = events.abortReason(signal);
    this.shutdownWithAction(() => {
      const actions = [];
      if (!this.preventAbort) {
        ArrayPrototypePush(actions, dest.state === WRITABLE
          ? WritableStreamAbort(dest, error) : PromiseResolve(undefined));
      }
      if (!this.preventCancel) {
        ArrayPrototypePush(actions, source.state === READABLE
          ? ReadableStreamCancel(source, error) : PromiseResolve(undefined));
      }
      return waitForAll(actions);
    }, true, error);
  }

  // ---- shutting down

  shutdownWithAction(action, hasError, error) {
    if (this.shuttingDown) return;
    this.shuttingDown = true;
    const perform = () => {
      PromisePrototypeThen(action(), () => this.finalize(hasError, error),
        (newError) => this.finalize(true, newError));
    };
    if (this.dest.state === WRITABLE && !WritableStreamCloseQueuedOrInFlight(this.dest)) {
      PromisePrototypeThen(this.waitForWrites(), perform);
    } else {
      perform();
    }
  }

  shutdown(hasError, error) {
    if (this.shuttingDown) return;
    this.shuttingDown = true;
    if (this.dest.state === WRITABLE && !WritableStreamCloseQueuedOrInFlight(this.dest)) {
      PromisePrototypeThen(this.waitForWrites(), () => this.finalize(hasError, error));
    } else {
      this.finalize(hasError, error);
    }
  }

  finalize(hasError, error) {
    WritableStreamDefaultWriterRelease(this.writer);
    ReadableStreamDefaultReaderRelease(this.reader);
    if (this.onAbort !== null) events.removeAbortAlgorithm(this.signal, this.onAbort);
    if (hasError) this.result.reject(error);
    else this.result.resolve(undefined);
  }
}

// Fulfills when all promises did, rejects with the first rejection. NB: Promise.all looks up
// `then`, which applications may have replaced.
function waitForAll(promises) {
  const settling = new Settling();
  let left = promises.length;
  if (left === 0) settling.resolve(undefined);
  for (let i = 0; i < promises.length; i++) {
    PromisePrototypeThen(promises[i], () => {
      if (--left === 0) settling.resolve(undefined);
    }, settling.reject);
  }
  return settling.promise;
}

ops.ReadableStreamPipeTo = function ReadableStreamPipeTo(
  source, dest, preventClose, preventAbort, preventCancel, signal) {
  const pipe = new Pipe(source, dest, preventClose, preventAbort, preventCancel, signal);
  pipe.start();
  return pipe.result.promise;
};
