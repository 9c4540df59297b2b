// Defines attributes of the global object, as Web IDL does.
//
// realm.attribute(name, value)   a read-only attribute that scripts may replace by assignment, as
//                                [Replaceable] says
// realm.readonlyAttribute(name, value)
const { ObjectDefineProperty, ObjectGetOwnPropertyDescriptor } = realm.primordials;
const global = globalThis;

function accessors(name, value, replaceable) {
  const holder = replaceable ? {
    get [name]() {
      return value;
    },
    set [name](given) {
      ObjectDefineProperty(global, name, {
        __proto__: null, value: given, writable: true, enumerable: true, configurable: true,
      });
    },
  } : {
    get [name]() {
      return value;
    },
  };
  return ObjectGetOwnPropertyDescriptor(holder, name);
}

realm.attribute = (name, value) => {
  ObjectDefineProperty(global, name, accessors(name, value, true));
};
realm.readonlyAttribute = (name, value) => {
  ObjectDefineProperty(global, name, accessors(name, value, false));
};
