// TextEncoderStream and TextDecoderStream.
// https://encoding.spec.whatwg.org/#interface-textencoderstream

const { StringFromCharCode, StringPrototypeCharCodeAt, StringPrototypeSlice } = realm.primordials;
const { webidl } = realm;
const { createTransformStream } = realm.streams;
const { converters } = webidl;

class TextEncoderStream {
  #pair;
  #encoder;
  #highSurrogate = "";

  constructor() {
    this.#encoder = new realm.encoding.TextEncoder();
    this.#pair = createTransformStream(
      (chunk, enqueue) => this.#encode(chunk, enqueue), (enqueue) => this.#flush(enqueue));
  }

  get encoding() {
    this.#pair;
    return "utf-8";
  }

  get readable() { return this.#pair.readable; }
  get writable() { return this.#pair.writable; }

  // The chunks may split a surrogate pair.
  #encode(chunk, enqueue) {
    let input = this.#highSurrogate + converters.DOMString(chunk);
    this.#highSurrogate = "";
    if (input === "") return;
    const last = StringPrototypeCharCodeAt(input, input.length - 1);
    if (last >= 0xd800 && last <= 0xdbff) {
      this.#highSurrogate = StringPrototypeSlice(input, -1);
      input = StringPrototypeSlice(input, 0, -1);
    }
    if (input !== "") enqueue(this.#encoder.encode(input));
  }

  #flush(enqueue) {
    if (this.#highSurrogate === "") return;
    this.#highSurrogate = "";
    enqueue(this.#encoder.encode(StringFromCharCode(0xfffd)));
  }
}
webidl.configureInterface(TextEncoderStream);

class TextDecoderStream {
  #pair;
  #decoder;

  constructor(label = "utf-8", options = {}) {
    this.#decoder = new realm.encoding.TextDecoder(label, options);
    this.#pair = createTransformStream((chunk, enqueue) => {
      converters.BufferSource(chunk, "Failed to decode a chunk", "The chunk", allowShared);
      const text = this.#decoder.decode(chunk, streaming);
      if (text !== "") enqueue(text);
    }, (enqueue) => {
      const text = this.#decoder.decode();
      if (text !== "") enqueue(text);
    });
  }

  get encoding() { return this.#decoder.encoding; }
  get fatal() { return this.#decoder.fatal; }
  get ignoreBOM() { return this.#decoder.ignoreBOM; }
  get readable() { return this.#pair.readable; }
  get writable() { return this.#pair.writable; }
}
webidl.configureInterface(TextDecoderStream);

const allowShared = { __proto__: null, allowShared: true, allowResizable: true };
const streaming = { __proto__: null, stream: true };

realm.streams.TextEncoderStream = TextEncoderStream;
realm.streams.TextDecoderStream = TextDecoderStream;
realm.expose({ TextEncoderStream, TextDecoderStream });
