// atob() and btoa(). https://html.spec.whatwg.org/#atob

const { base64Decode, base64Encode } = native;
const { DOMException, webidl } = realm;
const { requiredArguments } = webidl;
const { DOMString } = webidl.converters;

const functions = {
  atob(data) {
    const prefix = "Failed to execute 'atob'";
    requiredArguments(arguments.length, 1, prefix);
    const text = base64Decode(DOMString(data, prefix, "Argument 1"));
    if (text === undefined) {
      throw new DOMException("The string is not correctly encoded base64",
        "InvalidCharacterError");
    }
    return text;
  },

  btoa(data) {
    const prefix = "Failed to execute 'btoa'";
    requiredArguments(arguments.length, 1, prefix);
    const text = base64Encode(DOMString(data, prefix, "Argument 1"));
    if (text === undefined) {
      throw new DOMException("The string has characters outside of the Latin1 range",
        "InvalidCharacterError");
    }
    return text;
  },
};

realm.exposeFunctions?.(functions);
realm.expose(functions);
