# Tests, examples and benchmarks: how they are built and how ctest runs them.

# Tests compile in half of the time without optimization, with sanitizers in a third. What they test
# is the library, which is optimized; in the NDEBUG build they are as well, as far as it costs
# little.
add_library(weft_test_options INTERFACE)
target_compile_options(weft_test_options INTERFACE $<IF:$<CONFIG:Release>,-O1,-O0>)
if(WEFT_SANITIZE STREQUAL "address")
    # A third of the compile time. The library is checked for these, and a null pointer that is used
    # ends the process in any case.
    target_compile_options(weft_test_options INTERFACE -fno-sanitize=null,alignment)
endif()

# The helpers of weft/testing/. All test programs also share its precompiled header.
add_library(weft_testing STATIC "${PROJECT_SOURCE_DIR}/cmake/test_pch.cpp")
target_link_libraries(weft_testing PUBLIC weft GTest::gmock GTest::gtest
                      PRIVATE weft_options weft_test_options)
target_precompile_headers(weft_testing PRIVATE "${PROJECT_SOURCE_DIR}/cmake/test_pch.h")

# What the sanitizers are told; fibers need the fake stack to see use after return. And no test
# takes or leaves compiled code where the user has it.
set(weft_sanitizer_environment
    "WEFT_CACHE_DIR="
    "ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1"
    "UBSAN_OPTIONS=print_stacktrace=1"
    "TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1")

# What cannot run under qemu-user: a death test starts its own program, which the kernel does not
# run if it is for another machine; and vfork is a fork there, so that its errors are not seen.
if(CMAKE_CROSSCOMPILING)
    set(deaths "*DeathTest.*:ReactorTest.*_logged_once:ReactorTest.*_in_the_log")
    string(APPEND deaths ":ReactorTest.*_out_of_descriptors_*")
    set(vforks "ProcessTest.*_a_missing_program_is_an_error")
    set(weft_cross_without ${deaths} ${vforks})
endif()

# weft_test_program(<target> <source>...): a GoogleTest program.
function(weft_test_program target)
    add_executable(${target} ${ARGN})
    target_link_libraries(${target} PRIVATE weft_testing GTest::gmock_main
                          weft_options weft_test_options)
    target_precompile_headers(${target} REUSE_FROM weft_testing)
    # The largest ones. Not fiber/ and net/: their tests look at errno around a switch.
    if(target MATCHES "^weft_(base|sync|async|http)")
        weft_together(${target} ${ARGN})
    endif()
endfunction()

# weft_test(<name> <target or command> [REACTORS] [DESCRIPTORS] [TIMEOUT <seconds>]
#           [ARGS <argument>...] [LABELS <label>...])
# Registers a run. With REACTORS it is run on the reactor that users get, and also on each alone, as
# <name>.epoll and <name>.io_uring, labelled so; and by itself on the machine's cores, because such
# tests measure time. DESCRIPTORS: its runs on one reactor are worth their time in every build kind.
function(weft_test name command)
    cmake_parse_arguments(PARSE_ARGV 2 test "REACTORS;DESCRIPTORS" "TIMEOUT" "ARGS;LABELS")
    if(NOT test_TIMEOUT)
        set(test_TIMEOUT ${WEFT_TEST_TIMEOUT})
    endif()
    set(runs ${name})
    if(test_REACTORS AND WEFT_URING)
        list(APPEND runs ${name}.epoll ${name}.io_uring)
    endif()
    get_property(timing GLOBAL PROPERTY weft_timing_${command})
    if("${test_ARGS}" MATCHES "gtest_filter")
        set(timing "")
    endif()
    set(without "${weft_cross_without}" ${timing})
    foreach(run IN LISTS runs)
        set(environment ${weft_sanitizer_environment})
        set(labels ${test_LABELS})
        set(serial ${test_REACTORS})
        if(run MATCHES "\\.(epoll|io_uring)$")
            set(serial ON)
            list(APPEND environment "WEFT_REACTOR=${CMAKE_MATCH_1}")
            list(APPEND labels ${CMAKE_MATCH_1})
            if(test_DESCRIPTORS)
                list(APPEND labels descriptors.${CMAKE_MATCH_1})
            endif()
        endif()
        set(filter "")
        if(without)
            string(REPLACE ";" ":" filter "${without}")
            set(filter "GTEST_FILTER=-${filter}")
        endif()
        add_test(NAME ${run} COMMAND ${command} ${test_ARGS})
        set_tests_properties(${run} PROPERTIES TIMEOUT ${test_TIMEOUT}
                             ENVIRONMENT "${environment};${filter}" LABELS "${labels}")
        set_property(TEST ${run} PROPERTY RUN_SERIAL ${serial})
        foreach(case IN LISTS timing)
            add_test(NAME ${run}.${case} COMMAND ${command} --gtest_filter=${case})
            set_tests_properties(${run}.${case} PROPERTIES TIMEOUT ${test_TIMEOUT} RUN_SERIAL ON
                                 ENVIRONMENT "${environment}" LABELS "${labels};timing")
        endforeach()
    endforeach()
