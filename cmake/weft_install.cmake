# cmake --install: the library, its headers, a CMake package and pkg-config files.
include(CMakePackageConfigHelpers)

install(TARGETS weft weft_sim EXPORT weft)
# internal/ comes along because templates in public headers reach into it; testing/ does not.
install(DIRECTORY weft DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.h" PATTERN "testing" EXCLUDE)

# Beside the library, by the name under which gdb looks for it.
install(FILES tools/gdb/weft-gdb.py DESTINATION "${CMAKE_INSTALL_LIBDIR}"
        RENAME "libweft.so.${PROJECT_VERSION}-gdb.py")

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/weft")
install(EXPORT weft NAMESPACE weft:: FILE weft-targets.cmake DESTINATION "${package_dir}")
configure_package_config_file(cmake/weft-config.cmake.in weft-config.cmake
                              INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file(weft-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/weft-config.cmake"
              "${PROJECT_BINARY_DIR}/weft-config-version.cmake" DESTINATION "${package_dir}")

file(RELATIVE_PATH pc_to_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" pc_to_prefix "${pc_to_prefix}")
foreach(name weft weft-c weft-sim)
    configure_file(cmake/${name}.pc.in ${name}.pc @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/${name}.pc"
            DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endforeach()
