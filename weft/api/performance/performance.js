// performance: the clock, marks and measures.
// https://www.w3.org/TR/hr-time-3/ https://www.w3.org/TR/user-timing-3/
// https://www.w3.org/TR/performance-timeline/
const { monotonicNow, timeOrigin } = native;
const { DOMException, clone, events, webidl } = realm;
const { converters } = webidl;
const {
  ArrayPrototypeIndexOf, ArrayPrototypePush, ArrayPrototypeSlice, ArrayPrototypeSort,
  ArrayPrototypeSplice, FunctionPrototypeCall, ObjectFreeze, TypeError,
} = realm.primordials;

// Limit on the marks and measures stored for getEntries(). Further ones reach only observers.
const kEntriesMax = 100_000;

// ---- entries

class PerformanceEntry {
  #name;
  #entryType;
  #startTime;
  #duration;

  constructor(token, name, entryType, startTime, duration) {
    if (token !== webidl.internal) throw webidl.illegalConstructor();
    this.#name = name;
    this.#entryType = entryType;
    this.#startTime = startTime;
    this.#duration = duration;
  }
  get name() {
    return this.#name;
  }
  get entryType() {
    return this.#entryType;
  }
  get startTime() {
    return this.#startTime;
  }
  get duration() {
    return this.#duration;
  }
  toJSON() {
    return {
      name: this.#name, entryType: this.#entryType, startTime: this.#startTime,
      duration: this.#duration,
    };
  }
}
webidl.configureInterface(PerformanceEntry);
withoutConstructor(PerformanceEntry);

// An interface without a constructor has the length 0.
function withoutConstructor(constructor) {
  realm.primordials.ObjectDefineProperty(constructor, "length", {
    __proto__: null, value: 0, writable: false, enumerable: false, configurable: true,
  });
}

const toMarkOptions = webidl.dictionaryConverter("PerformanceMarkOptions", [
  { key: "detail", converter: converters.any },
  { key: "startTime", converter: converters.double },
]);

// The detail is cloned; it is null if there is none.
function detailOf(options) {
  const { detail } = options;
  return detail === undefined || detail === null ? null : clone.cloneWith(detail, []).value;
}

class PerformanceMark extends PerformanceEntry {
  #detail;

  constructor(markName, markOptions = {}) {
    const prefix = "Failed to construct 'PerformanceMark'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    const name = converters.DOMString(markName, prefix, "Argument 1");
    const options = toMarkOptions(markOptions, prefix, "Argument 2");
    if (options.startTime < 0) throw new TypeError(`${prefix}: the start time is negative`);
    super(webidl.internal, name, "mark", options.startTime ?? monotonicNow(), 0);
    this.#detail = detailOf(options);
  }
  get detail() {
    return this.#detail;
  }
  toJSON() {
    return withDetail(this, this.#detail);
  }
}
webidl.configureInterface(PerformanceMark);

class PerformanceMeasure extends PerformanceEntry {
  #detail;

  constructor(token, name, startTime, duration, detail) {
    super(token, name, "measure", startTime, duration);
    this.#detail = detail;
  }
  get detail() {
    return this.#detail;
  }
  toJSON() {
    return withDetail(this, this.#detail);
  }
}
webidl.configureInterface(PerformanceMeasure);
withoutConstructor(PerformanceMeasure);

function withDetail({ name, entryType, startTime, duration }, detail) {
  return { name, entryType, startTime, duration, detail };
}

// ---- the timeline

let entries = [];
let dropped = 0;

function byStart(a, b) {
  return a.startTime - b.startTime;
}

// Returns a new list, ordered by start time.
function select(list, name, type) {
  const found = [];
  for (let i = 0; i < list.length; i++) {
    if (name !== undefined && list[i].name !== name) continue;
    if (type !== undefined && list[i].entryType !== type) continue;
    ArrayPrototypePush(found, list[i]);
  }
  return ArrayPrototypeSort(found, byStart);
}

function clearEntries(type, name) {
  const kept = [];
  for (let i = 0; i < entries.length; i++) {
    const entry = entries[i];
    if (entry.entryType !== type || (name !== undefined && entry.name !== name)) {
      ArrayPrototypePush(kept, entry);
    }
  }
  entries = kept;
}

// https://www.w3.org/TR/performance-timeline/#dfn-queue-a-performanceentry
function queueEntry(entry) {
  for (let i = 0; i < observers.length; i++) notice(observers[i], entry);
  if (entries.length < kEntriesMax) ArrayPrototypePush(entries, entry);
  else dropped++;
}

// ---- performance

const toMeasureOptions = webidl.dictionaryConverter("PerformanceMeasureOptions", [
  { key: "detail", converter: converters.any },
  { key: "start", converter: toMarkOrTime },
  { key: "duration", converter: converters.double },
  { key: "end", converter: toMarkOrTime },
]);

function toMarkOrTime(value, prefix, context) {
  return typeof value === "number" ? converters.double(value, prefix, context)
    : converters.DOMString(value, prefix, context);
}

// https://www.w3.org/TR/user-timing-3/#convert-a-mark-to-a-timestamp
function timeOf(mark, prefix) {
  if (typeof mark === "number") {
    if (mark < 0) throw new TypeError(`${prefix}: the time ${mark} is negative`);
    return mark;
  }
  for (let i = entries.length - 1; i >= 0; i--) {
    if (entries[i].entryType === "mark" && entries[i].name === mark) return entries[i].startTime;
  }
  throw new DOMException(`${prefix}: there is no mark '${mark}'`, "SyntaxError");
}

// https://www.w3.org/TR/user-timing-3/#measure-method
function measureSpan(options, endMark, prefix) {
  const { start, duration, end } = options;
  let endTime;
  if (endMark !== undefined) endTime = timeOf(endMark, prefix);
  else if (end !== undefined) endTime = timeOf(end, prefix);
  else if (start !== undefined && duration !== undefined) {
    endTime = timeOf(start, prefix) + duration;
  } else {
    endTime = monotonicNow();
  }
  let startTime = 0;
  if (start !== undefined) startTime = timeOf(start, prefix);
  else if (duration !== undefined && end !== undefined) startTime = timeOf(end, prefix) - duration;
  return [startTime, endTime - startTime];
}

function checkMeasureOptions(options, endMark, prefix) {
  const { start, duration, end } = options;
  if (endMark !== undefined) {
    throw new TypeError(`${prefix}: options and an end mark exclude each other`);
  }
  if (start === undefined && end === undefined) {
    throw new TypeError(`${prefix}: neither a start nor an end is given`);
  }
  if (start !== undefined && duration !== undefined && end !== undefined) {
    throw new TypeError(`${prefix}: start, duration and end cannot all be given`);
  }
}

class Performance extends events.EventTarget {
  #brand;

