// Tee: two branches that each see all chunks.
// https://streams.spec.whatwg.org/#abstract-opdef-readablestreamtee

const { PromisePrototypeThen, PromiseResolve, noop } = realm.primordials;
const { webidl } = realm;
const { ops } = realm.streams;
const {
  ByteControllerState, CloneAsUint8Array, ReadableByteStreamControllerClose,
  ReadableByteStreamControllerEnqueue, ReadableByteStreamControllerError,
  ReadableByteStreamControllerGetBYOBRequest, ReadableByteStreamControllerRespond,
  ReadableByteStreamControllerRespondWithNewView, ReadableStreamBYOBReaderRead,
  ReadableStreamBYOBReaderRelease, ReadableStreamCancel, ReadableStreamDefaultControllerClose,
  ReadableStreamDefaultControllerEnqueue, ReadableStreamDefaultControllerError,
  ReadableStreamDefaultReaderRead, ReadableStreamDefaultReaderRelease, Settling,
} = ops;

// The state of both kinds of tee: the reader, which branches were cancelled, and why.
class Tee {
  constructor(stream) {
    this.stream = stream;
    this.reader = ops.AcquireReadableStreamDefaultReaderState(stream);
    this.reading = false;
    this.canceled1 = false;
    this.canceled2 = false;
    this.reason1 = undefined;
    this.reason2 = undefined;
    this.branch1 = null;
    this.branch2 = null;
    this.cancel = new Settling();
  }

  cancelBranch(first, reason) {
    if (first) {
      this.canceled1 = true;
      this.reason1 = reason;
    } else {
      this.canceled2 = true;
      this.reason2 = reason;
    }
    if (this.canceled1 && this.canceled2) {
      this.cancel.resolve(ReadableStreamCancel(this.stream, [this.reason1, this.reason2]));
    }
    return this.cancel.promise;
  }
}

// Runs a step as a microtask. Chunk steps are delayed so that both branches see an error of the
// source in the order in which a script would.
function queueStep(step) {
  PromisePrototypeThen(PromiseResolve(undefined), step);
}

// ---- default streams

class DefaultTee extends Tee {
  constructor(stream, cloneForBranch2) {
    super(stream);
    this.readAgain = false;
    this.cloneForBranch2 = cloneForBranch2;
    const pull = () => {
      this.pull();
      return PromiseResolve(undefined);
    };
    this.branch1 = ops.CreateReadableStream(
      noop, pull, (reason) => this.cancelBranch(true, reason));
    this.branch2 = ops.CreateReadableStream(
      noop, pull, (reason) => this.cancelBranch(false, reason));
    PromisePrototypeThen(this.reader.closed.promise, undefined, (error) => {
      ReadableStreamDefaultControllerError(this.branch1.controller, error);
      ReadableStreamDefaultControllerError(this.branch2.controller, error);
      if (!this.canceled1 || !this.canceled2) this.cancel.resolve(undefined);
    });
  }

  pull() {
    if (this.reading) {
      this.readAgain = true;
      return;
    }
    this.reading = true;
    // NB: the tee is its own read request.
    ReadableStreamDefaultReaderRead(this.reader, this);
  }

  chunkSteps(chunk) {
    queueStep(() => {
      this.readAgain = false;
      const chunk1 = chunk;
      let chunk2 = chunk;
      if (!this.canceled2 && this.cloneForBranch2) {
        try {
          chunk2 = realm.structuredClone(chunk);
        } catch (error) {
          ReadableStreamDefaultControllerError(this.branch1.controller, error);
          ReadableStreamDefaultControllerError(this.branch2.controller, error);
          this.cancel.resolve(ReadableStreamCancel(this.stream, error));
          return;
        }
      }
      if (!this.canceled1) ReadableStreamDefaultControllerEnqueue(this.branch1.controller, chunk1);
      if (!this.canceled2) ReadableStreamDefaultControllerEnqueue(this.branch2.controller, chunk2);
      this.reading = false;
      if (this.readAgain) this.pull();
    });
  }

  closeSteps() {
    this.reading = false;
    if (!this.canceled1) ReadableStreamDefaultControllerClose(this.branch1.controller);
    if (!this.canceled2) ReadableStreamDefaultControllerClose(this.branch2.controller);
    if (!this.canceled1 || !this.canceled2) this.cancel.resolve(undefined);
  }

  errorSteps() { this.reading = false; }
}

// ---- byte streams: https://streams.spec.whatwg.org/#abstract-opdef-readablebytestreamtee

class ByteTeeReadIntoRequest {
  constructor(tee, forBranch2) {
    this.tee = tee;
    this.forBranch2 = forBranch2;
  }

  get byob() { return this.forBranch2 ? this.tee.branch2 : this.tee.branch1; }
  get other() { return this.forBranch2 ? this.tee.branch1 : this.tee.branch2; }
  get byobCanceled() { return this.forBranch2 ? this.tee.canceled2 : this.tee.canceled1; }
  get otherCanceled() { return this.forBranch2 ? this.tee.canceled1 : this.tee.canceled2; }

  chunkSteps(chunk) {
    queueStep(() => {
      const { tee, byob, other, byobCanceled, otherCanceled } = this;
      tee.readAgainForBranch1 = false;
      tee.readAgainForBranch2 = false;
      if (!otherCanceled) {
        let clone;
        try {
          clone = CloneAsUint8Array(chunk);
        } catch (error) {
          tee.fail(error);
          return;
        }
        if (!byobCanceled) ReadableByteStreamControllerRespondWithNewView(byob.controller, chunk);
        ReadableByteStreamControllerEnqueue(other.controller, clone);
      } else if (!byobCanceled) {
        ReadableByteStreamControllerRespondWithNewView(byob.controller, chunk);
      }
      tee.reading = false;
      tee.readAgain();
    });
  }

