// The source that compiles the precompiled header of the tests (weft_test.cmake).