  constructor() {
    if (arguments[0] !== webidl.internal) throw webidl.illegalConstructor();
    super();
  }

  get timeOrigin() {
    this.#brand;
    return timeOrigin();
  }
  now() {
    this.#brand;
    return monotonicNow();
  }
  toJSON() {
    this.#brand;
    return { timeOrigin: this.timeOrigin };
  }

  mark(markName, markOptions = {}) {
    this.#brand;
    webidl.requiredArguments(arguments.length, 1, "Failed to execute 'mark' on 'Performance'");
    const entry = new PerformanceMark(markName, markOptions);
    queueEntry(entry);
    return entry;
  }

  measure(measureName, startOrMeasureOptions = {}, endMark = undefined) {
    this.#brand;
    const prefix = "Failed to execute 'measure' on 'Performance'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    const name = converters.DOMString(measureName, prefix, "Argument 1");
    const given = startOrMeasureOptions;
    let options;
    if (given === null || webidl.isObject(given)) {
      options = toMeasureOptions(given, prefix, "Argument 2");
    } else {
      options = { start: converters.DOMString(given, prefix, "Argument 2") };
    }
    const end = endMark === undefined ? undefined
      : converters.DOMString(endMark, prefix, "Argument 3");
    const isDictionary = given === null || webidl.isObject(given);
    if (isDictionary && (options.start !== undefined || options.end !== undefined ||
        options.duration !== undefined || options.detail !== undefined)) {
      checkMeasureOptions(options, end, prefix);
    }
    const span = measureSpan(options, end, prefix);
    const entry = new PerformanceMeasure(
      webidl.internal, name, span[0], span[1], detailOf(options));
    queueEntry(entry);
    return entry;
  }

  clearMarks(markName = undefined) {
    this.#brand;
    clearEntries("mark", markName === undefined ? undefined : converters.DOMString(markName));
  }
  clearMeasures(measureName = undefined) {
    this.#brand;
    clearEntries("measure",
      measureName === undefined ? undefined : converters.DOMString(measureName));
  }
  clearResourceTimings() {
    this.#brand;
  }
  setResourceTimingBufferSize(maxSize) {
    this.#brand;
    const prefix = "Failed to execute 'setResourceTimingBufferSize' on 'Performance'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    converters["unsigned long"](maxSize, prefix, "Argument 1");
  }

  getEntries() {
    this.#brand;
    return select(entries, undefined, undefined);
  }
  getEntriesByType(type) {
    this.#brand;
    const prefix = "Failed to execute 'getEntriesByType' on 'Performance'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    return select(entries, undefined, converters.DOMString(type, prefix, "Argument 1"));
  }
  getEntriesByName(name, type = undefined) {
    this.#brand;
    const prefix = "Failed to execute 'getEntriesByName' on 'Performance'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    name = converters.DOMString(name, prefix, "Argument 1");
    return select(entries, name,
      type === undefined ? undefined : converters.DOMString(type, prefix, "Argument 2"));
  }
}
webidl.configureInterface(Performance);
events.defineEventHandler(Performance, "resourcetimingbufferfull");

// ---- observers

const supportedEntryTypes = ObjectFreeze(["mark", "measure"]);
const observers = [];
let taskQueued = false;

const toObserverInit = webidl.dictionaryConverter("PerformanceObserverInit", [
  { key: "buffered", converter: converters.boolean },
  { key: "entryTypes", converter: converters["sequence<DOMString>"] },
  { key: "type", converter: converters.DOMString },
]);

class PerformanceObserverEntryList {
  #entries;

