# weft_together(<target> <source>...): compiles up to six neighbours of a folder as one.
#
# What a source includes and instantiates takes more of the compiler's time than what it says, so
# neighbours that share it cost less than half together (docs/design: where the compile time goes).
# They share one name space too: names in `namespace {` differ within a folder. A source that cannot
# live with its neighbours stands in WEFT_ALONE, with the reason.
#
# Not for code that reads errno or a thread-local around a switch between fibers: the compiler may
# keep their address in a register where it sees both functions at once. So fiber/, sync/, async/
# and net/ are compiled one by one, and elsewhere sources with errno stand in the list below.
option(WEFT_TOGETHER "Compile neighbouring sources together" ON)

set(WEFT_ALONE
    # A neighbour has the same name for its own: Reader, append_field, open_engine, kMaskBit.
    weft/http/wire/content_encoder.cpp
    weft/http/wire/list_field.cpp
    weft/http/wire/sse.cpp
    weft/http/wire/websocket_sender.cpp
    # The same: kBlockBytes, written, kBindings, is_digit, lower, kIsolatesMax, kRequired, Look,
    # is_letter, to_error, Known, kPrime.
    weft/api/crypto/cipher.cpp
    weft/api/crypto/lattice_keys.cpp
    weft/api/crypto/ml_kem.cpp
    weft/api/node/node_natives.cpp
    weft/api/url/parser.cpp
    weft/api/url/parser_path.cpp
    weft/app/config.cpp
    weft/app/config_data.cpp
    weft/app/engine_host.cpp
    weft/data/postgres/internal/parameters.cpp
    weft/data/postgres/internal/types.cpp
    weft/js/module_url.cpp
    weft/js/require_natives.cpp
    # They read errno.
    weft/api/application/disk_code_store.cpp
    weft/app/command_line.cpp
    weft/app/line_editor.cpp
    weft/app/migrate.cpp
    weft/api/console/console.cpp
    weft/api/weft_http/file_store.cpp
    weft/data/failure.cpp
    weft/data/postgres/internal/cancel.cpp
    weft/data/postgres/internal/link.cpp
    # Its bodies are not those of the other scenarios.
    tests/sim/proxy.cpp
    # Tests with helpers of the same name as a neighbour's.
    weft/async/context_test.cpp
    weft/async/retry_test.cpp
    weft/async/scope_test.cpp
    weft/base/log_test.cpp
    weft/http/client/client_informational_test.cpp
    weft/http/client/client_pool_test.cpp
    weft/http/client/client_redirect_test.cpp
    weft/http/client/client_test.cpp
    weft/http/proxy/proxy_informational_test.cpp
    weft/http/proxy/proxy_stream_test.cpp
    weft/http/routing/router_test.cpp
    weft/http/server/loop_handler_test.cpp
    weft/http/server/placement_test.cpp
    weft/http/server/tls_test.cpp
    weft/http/websocket/websocket_test.cpp)

function(weft_together target)
    if(NOT WEFT_TOGETHER)
        return()
    endif()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    # A type in an anonymous namespace is used by one source all the same.
    target_compile_options(${target} PRIVATE
                           $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
    set(at 0)
    set(last "")
    foreach(source IN LISTS ARGN)
        cmake_path(ABSOLUTE_PATH source)
        cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${PROJECT_SOURCE_DIR}")
        cmake_path(GET source PARENT_PATH folder)
        if(source IN_LIST WEFT_ALONE OR NOT source MATCHES "\\.cpp$")
            continue()
        endif()
        if(NOT folder STREQUAL last)
            set(last "${folder}")
            set(at 0)
        endif()
        math(EXPR group "${at} / 6")
        math(EXPR at "${at} + 1")
        string(REPLACE "/" "_" name "${folder}_${group}")
        set_source_files_properties("${PROJECT_SOURCE_DIR}/${source}" TARGET_DIRECTORY ${target}
                                    PROPERTIES UNITY_GROUP "${name}")
    endforeach()
endfunction()
