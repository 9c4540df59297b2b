// Defines what the engine lacks. A function that the engine has is not replaced.

const { ObjectDefineProperty, ReflectGetOwnPropertyDescriptor, ReflectOwnKeys } = realm.primordials;

const engine = native.engineVersion();

// Defines each member on the holder, not enumerable like those of the language. `since` is the
// version of V8 that has the members itself: V8 adds its newer features only after the snapshot was
// read, so a test at this point would not find them.
function defineMissing(holder, members, since = Infinity) {
  if (engine >= since) return;
  const names = ReflectOwnKeys(members);
  for (let i = 0; i < names.length; i++) {
    const name = names[i];
    if (name in holder) continue;
    const descriptor = ReflectGetOwnPropertyDescriptor(members, name);
    descriptor.enumerable = false;
    ObjectDefineProperty(holder, name, descriptor);
  }
}

realm.language = { __proto__: null, defineMissing };