  constructor(token, list) {
    if (token !== webidl.internal) throw webidl.illegalConstructor();
    this.#entries = list;
  }
  getEntries() {
    return select(this.#entries, undefined, undefined);
  }
  getEntriesByType(type) {
    const list = this.#entries;
    webidl.requiredArguments(arguments.length, 1,
      "Failed to execute 'getEntriesByType' on 'PerformanceObserverEntryList'");
    return select(list, undefined, converters.DOMString(type));
  }
  getEntriesByName(name, type = undefined) {
    const list = this.#entries;
    webidl.requiredArguments(arguments.length, 1,
      "Failed to execute 'getEntriesByName' on 'PerformanceObserverEntryList'");
    return select(list, converters.DOMString(name),
      type === undefined ? undefined : converters.DOMString(type));
  }
}
webidl.configureInterface(PerformanceObserverEntryList);
withoutConstructor(PerformanceObserverEntryList);

let notice;
let tell;

// https://www.w3.org/TR/performance-timeline/#queue-the-performanceobserver-task
function queueTask() {
  if (taskQueued) return;
  taskQueued = true;
  realm.timers.setTimeoutInternal(() => {
    taskQueued = false;
    const present = ArrayPrototypeSlice(observers);
    for (let i = 0; i < present.length; i++) tell(present[i]);
  }, 0, true, 0);
}

class PerformanceObserver {
  #callback;
  #buffer = [];
  #types = [];
  #mode = undefined;  // "single" or "multiple": observe() by type or by entryTypes
  #tellDropped = false;

  constructor(callback) {
    const prefix = "Failed to construct 'PerformanceObserver'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    this.#callback = converters.Function(callback, prefix, "Argument 1");
  }

  observe(options = {}) {
    const types = this.#types;
    const prefix = "Failed to execute 'observe' on 'PerformanceObserver'";
    const { buffered, entryTypes, type } = toObserverInit(options, prefix, "Argument 1");
    if (entryTypes === undefined && type === undefined) {
      throw new TypeError(`${prefix}: neither 'entryTypes' nor 'type' is given`);
    }
    if (entryTypes !== undefined && type !== undefined) {
      throw new TypeError(`${prefix}: 'entryTypes' and 'type' exclude each other`);
    }
    const mode = entryTypes === undefined ? "single" : "multiple";
    if ((this.#mode ??= mode) !== mode) {
      throw new DOMException(
        `${prefix}: the observer was used with the other kind of options`,
        "InvalidModificationError");
    }
    if (mode === "single") {
      if (ArrayPrototypeIndexOf(supportedEntryTypes, type) < 0) return;
      if (ArrayPrototypeIndexOf(types, type) < 0) ArrayPrototypePush(types, type);
    } else {
      const known = [];
      for (let i = 0; i < entryTypes.length; i++) {
        if (ArrayPrototypeIndexOf(supportedEntryTypes, entryTypes[i]) >= 0) {
          ArrayPrototypePush(known, entryTypes[i]);
        }
      }
      if (known.length === 0) return;
      this.#types = known;
    }
    if (ArrayPrototypeIndexOf(observers, this) < 0) {
      ArrayPrototypePush(observers, this);
      this.#tellDropped = true;
    }
    if (buffered && mode === "single") this.#takeBuffered(type);
  }

  #takeBuffered(type) {
    for (let i = 0; i < entries.length; i++) {
      if (entries[i].entryType === type) {
        ArrayPrototypePush(this.#buffer, entries[i]);
      }
    }
    queueTask();
  }

  disconnect() {
    this.#types = [];
    this.#buffer = [];
    this.#mode = undefined;
    const at = ArrayPrototypeIndexOf(observers, this);
    if (at >= 0) ArrayPrototypeSplice(observers, at, 1);
  }

  takeRecords() {
    const records = this.#buffer;
    this.#buffer = [];
    return records;
  }

  static get supportedEntryTypes() {
    return supportedEntryTypes;
  }

  static {
    notice = (observer, entry) => {
      if (ArrayPrototypeIndexOf(observer.#types, entry.entryType) < 0) return;
      ArrayPrototypePush(observer.#buffer, entry);
      queueTask();
    };
    tell = (observer) => {
      const records = observer.#buffer;
      if (records.length === 0) return;
      observer.#buffer = [];
      const list = new PerformanceObserverEntryList(webidl.internal, records);
      const options = {};
      if (observer.#tellDropped) {
        observer.#tellDropped = false;
        options.droppedEntriesCount = dropped;
      }
      try {
        FunctionPrototypeCall(observer.#callback, observer, list, observer, options);
      } catch (error) {
        events.reportException(error);
      }
    };
  }
}
webidl.configureInterface(PerformanceObserver);

const performance = new Performance(webidl.internal);

realm.performanceNow = monotonicNow;
realm.expose({
  Performance, PerformanceEntry, PerformanceMark, PerformanceMeasure, PerformanceObserver,
  PerformanceObserverEntryList,
});
realm.attribute("performance", performance);
