// The module `weft:test` and the host's hooks for it. The other scripts in this folder are compiled
// on first use.
//
//   realm.test.run(path, settings)     for the host: loads a file of tests and runs them
//   realm.test.ended(scope, why)       a turn of this scope was ended by force
//   realm.test.uncaught(text)          an error that nobody caught
const { ObjectDefineProperty } = realm.primordials;
const { load } = realm.node;

ObjectDefineProperty(realm.modules, "weft:test", {
  __proto__: null,
  enumerable: true,
  configurable: true,
  get: () => load("test/module"),
});

realm.test = {
  __proto__: null,
  run: (path, settings) => load("test/run").run(path, settings),
  ended: (scope, why) => load("test/run").ended(scope, why),
  uncaught: (text) => load("test/run").uncaught(text),
};