endfunction()

# weft_unavailable(<name> <reason>): stands for a test that cannot be built here, and says so.
function(weft_unavailable name reason)
    add_test(NAME ${name} COMMAND "${CMAKE_COMMAND}" -E echo "UNAVAILABLE: ${reason}")
    set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "^UNAVAILABLE: ")
endfunction()

# weft_model_test(<source>): header-only code under the model checker's atomics. It is not
# linked with the library, whose atomics are the real ones; only the assertions come along.
add_library(weft_model STATIC "${PROJECT_SOURCE_DIR}/weft/base/assert.cpp")
target_compile_definitions(weft_model PUBLIC WEFT_MODEL)
target_include_directories(weft_model PUBLIC "${PROJECT_SOURCE_DIR}")
target_link_libraries(weft_model PUBLIC fmt::fmt GTest::gmock GTest::gtest PRIVATE weft_options)
target_precompile_headers(weft_model PRIVATE "${PROJECT_SOURCE_DIR}/cmake/test_pch.h")
function(weft_model_test source)
    cmake_path(GET source STEM stem)
    string(REPLACE "_model_test" "" stem ${stem})
    set(target model_${stem}_test)
    add_executable(${target} ${source})
    target_link_libraries(${target} PRIVATE weft_model GTest::gmock_main weft_options)
    target_precompile_headers(${target} REUSE_FROM weft_model)
    weft_test(model.${stem} ${target})
endfunction()

# weft_fuzz(<source>): in the fuzz build a libFuzzer target, whose test replays the corpus and tries
# a bounded number of new inputs; in other builds a program that replays the corpus alone. The
# corpus lies in tests/fuzz/<name>/, its words, if any, in tests/fuzz/<name>.dict.
function(weft_fuzz source)
    cmake_path(GET source STEM stem)
    string(REPLACE "_fuzz" "" stem ${stem})
    set(corpus "${PROJECT_SOURCE_DIR}/tests/fuzz/${stem}")
    if(NOT IS_DIRECTORY "${corpus}")
        message(FATAL_ERROR "${source} has no corpus: ${corpus}")
    endif()
    if(NOT WEFT_SANITIZE STREQUAL "fuzz")
        add_executable(replay_${stem} ${source} "${PROJECT_SOURCE_DIR}/tests/fuzz/replay.cpp")
        target_link_libraries(replay_${stem} PRIVATE weft weft_options)
        weft_test(corpus.${stem} replay_${stem} ARGS "${corpus}")
        return()
    endif()
    add_executable(fuzz_${stem} ${source})
    target_link_libraries(fuzz_${stem} PRIVATE weft weft_options)
    target_link_options(fuzz_${stem} PRIVATE -fsanitize=fuzzer)
    if(NOT TARGET fuzzers)
        add_custom_target(fuzzers)
    endif()
    add_dependencies(fuzzers fuzz_${stem})
    set(words "")
    if(EXISTS "${corpus}.dict")
        set(words "-dict=${corpus}.dict")
    endif()
    # Always the same inputs: what others would find is no fault of the change that is tested.
    weft_test(fuzz.${stem} fuzz_${stem} ARGS -seed=1 -runs=100000 ${words}
              "${PROJECT_BINARY_DIR}/corpus/${stem}" "${corpus}" LABELS fuzz)
    file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/corpus/${stem}")
endfunction()
