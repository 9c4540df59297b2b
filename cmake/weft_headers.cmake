# Run by `cmake --install`: the headers that a user may include, and those in internal/ and in the
# rooms of fiber/ that they reach by their templates. Nothing else of those, nothing of testing/, no
# helper of our tests.
cmake_policy(VERSION 3.25)
set(source "${WEFT_SOURCE_DIR}")
file(GLOB_RECURSE wanted RELATIVE "${source}" "${source}/weft/*.h")
list(FILTER wanted EXCLUDE REGEX "/internal/|/testing/|_test\\.h$|/scenarios/|^weft/fiber/.+/")
# In the rooms of fiber/ those headers are public that weft.h names.
file(STRINGS "${source}/weft/weft.h" in_rooms REGEX "^#include \"weft/fiber/.+/")
list(TRANSFORM in_rooms REPLACE "^#include \"([^\"]+)\".*" "\\1")
list(APPEND wanted ${in_rooms})
# JavaScript is used through the program `weft`.
list(FILTER wanted EXCLUDE REGEX "^weft/(js|api|app)/")
if(NOT WEFT_NET)
    list(FILTER wanted EXCLUDE REGEX "^weft/(net|http|data)/|^weft/weft\\.h$")
endif()
set(installed "")
while(wanted)
    list(POP_FRONT wanted header)
    if(header IN_LIST installed)
        continue()
    endif()
    list(APPEND installed "${header}")
    file(STRINGS "${source}/${header}" includes REGEX "^#include \"weft/")
    foreach(line IN LISTS includes)
        string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" included "${line}")
        # Only the model checker's build comes to these.
        if(NOT included MATCHES "/testing/" AND EXISTS "${source}/${included}")
            list(APPEND wanted "${included}")
        endif()
    endforeach()
endwhile()
foreach(header IN LISTS installed)
    if(header STREQUAL "weft/base/planted.h" AND NOT WEFT_CHECKED)
        # Of the planted bugs nothing is left but that there are none.
        file(WRITE "${CMAKE_INSTALL_PREFIX}/${WEFT_INCLUDE_DIR}/${header}"
             "#pragma once\n\n#define WEFT_PLANTED(name) false\n")
        continue()
    endif()
    cmake_path(GET header PARENT_PATH folder)
    file(INSTALL "${source}/${header}" DESTINATION
         "${CMAKE_INSTALL_PREFIX}/${WEFT_INCLUDE_DIR}/${folder}" MESSAGE_LAZY)
endforeach()
