// Makes WebAssembly part of a program's life: a module that V8 compiles on another thread counts as
// pending work, so a program that awaits it does not end before.
//
// A streamed module is collected in memory first. It counts as memory of the script during that
// time, and is then compiled in the only other way, with its limits.
//
// It also corrects V8 10.2 where it deviates from the standard and JavaScript can correct it.
//
// For the host, realm.language:
//     complete()              called in every new context, because the engine adds WebAssembly
//                             after the snapshot
//     isWasmException(value)  for Error.isError()

const { isObject, requiredArguments } = realm.webidl;
const {
  FunctionPrototype, MathTrunc, Number, NumberIsFinite, ObjectDefineProperty, ObjectPrototype, ObjectSetPrototypeOf,
  PromisePrototypeThen, PromiseReject, PromiseResolve, RangeError, ReflectApply,
  ReflectGetOwnPropertyDescriptor, ReflectGetPrototypeOf, SymbolToStringTag, TypeError,
} = realm.primordials;

function counted(name, original) {
  return {
    [name](bytes) {
      const promise = ReflectApply(original, this, arguments);
      native.pendingUntilSettled(promise);
      return promise;
    },
  }[name];
}

// https://www.w3.org/TR/wasm-web-api/#streaming-modules
function collected(source) {
  return PromisePrototypeThen(PromiseResolve(source), (response) => {
    if (!realm.http.isResponse(response)) throw new TypeError("The source is not a Response");
    return realm.http.wasmOf(response);
  });
}

function streaming(compile, instantiate) {
  return {
    compileStreaming(source) {
      try {
        requiredArguments(arguments.length, 1, "WebAssembly.compileStreaming()");
        return PromisePrototypeThen(collected(source), (bytes) => compile(bytes));
      } catch (error) {
        return PromiseReject(error);
      }
    },
    instantiateStreaming(source, importObject = undefined) {
      try {
        requiredArguments(arguments.length, 1, "WebAssembly.instantiateStreaming()");
        if (importObject !== undefined && !isObject(importObject)) {
          throw new TypeError("WebAssembly.instantiateStreaming(): Argument 2 is not an object");
        }
        return PromisePrototypeThen(collected(source), (bytes) => instantiate(bytes, importObject));
      } catch (error) {
        return PromiseReject(error);
      }
    },
  };
}

function setLength(operation, length) {
  ObjectDefineProperty(operation, "length", { __proto__: null, value: length });
}

function hide(holder, key, value, writable) {
  ObjectDefineProperty(holder, key, {
    __proto__: null, value, writable, enumerable: false, configurable: true,
  });
}

let exceptionPrototype;

// V8 10.2 makes it a subclass of Error; the standard does not.
function fixException(Exception) {
  const { prototype } = Exception;
  exceptionPrototype = prototype;
  setLength(Exception, 2);
  hide(prototype, SymbolToStringTag, "WebAssembly.Exception", false);
  if (ReflectGetPrototypeOf(prototype) === ObjectPrototype) return;
  ObjectSetPrototypeOf(Exception, FunctionPrototype);
  ObjectSetPrototypeOf(prototype, ObjectPrototype);
  hide(prototype, "constructor", Exception, true);
  const { getArg } = prototype;
  const property = ReflectGetOwnPropertyDescriptor(prototype, "getArg");
  property.value = {
    getArg(tag, index) {
      if (arguments.length < 2) return ReflectApply(getArg, this, arguments);
      const number = MathTrunc(Number(index));
      if (!NumberIsFinite(number) || number < 0 || number > 0xffffffff) {
        throw new RangeError("The index is no argument's");
      }
      return ReflectApply(getArg, this, [tag, number]);
    },
  }.getArg;
  ObjectDefineProperty(prototype, "getArg", property);
}

realm.language.isWasmException = (value) => {
  if (exceptionPrototype === undefined) return false;
  for (let holder = ReflectGetPrototypeOf(value); holder !== null;
    holder = ReflectGetPrototypeOf(holder)) {
    if (holder === exceptionPrototype) return true;
  }
  return false;
};

// This is a setter of Web IDL, for which a missing argument is undefined.
function fixGlobal(prototype) {
  const property = ReflectGetOwnPropertyDescriptor(prototype, "value");
  const { set } = property;
  property.set = ReflectGetOwnPropertyDescriptor({
    set value(value) { ReflectApply(set, this, [value]); },
  }, "value").set;
  ObjectDefineProperty(prototype, "value", property);
}

realm.language.complete = () => {
  const { WebAssembly } = globalThis;
  if (WebAssembly === undefined) return;
  for (const name of ["compile", "instantiate"]) {
    const property = ReflectGetOwnPropertyDescriptor(WebAssembly, name);
    property.value = counted(name, property.value);
    ObjectDefineProperty(WebAssembly, name, property);
  }
  // V8 has these only if the host provides the streaming callback.
  const { compile, instantiate } = WebAssembly;
  const streamed = streaming(compile, instantiate);
  for (const name of ["compileStreaming", "instantiateStreaming"]) {
    const property = ReflectGetOwnPropertyDescriptor(WebAssembly, "compile");
    property.value = streamed[name];
    ObjectDefineProperty(WebAssembly, name, property);
  }
  if (WebAssembly.Exception !== undefined) fixException(WebAssembly.Exception);
  fixGlobal(WebAssembly.Global.prototype);
  setLength(WebAssembly.Table.prototype.set, 1);
};
