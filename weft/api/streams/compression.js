// CompressionStream and DecompressionStream. https://compression.spec.whatwg.org/
//
// The native functions do the work: compressionCreate(format, mode) returns a handle, where the
// mode is "compress" or "decompress". compressionPush(handle, bytes) and compressionFinish(handle)
// return an ArrayBuffer, which may be empty, and throw a TypeError for malformed input.
// compressionCheck(handle) throws if bytes followed the end of the compressed data.

const { ArrayBufferPrototypeGetByteLength, Uint8Array } = realm.primordials;
const { webidl } = realm;
const { createTransformStream } = realm.streams;
const { converters, requiredArguments } = webidl;

const toFormat = webidl.enumConverter("CompressionFormat", [
  "deflate", "deflate-raw", "gzip", "brotli",
]);

function createPair(format, mode) {
  const handle = native.compressionCreate(format, mode);
  const give = (buffer, enqueue) => {
    if (ArrayBufferPrototypeGetByteLength(buffer) > 0) enqueue(new Uint8Array(buffer));
  };
  return createTransformStream((chunk, enqueue) => {
    const source = converters.BufferSource(chunk, `Failed to ${mode} a chunk`, "The chunk");
    give(native.compressionPush(handle, webidl.viewBytes(source)), enqueue);
    native.compressionCheck(handle);
  }, (enqueue) => give(native.compressionFinish(handle), enqueue));
}

class CompressionStream {
  #pair;

  constructor(format) {
    const prefix = "Failed to construct 'CompressionStream'";
    requiredArguments(arguments.length, 1, prefix);
    this.#pair = createPair(toFormat(format, prefix, "Argument 1"), "compress");
  }

  get readable() { return this.#pair.readable; }
  get writable() { return this.#pair.writable; }
}
webidl.configureInterface(CompressionStream);

class DecompressionStream {
  #pair;

  constructor(format) {
    const prefix = "Failed to construct 'DecompressionStream'";
    requiredArguments(arguments.length, 1, prefix);
    this.#pair = createPair(toFormat(format, prefix, "Argument 1"), "decompress");
  }

  get readable() { return this.#pair.readable; }
  get writable() { return this.#pair.writable; }
}
webidl.configureInterface(DecompressionStream);

realm.streams.CompressionStream = CompressionStream;
realm.streams.DecompressionStream = DecompressionStream;
realm.expose({ CompressionStream, DecompressionStream });
