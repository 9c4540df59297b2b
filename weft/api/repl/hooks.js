// realm.repl, which `weft repl` uses, is created on first use.
const { ObjectDefineProperty } = realm.primordials;

ObjectDefineProperty(realm, "repl", {
  __proto__: null,
  get: () => realm.node.load("repl/repl"),
});
