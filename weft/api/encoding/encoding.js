// TextEncoder and TextDecoder. https://encoding.spec.whatwg.org/#api
//
// For other scripts, realm.encoding:
//     TextEncoder, TextDecoder
//     textStream(stream)           the texts of a byte stream of UTF-8
//     encodingOf(label)            the name in lower case, or undefined
//     decode(name, bytes)          the text, errors replaced

const { textDecode, utf8Decode, utf8Encode, utf8EncodeInto } = native;
const { webidl } = realm;
const { brandCheck, isObject, requiredArguments } = webidl;
const {
  ArrayPrototypeForEach, RangeError, RegExpPrototypeExec, RegExpPrototypeSymbolReplace,
  StringPrototypeCharCodeAt, StringPrototypeSlice, StringPrototypeSplit,
  StringPrototypeToLowerCase, TypeError, Uint32Array, Uint8Array, uncurryThis,
} = realm.primordials;
const { converters } = webidl;

// Names and labels, https://encoding.spec.whatwg.org/#names-and-labels, in the order of
// `enum class Encoding` in legacy.h.
const encodings = [
  ["utf-8", "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8"],
  ["ibm866", "866 cp866 csibm866 ibm866"],
  ["iso-8859-2",
    "csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 " +
    "latin2"],
  ["iso-8859-3",
    "csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 " +
    "latin3"],
  ["iso-8859-4",
    "csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 " +
    "latin4"],
  ["iso-8859-5",
    "csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5 " +
    "iso_8859-5:1988"],
  ["iso-8859-6",
    "arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 " +
    "iso-8859-6-e iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987"],
  ["iso-8859-7",
    "csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 " +
    "iso88597 iso_8859-7 iso_8859-7:1987 sun_eu_greek"],
  ["iso-8859-8",
    "csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138 iso8859-8 " +
    "iso88598 iso_8859-8 iso_8859-8:1988 visual"],
  ["iso-8859-8-i", "csiso88598i iso-8859-8-i logical"],
  ["iso-8859-10", "csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6"],
  ["iso-8859-13", "iso-8859-13 iso8859-13 iso885913"],
  ["iso-8859-14", "iso-8859-14 iso8859-14 iso885914"],
  ["iso-8859-15", "csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9"],
  ["iso-8859-16", "iso-8859-16"],
  ["koi8-r", "cskoi8r koi koi8 koi8-r koi8_r"],
  ["koi8-u", "koi8-ru koi8-u"],
  ["macintosh", "csmacintosh mac macintosh x-mac-roman"],
  ["windows-874", "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874"],
  ["windows-1250", "cp1250 windows-1250 x-cp1250"],
  ["windows-1251", "cp1251 windows-1251 x-cp1251"],
  ["windows-1252",
    "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 " +
    "iso8859-1 iso88591 iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii windows-1252 " +
    "x-cp1252"],
  ["windows-1253", "cp1253 windows-1253 x-cp1253"],
  ["windows-1254",
    "cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 " +
    "iso_8859-9:1989 l5 latin5 windows-1254 x-cp1254"],
  ["windows-1255", "cp1255 windows-1255 x-cp1255"],
  ["windows-1256", "cp1256 windows-1256 x-cp1256"],
  ["windows-1257", "cp1257 windows-1257 x-cp1257"],
  ["windows-1258", "cp1258 windows-1258 x-cp1258"],
  ["x-mac-cyrillic", "x-mac-cyrillic x-mac-ukrainian"],
  ["gbk", "chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk"],
  ["gb18030", "gb18030"],
  ["big5", "big5 big5-hkscs cn-big5 csbig5 x-x-big5"],
  ["euc-jp", "cseucpkdfmtjapanese euc-jp x-euc-jp"],
  ["iso-2022-jp", "csiso2022jp iso-2022-jp"],
  ["shift_jis", "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis"],
  ["euc-kr",
    "cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 " +
    "ksc5601 ksc_5601 windows-949"],
  ["replacement", "csiso2022kr hz-gb-2312 iso-2022-cn iso-2022-cn-ext iso-2022-kr replacement"],
  ["utf-16be", "unicodefffe utf-16be"],
  ["utf-16le", "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le"],
  ["x-user-defined", "x-user-defined"],
];

const UTF8 = 0;
const REPLACEMENT = 36;
const UTF16BE = 37;
const UTF16LE = 38;

// From a label to the index of its encoding.
const indexOfLabel = { __proto__: null };
ArrayPrototypeForEach(encodings, ({ 1: labels }, index) => {
  ArrayPrototypeForEach(StringPrototypeSplit(labels, " "), (label) => {
    indexOfLabel[label] = index;
  });
});

// https://encoding.spec.whatwg.org/#concept-encoding-get
function findEncoding(label) {
  const direct = indexOfLabel[label];
  if (direct !== undefined) return direct;
  const trimmed = RegExpPrototypeSymbolReplace(/^[\t\n\f\r ]+|[\t\n\f\r ]+$/g, label, "");
  // NB: Only ASCII letters are converted to lower case here; KELVIN SIGN is not a "k".
  if (RegExpPrototypeExec(/[^\x00-\x7f]/, trimmed) !== null) return undefined;
  return indexOfLabel[StringPrototypeToLowerCase(trimmed)];
}

