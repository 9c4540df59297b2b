// WebAssembly as part of a program: a module that V8 compiles beside the script is work under way,
// so that a program which awaits it does not end before.
//
// For the host, realm.language:
//     complete()    in every new context: the engine adds WebAssembly to it behind the snapshot

const {
  ObjectDefineProperty, PromisePrototypeThen, ReflectApply, ReflectGetOwnPropertyDescriptor,
} = realm.primordials;

function counted(name, original) {
  return {
    [name](bytes) {
      const promise = ReflectApply(original, this, arguments);
      native.pendingBegins();
      return PromisePrototypeThen(promise, (value) => {
        native.pendingEnds();
        return value;
      }, (error) => {
        native.pendingEnds();
        throw error;
      });
    },
  }[name];
}

realm.language.complete = () => {
  const { WebAssembly } = globalThis;
  if (WebAssembly === undefined) return;
  for (const name of ["compile", "instantiate"]) {
    const property = ReflectGetOwnPropertyDescriptor(WebAssembly, name);
    property.value = counted(name, property.value);
    ObjectDefineProperty(WebAssembly, name, property);
  }
};
