// Defines what the engine lacks. Where the engine has it, its own stays.

const { ObjectDefineProperty, ReflectGetOwnPropertyDescriptor, ReflectOwnKeys } = realm.primordials;

const engine = native.engineVersion();

// Each member becomes one of the holder, not enumerable as those of the language. `since` is the
// version of V8 that has it: V8 adds what is new in it only after the snapshot has been read, so
// that looking for it here does not find it.
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
