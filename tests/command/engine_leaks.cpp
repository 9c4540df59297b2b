// V8 10.2 loses what tells a debugger of a promise, 96 bytes, when the promise is still pending and
// not collected at the end of its isolate: an evaluation of `weft repl` that was interrupted.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
    return "leak:v8_inspector::InjectedScript::addPromiseCallback\n";
}
