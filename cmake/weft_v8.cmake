# V8, as Debian ships it inside libnode: installed (libnode-dev), or unpacked by `scripts/setup js`
# into build/foreign/node where another Node.js stands in the way. Sets WEFT_V8_FOUND, and then the
# target weft_v8; and WEFT_V8_UNPACKED, the folder of a libnode that is not installed.
set(WEFT_V8_FOUND OFF)
if(CMAKE_CROSSCOMPILING)
    return()
endif()
foreach(prefix /usr "${PROJECT_SOURCE_DIR}/build/foreign/node/usr")
    # Both from one place: the headers alone may be those of another Node.js.
    set(include "${prefix}/include/node")
    set(library "${prefix}/lib/${CMAKE_LIBRARY_ARCHITECTURE}/libnode.so")
    if(EXISTS "${include}/v8.h" AND EXISTS "${library}")
        set(WEFT_V8_FOUND ON)
        if(NOT prefix STREQUAL "/usr")
            cmake_path(GET library PARENT_PATH WEFT_V8_UNPACKED)
        endif()
        add_library(weft_v8 INTERFACE)
        # v8-inspector.h is only among the headers for those who build V8 itself.
        target_include_directories(weft_v8 SYSTEM INTERFACE "${include}"
                                   "${prefix}/include/nodejs/deps/v8/include")
        target_link_libraries(weft_v8 INTERFACE "${library}")
        break()
    endif()
endforeach()
