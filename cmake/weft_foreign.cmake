# The libraries of others, and ccache, where it is found.
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

if(CMAKE_CROSSCOMPILING)
    # No foreign-architecture packages are asked for: fmt is used header-only, through a folder
    # that shows the compiler nothing else of the host's /usr/include.
    file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/foreign")
    file(CREATE_LINK /usr/include/fmt "${PROJECT_BINARY_DIR}/foreign/fmt" SYMBOLIC)
    add_library(fmt::fmt INTERFACE IMPORTED)
    target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)
    target_include_directories(fmt::fmt INTERFACE "${PROJECT_BINARY_DIR}/foreign")
else()
    find_package(fmt REQUIRED)
endif()

if(WEFT_URING OR WEFT_UNWIND OR WEFT_SYMBOLS OR WEFT_NET)
    find_package(PkgConfig REQUIRED)
endif()
if(WEFT_URING)
    pkg_check_modules(uring REQUIRED IMPORTED_TARGET liburing)
endif()
if(WEFT_UNWIND)
    pkg_check_modules(unwind REQUIRED IMPORTED_TARGET libunwind)
endif()
if(WEFT_SYMBOLS)
    # Its headers only: the library is opened when it is first needed.
    pkg_check_modules(symbols REQUIRED libdw)
    include_directories(SYSTEM ${symbols_INCLUDE_DIRS})
endif()
if(WEFT_NET)
    pkg_check_modules(net REQUIRED IMPORTED_TARGET openssl libcares zlib
                      libbrotlidec libbrotlienc libzstd)
    pkg_check_modules(sqlite REQUIRED IMPORTED_TARGET sqlite3)
    pkg_check_modules(postgres REQUIRED IMPORTED_TARGET libpq)
    pkg_check_modules(odbc REQUIRED IMPORTED_TARGET odbc)
endif()

# What libweft is linked with; and, for programs that link it statically, the same by name: with
# others that are shared, and with others that are not.
set(weft_foreign_targets "")
set(weft_foreign_libraries "")
set(weft_foreign_libraries_static "")
foreach(module uring unwind net)
    if(TARGET PkgConfig::${module})
        list(APPEND weft_foreign_targets $<BUILD_INTERFACE:PkgConfig::${module}>)
        list(APPEND weft_foreign_libraries ${${module}_LIBRARIES})
        list(APPEND weft_foreign_libraries_static ${${module}_STATIC_LIBRARIES})
    endif()
endforeach()

if(WEFT_TESTS)
    if(CMAKE_CROSSCOMPILING)
        set(INSTALL_GTEST OFF CACHE INTERNAL "")
        add_subdirectory(/usr/src/googletest "${PROJECT_BINARY_DIR}/googletest"
                         EXCLUDE_FROM_ALL SYSTEM)
        if(NOT TARGET GTest::gmock_main)
            add_library(GTest::gmock_main ALIAS gmock_main)
        endif()
    else()
        find_package(GTest REQUIRED)
    endif()
    # A server of PostgreSQL, for the tests that start one.
    file(GLOB postgres_servers /usr/lib/postgresql/*/bin/initdb)
    find_program(WEFT_INITDB initdb)
    if(postgres_servers OR WEFT_INITDB)
        set(WEFT_HAS_POSTGRES ON)
    endif()
    # The same of MariaDB, and the drivers of ODBC.
    find_program(WEFT_MARIADB mariadb-install-db)
    foreach(driver sqlite3odbc psqlodbcw maodbc tdsodbc)
        find_file(WEFT_ODBC_${driver} NAMES lib${driver}.so ${driver}.so
                  PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/odbc /usr/lib64 /usr/lib/odbc
                  NO_DEFAULT_PATH)
    endforeach()
endif()

# ccache refuses precompiled headers unless told that their macros and times do not matter.
find_program(WEFT_CCACHE ccache)
if(WEFT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(sloppiness pch_defines,time_macros,include_file_mtime,include_file_ctime)
    set(launcher "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=${sloppiness} "${WEFT_CCACHE}")
    set(CMAKE_C_COMPILER_LAUNCHER "${launcher}")
    set(CMAKE_CXX_COMPILER_LAUNCHER "${launcher}")
endif()