  closeSteps(chunk) {
    const { tee, byob, other, byobCanceled, otherCanceled } = this;
    tee.reading = false;
    if (!byobCanceled) ReadableByteStreamControllerClose(byob.controller);
    if (!otherCanceled) ReadableByteStreamControllerClose(other.controller);
    if (chunk !== undefined) {
      if (!byobCanceled) ReadableByteStreamControllerRespondWithNewView(byob.controller, chunk);
      if (!otherCanceled && other.controller.pendingPullIntos.length > 0) {
        ReadableByteStreamControllerRespond(other.controller, 0);
      }
    }
    if (!byobCanceled || !otherCanceled) tee.cancel.resolve(undefined);
  }

  errorSteps() { this.tee.reading = false; }
}

class ByteTee extends Tee {
  constructor(stream) {
    super(stream);
    this.readAgainForBranch1 = false;
    this.readAgainForBranch2 = false;
    this.branch1 = ops.CreateReadableByteStream(noop, () => {
      this.pull(false);
      return PromiseResolve(undefined);
    }, (reason) => this.cancelBranch(true, reason));
    this.branch2 = ops.CreateReadableByteStream(noop, () => {
      this.pull(true);
      return PromiseResolve(undefined);
    }, (reason) => this.cancelBranch(false, reason));
    this.forwardReaderError();
  }

  forwardReaderError() {
    const thisReader = this.reader;
    PromisePrototypeThen(thisReader.closed.promise, undefined, (error) => {
      if (thisReader !== this.reader) return;
      ReadableByteStreamControllerError(this.branch1.controller, error);
      ReadableByteStreamControllerError(this.branch2.controller, error);
      if (!this.canceled1 || !this.canceled2) this.cancel.resolve(undefined);
    });
  }

  pull(forBranch2) {
    if (this.reading) {
      if (forBranch2) this.readAgainForBranch2 = true;
      else this.readAgainForBranch1 = true;
      return;
    }
    this.reading = true;
    const branch = forBranch2 ? this.branch2 : this.branch1;
    const byobRequest = ReadableByteStreamControllerGetBYOBRequest(branch.controller);
    if (byobRequest === null) this.pullWithDefaultReader();
    else this.pullWithBYOBReader(byobRequest.view, forBranch2);
  }

  readAgain() {
    if (this.readAgainForBranch1) this.pull(false);
    else if (this.readAgainForBranch2) this.pull(true);
  }

  fail(error) {
    ReadableByteStreamControllerError(this.branch1.controller, error);
    ReadableByteStreamControllerError(this.branch2.controller, error);
    this.cancel.resolve(ReadableStreamCancel(this.stream, error));
  }

  pullWithDefaultReader() {
    if (this.reader.isByob) {
      ReadableStreamBYOBReaderRelease(this.reader);
      this.reader = ops.AcquireReadableStreamDefaultReaderState(this.stream);
      this.forwardReaderError();
    }
    // NB: the tee is its own read request.
    ReadableStreamDefaultReaderRead(this.reader, this);
  }

  chunkSteps(chunk) {
    queueStep(() => {
      this.readAgainForBranch1 = false;
      this.readAgainForBranch2 = false;
      const chunk1 = chunk;
      let chunk2 = chunk;
      if (!this.canceled1 && !this.canceled2) {
        try {
          chunk2 = CloneAsUint8Array(chunk);
        } catch (error) {
          this.fail(error);
          return;
        }
      }
      if (!this.canceled1) ReadableByteStreamControllerEnqueue(this.branch1.controller, chunk1);
      if (!this.canceled2) ReadableByteStreamControllerEnqueue(this.branch2.controller, chunk2);
      this.reading = false;
      this.readAgain();
    });
  }

  closeSteps() {
    this.reading = false;
    const controller1 = this.branch1.controller;
    const controller2 = this.branch2.controller;
    if (!this.canceled1) ReadableByteStreamControllerClose(controller1);
    if (!this.canceled2) ReadableByteStreamControllerClose(controller2);
    if (controller1.pendingPullIntos.length > 0) {
      ReadableByteStreamControllerRespond(controller1, 0);
    }
    if (controller2.pendingPullIntos.length > 0) {
      ReadableByteStreamControllerRespond(controller2, 0);
    }
    if (!this.canceled1 || !this.canceled2) this.cancel.resolve(undefined);
  }

  errorSteps() { this.reading = false; }

  pullWithBYOBReader(view, forBranch2) {
    if (!this.reader.isByob) {
      ReadableStreamDefaultReaderRelease(this.reader);
      this.reader = ops.AcquireReadableStreamBYOBReaderState(this.stream);
      this.forwardReaderError();
    }
    ReadableStreamBYOBReaderRead(
      this.reader, view, 1, new ByteTeeReadIntoRequest(this, forBranch2));
  }
}

ops.ReadableStreamTee = function ReadableStreamTee(stream, cloneForBranch2) {
  const tee = stream.controller instanceof ByteControllerState
    ? new ByteTee(stream) : new DefaultTee(stream, cloneForBranch2);
  return [tee.branch1, tee.branch2];
};

// For the body of a cloned request or response: the second branch receives copies.
// https://fetch.spec.whatwg.org/#concept-body-clone
realm.streams.teeForClone = function teeForClone(stream) {
  const state = ops.readableState(webidl.converters.ReadableStream(stream));
  const branches = ops.ReadableStreamTee(state, true);
  return [ops.wrapReadable(branches[0]), ops.wrapReadable(branches[1])];
};
