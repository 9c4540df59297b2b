// Follows testharness.js in the script of a test: a line of JSON for each subtest, and one at the
// end, as tests/wpt/run reads them. The console may be replaced by a test.
globalThis.GLOBAL = {
  isWindow: () => false,
  isWorker: () => false,
  isShadowRealm: () => false,
};
{
  const { log } = console;
  const { stringify } = JSON;
  const write = (line) => log(`wpt:${stringify(line)}`);
  add_result_callback((test) => write(["test", test.name, test.status, test.message]));
  add_completion_callback((tests, status) => write(["end", status.status, status.message]));
  // An error that the harness has seen is in its report; it does not end the program.
  addEventListener("error", (event) => event.preventDefault());
  addEventListener("unhandledrejection", (event) => event.preventDefault());
}
