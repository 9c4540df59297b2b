// FileReader. https://w3c.github.io/FileAPI/#APIASynch
//
// Blobs are in memory, so reading takes no time; the events are still fired in tasks of their own.

const { base64EncodeBytes, latin1Decode } = native;
const { DOMException, blob: blobs, encoding, events, mime, timers, webidl } = realm;
const { requiredArguments } = webidl;
const { TypedArrayPrototypeGetBuffer } = realm.primordials;
const { converters } = webidl;

const EMPTY = 0;
const LOADING = 1;
const DONE = 2;

// https://w3c.github.io/FileAPI/#blob-package-data
function packaged(bytes, kind, type, label) {
  if (kind === "arrayBuffer") return TypedArrayPrototypeGetBuffer(bytes);
  if (kind === "binaryString") return latin1Decode(bytes);
  if (kind === "dataURL") {
    return `data:${type === "" ? "application/octet-stream" : type};base64,` +
      base64EncodeBytes(bytes);
  }
  return decoded(bytes, type, label);
}

// Decodes with the encoding of the byte order mark, or else of the label, or else of the type.
function decoded(bytes, type, label) {
  let name = label === undefined ? undefined : encoding.encodingOf(label);
  if (name === undefined) {
    const mimeType = mime.parse(type);
    const charset = mimeType === null ? undefined : mime.parameter(mimeType, "charset");
    if (charset !== undefined) name = encoding.encodingOf(charset);
  }
  if (bytes[0] === 0xfe && bytes[1] === 0xff) name = "utf-16be";
  else if (bytes[0] === 0xff && bytes[1] === 0xfe) name = "utf-16le";
  else if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) name = "utf-8";
  return encoding.decode(name ?? "utf-8", bytes);
}

class FileReader extends events.EventTarget {
  #state = EMPTY;
  #result = null;
  #error = null;
  #read = 0;  // counts the reads, so that a task of an aborted read can tell that it is out of date

  get readyState() { return this.#state; }
  get result() { return this.#result; }
  get error() { return this.#error; }

  readAsArrayBuffer(blob) {
    this.#start(arguments, "readAsArrayBuffer", "arrayBuffer", undefined);
  }

  readAsBinaryString(blob) {
    this.#start(arguments, "readAsBinaryString", "binaryString", undefined);
  }

  readAsText(blob, encoding = undefined) {
    this.#start(arguments, "readAsText", "text", encoding);
  }

  readAsDataURL(blob) {
    this.#start(arguments, "readAsDataURL", "dataURL", undefined);
  }

  // https://w3c.github.io/FileAPI/#readOperation
  #start({ length, 0: given }, method, kind, label) {
    const prefix = `Failed to execute '${method}' on 'FileReader'`;
    requiredArguments(length, 1, prefix);
    const blob = converters.Blob(given, prefix, "Argument 1");
    if (label !== undefined) label = converters.DOMString(label, prefix, "Argument 2");
    if (this.#state === LOADING) {
      throw new DOMException(`${prefix}: it is reading already`, "InvalidStateError");
    }
    this.#state = LOADING;
    this.#result = null;
    this.#error = null;
    const read = ++this.#read;
    const size = blobs.sizeOf(blob);
    this.#then(read, () => {
      this.#fire("loadstart", blob, 0);
      this.#then(read, () => {
        if (size > 0) this.#fire("progress", blob, size);
        this.#then(read, () => this.#finish(blob, size, kind, label));
      });
    });
  }

  // Runs `step` in a task of its own, so that promises are settled between two events, unless the
  // read has ended before.
  #then(read, step) {
    timers.setTimeoutInternal(() => {
      if (read === this.#read && this.#state === LOADING) step();
    }, 0);
  }

  #finish(blob, size, kind, label) {
    this.#state = DONE;
    this.#result = packaged(blobs.bytesOf(blob), kind, blobs.typeOf(blob), label);
    this.#fire("load", blob, size);
    timers.setTimeoutInternal(() => {
      // A handler may have begun another read; then the end of that one is reported.
      if (this.#state !== LOADING) this.#fire("loadend", blob, size);
    }, 0);
  }

  #fire(type, blob, loaded) {
    events.fireEvent(this, new events.ProgressEvent(type, {
      __proto__: null,
      lengthComputable: blob !== null,
      loaded,
      total: blob === null ? 0 : blobs.sizeOf(blob),
    }));
  }

  // https://w3c.github.io/FileAPI/#abort
  abort() {
    if (this.#state !== LOADING) {
      this.#result = null;
      return;
    }
    this.#state = DONE;
    this.#result = null;
    this.#read++;
    this.#error = new DOMException("The read was aborted", "AbortError");
    this.#fire("abort", null, 0);
    if (this.#state !== LOADING) this.#fire("loadend", null, 0);
  }
}
webidl.configureInterface(FileReader);
webidl.defineConstants(FileReader, { EMPTY, LOADING, DONE });
const types = ["loadstart", "progress", "load", "abort", "error", "loadend"];
for (let i = 0; i < types.length; i++) events.defineEventHandler(FileReader, types[i]);

realm.expose({ FileReader });
