// DOMException: the errors of the web platform, told apart by name.
// https://webidl.spec.whatwg.org/#idl-DOMException

const {
  ErrorCaptureStackTrace, ErrorPrototype, ObjectSetPrototypeOf, RangeError,
} = realm.primordials;
const {
  converters, configureInterface, defineConstants, dictionaryConverter,
} = realm.webidl;

// The names that have a legacy code.
const legacyCodes = {
  __proto__: null,
  IndexSizeError: 1,
  HierarchyRequestError: 3,
  WrongDocumentError: 4,
  InvalidCharacterError: 5,
  NoModificationAllowedError: 7,
  NotFoundError: 8,
  NotSupportedError: 9,
  InUseAttributeError: 10,
  InvalidStateError: 11,
  SyntaxError: 12,
  InvalidModificationError: 13,
  NamespaceError: 14,
  InvalidAccessError: 15,
  TypeMismatchError: 17,
  SecurityError: 18,
  NetworkError: 19,
  AbortError: 20,
  URLMismatchError: 21,
  QuotaExceededError: 22,
  TimeoutError: 23,
  InvalidNodeTypeError: 24,
  DataCloneError: 25,
};

const constants = {
  INDEX_SIZE_ERR: 1,
  DOMSTRING_SIZE_ERR: 2,
  HIERARCHY_REQUEST_ERR: 3,
  WRONG_DOCUMENT_ERR: 4,
  INVALID_CHARACTER_ERR: 5,
  NO_DATA_ALLOWED_ERR: 6,
  NO_MODIFICATION_ALLOWED_ERR: 7,
  NOT_FOUND_ERR: 8,
  NOT_SUPPORTED_ERR: 9,
  INUSE_ATTRIBUTE_ERR: 10,
  INVALID_STATE_ERR: 11,
  SYNTAX_ERR: 12,
  INVALID_MODIFICATION_ERR: 13,
  NAMESPACE_ERR: 14,
  INVALID_ACCESS_ERR: 15,
  VALIDATION_ERR: 16,
  TYPE_MISMATCH_ERR: 17,
  SECURITY_ERR: 18,
  NETWORK_ERR: 19,
  ABORT_ERR: 20,
  URL_MISMATCH_ERR: 21,
  QUOTA_EXCEEDED_ERR: 22,
  TIMEOUT_ERR: 23,
  INVALID_NODE_TYPE_ERR: 24,
  DATA_CLONE_ERR: 25,
};

let isDOMException;

class DOMException {
  #message;
  #name;
  #code;

  constructor(message = "", name = "Error") {
    const prefix = "Failed to construct 'DOMException'";
    this.#message = converters.DOMString(message, prefix, "Argument 1");
    this.#name = converters.DOMString(name, prefix, "Argument 2");
    this.#code = legacyCodes[this.#name] ?? 0;
    // The first line of the stack contains the name and the message, so the stack is captured last.
    ErrorCaptureStackTrace(this, DOMException);
  }

  get name() { return this.#name; }
  get message() { return this.#message; }
  get code() { return this.#code; }

  static {
    isDOMException = (value) => #code in value;
  }
}
ObjectSetPrototypeOf(DOMException.prototype, ErrorPrototype);
configureInterface(DOMException);
defineConstants(DOMException, constants);

// https://webidl.spec.whatwg.org/#quotaexceedederror
const toQuotaOptions = dictionaryConverter("QuotaExceededErrorOptions", [
  { key: "quota", converter: converters.double },
  { key: "requested", converter: converters.double },
]);

class QuotaExceededError extends DOMException {
  #quota;
  #requested;

  constructor(message = "", options = undefined) {
    const prefix = "Failed to construct 'QuotaExceededError'";
    message = converters.DOMString(message, prefix, "Argument 1");
    const { quota = null, requested = null } = toQuotaOptions(options, prefix, "Argument 2");
    super(message, "QuotaExceededError");
    if (quota !== null && quota < 0) throw new RangeError(`${prefix}: the quota is negative`);
    if (requested !== null && requested < 0) {
      throw new RangeError(`${prefix}: what was requested is negative`);
    }
    if (quota !== null && requested !== null && requested < quota) {
      throw new RangeError(`${prefix}: what was requested is less than the quota`);
    }
    this.#quota = quota;
    this.#requested = requested;
  }

  get quota() { return this.#quota; }
  get requested() { return this.#requested; }

  static {
    realm.isQuotaExceededError = (value) => realm.isDOMException(value) && #quota in value;
  }
}
configureInterface(QuotaExceededError);

converters.DOMException = realm.webidl.interfaceConverter("DOMException", isDOMException);

realm.DOMException = DOMException;
realm.QuotaExceededError = QuotaExceededError;
realm.isDOMException = (value) => realm.webidl.isObject(value) && isDOMException(value);
realm.expose({ DOMException, QuotaExceededError });