const toTextDecoderOptions = webidl.dictionaryConverter("TextDecoderOptions", [
  { key: "fatal", converter: converters.boolean, defaultValue: false },
  { key: "ignoreBOM", converter: converters.boolean, defaultValue: false },
]);
const toTextDecodeOptions = webidl.dictionaryConverter("TextDecodeOptions", [
  { key: "stream", converter: converters.boolean, defaultValue: false },
]);
const anyBuffer = { __proto__: null, allowShared: true, allowResizable: true };

class TextDecoder {
  #encoding = UTF8;
  #fatal = false;
  #ignoreBOM = false;
  #streaming = false;  // the standard's "do not flush"
  #bomSeen = false;
  #state = null;       // of the native decoder; made for the first stream

  constructor(label = "utf-8", options = undefined) {
    const prefix = "Failed to construct 'TextDecoder'";
    label = converters.DOMString(label, prefix, "Argument 1");
    const encoding = findEncoding(label);
    if (options !== undefined) {
      options = toTextDecoderOptions(options, prefix, "Argument 2");
      this.#fatal = options.fatal;
      this.#ignoreBOM = options.ignoreBOM;
    }
    if (encoding === undefined || encoding === REPLACEMENT) {
      throw new RangeError(`${prefix}: '${label}' is not a label of an encoding`);
    }
    this.#encoding = encoding;
  }

  get encoding() {
    return encodings[this.#encoding][0];
  }

  get fatal() {
    return this.#fatal;
  }

  get ignoreBOM() {
    return this.#ignoreBOM;
  }

  // https://encoding.spec.whatwg.org/#dom-textdecoder-decode
  decode(input = undefined, options = undefined) {
    const prefix = "Failed to execute 'decode' on 'TextDecoder'";
    brandCheck(isObject(this) && #encoding in this, "TextDecoder");
    if (input !== undefined) {
      input = converters.BufferSource(input, prefix, "Argument 1", anyBuffer);
    }
    const stream = options !== undefined &&
      toTextDecodeOptions(options, prefix, "Argument 2").stream;
    if (this.#encoding === UTF8 && !stream && !this.#streaming) {
      if (input === undefined) return "";
      return checked(utf8Decode(input, this.#fatal, this.#ignoreBOM));
    }
    return this.#decodeChunk(input === undefined ? new Uint8Array(0) : input, stream);
  }

  #decodeChunk(input, stream) {
    if (!this.#streaming) this.#bomSeen = false;
    this.#streaming = stream;
    const state = this.#state ??= new Uint8Array(8);
    const encoding = this.#encoding;
    let text = checked(textDecode(encoding, input, state, this.#fatal, stream));
    // NB: No decoder outputs a part of a byte order mark, so it is the first character or absent.
    if (!this.#bomSeen && text !== "") {
      this.#bomSeen = true;
      const marked = encoding === UTF8 || encoding === UTF16LE || encoding === UTF16BE;
      if (marked && !this.#ignoreBOM && StringPrototypeCharCodeAt(text, 0) === 0xfeff) {
        text = StringPrototypeSlice(text, 1);
      }
    }
    return text;
  }
}
const decodeWhole = uncurryThis(TextDecoder.prototype.decode);
webidl.configureInterface(TextDecoder);

function checked(text) {
  if (text === undefined) throw new TypeError("The encoded data was not valid");
  return text;
}

// The native function writes its two counts into this array; made on first use.
let counts;

class TextEncoder {
  #brand = true;

  get encoding() {
    brandCheck(isObject(this) && #brand in this, "TextEncoder");
    return "utf-8";
  }

  encode(input = "") {
    brandCheck(isObject(this) && #brand in this, "TextEncoder");
    return new Uint8Array(utf8Encode(
      converters.DOMString(input, "Failed to execute 'encode' on 'TextEncoder'", "Argument 1")));
  }

  encodeInto(source, destination) {
    const prefix = "Failed to execute 'encodeInto' on 'TextEncoder'";
    brandCheck(isObject(this) && #brand in this, "TextEncoder");
    requiredArguments(arguments.length, 2, prefix);
    source = converters.DOMString(source, prefix, "Argument 1");
    destination = converters.Uint8Array(destination, prefix, "Argument 2", anyBuffer);
    counts ??= new Uint32Array(2);
    utf8EncodeInto(source, destination, counts);
    return { read: counts[0], written: counts[1] };
  }
}
webidl.configureInterface(TextEncoder);

function textStream(stream) {
  return realm.streamAccess.pipeThrough(stream, new realm.streams.TextDecoderStream());
}

// The text of bytes in the named encoding, without a byte order mark.
function decode(name, bytes) {
  return decodeWhole(new TextDecoder(name), bytes);
}

realm.encoding = {
  __proto__: null,
  decode,
  TextDecoder,
  TextEncoder,
  encodingOf: (label) => encodings[findEncoding(label)]?.[0],
  textStream,
};
realm.expose({ TextDecoder, TextEncoder });
