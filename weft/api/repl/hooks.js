// For those who look in from outside, realm.repl is what `weft repl` works with, made when it is
// first looked at.
const { ObjectDefineProperty } = realm.primordials;

ObjectDefineProperty(realm, "repl", {
  __proto__: null,
  get: () => realm.node.load("repl/repl"),
});
