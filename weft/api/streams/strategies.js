// The queuing strategies. https://streams.spec.whatwg.org/#qs

const { FunctionPrototypeCall, NumberIsNaN, RangeError } = realm.primordials;
const { webidl } = realm;
const { ops } = realm.streams;
const { converters, requiredArguments } = webidl;

converters.QueuingStrategy = webidl.dictionaryConverter("QueuingStrategy", [
  { key: "highWaterMark", converter: converters["unrestricted double"] },
  { key: "size", converter: converters.Function },
]);
converters.QueuingStrategyInit = webidl.dictionaryConverter("QueuingStrategyInit", [
  { key: "highWaterMark", converter: converters["unrestricted double"], required: true },
]);

const sizes = {
  byteLength: { size(chunk) { return chunk.byteLength; } }.size,
  count: { size() { return 1; } }.size,
};

class ByteLengthQueuingStrategy {
  #highWaterMark;

  constructor(init) {
    const prefix = "Failed to construct 'ByteLengthQueuingStrategy'";
    requiredArguments(arguments.length, 1, prefix);
    this.#highWaterMark = converters.QueuingStrategyInit(init, prefix, "Argument 1").highWaterMark;
  }

  get highWaterMark() { return this.#highWaterMark; }

  get size() {
    this.#highWaterMark;
    return sizes.byteLength;
  }
}
webidl.configureInterface(ByteLengthQueuingStrategy);

class CountQueuingStrategy {
  #highWaterMark;

  constructor(init) {
    const prefix = "Failed to construct 'CountQueuingStrategy'";
    requiredArguments(arguments.length, 1, prefix);
    this.#highWaterMark = converters.QueuingStrategyInit(init, prefix, "Argument 1").highWaterMark;
  }

  get highWaterMark() { return this.#highWaterMark; }

  get size() {
    this.#highWaterMark;
    return sizes.count;
  }
}
webidl.configureInterface(CountQueuingStrategy);

// https://streams.spec.whatwg.org/#validate-and-normalize-high-water-mark
ops.ExtractHighWaterMark = function ExtractHighWaterMark(strategy, defaultHWM) {
  const { highWaterMark } = strategy;
  if (highWaterMark === undefined) return defaultHWM;
  if (NumberIsNaN(highWaterMark) || highWaterMark < 0) {
    throw new RangeError("The high water mark must be a non-negative number");
  }
  return highWaterMark;
};

// Undefined stands for the algorithm that returns 1.
ops.ExtractSizeAlgorithm = function ExtractSizeAlgorithm(strategy) {
  const { size } = strategy;
  if (size === sizes.count) return undefined;
  return size;
};

ops.chunkSizeOf = function chunkSizeOf(sizeAlgorithm, chunk) {
  return sizeAlgorithm === undefined
    ? 1 : converters["unrestricted double"](FunctionPrototypeCall(sizeAlgorithm, undefined, chunk));
};

realm.streams.ByteLengthQueuingStrategy = ByteLengthQueuingStrategy;
realm.streams.CountQueuingStrategy = CountQueuingStrategy;
realm.expose({ ByteLengthQueuingStrategy, CountQueuingStrategy });
