// psqlodbc 13.02 loses the result of a statement with parameters that does not compile, also in a
// program that does nothing else and frees all of its handles.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:psqlodbcw.so\n"; }
