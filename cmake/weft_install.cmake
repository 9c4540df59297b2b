# cmake --install: the libraries, their headers, a CMake package and pkg-config files.
include(CMakePackageConfigHelpers)

# libweft.a beside libweft.so, of the same objects; weft::weft_static in either case.
if(BUILD_SHARED_LIBS AND NOT WEFT_SANITIZE)
    add_library(weft_static STATIC $<TARGET_OBJECTS:weft>)
    set_target_properties(weft_static PROPERTIES OUTPUT_NAME weft LINKER_LANGUAGE CXX)
    target_compile_features(weft_static PUBLIC cxx_std_23)
    target_include_directories(weft_static INTERFACE
                               "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
    target_compile_options(weft_static INTERFACE -fstack-clash-protection)
    target_link_libraries(weft_static INTERFACE fmt::fmt Threads::Threads ${weft_atomics}
                          ${weft_foreign_libraries})
    install(TARGETS weft_static EXPORT weft)
endif()
install(TARGETS weft weft_sim EXPORT weft)
set(packages weft weft-c weft-sim)
if(TARGET weft_data)
    install(TARGETS weft_data EXPORT weft)
    list(APPEND packages weft-data)
endif()
if(WEFT_JS)
    # A libnode that is only unpacked here goes along; an installed one is found where it is.
    set_target_properties(weft_js_library PROPERTIES INSTALL_RPATH "$ORIGIN;$ORIGIN/weft")
    install(TARGETS weft_program weft_js_library)
    install(FILES weft/app/weft.schema.json DESTINATION "${CMAKE_INSTALL_DATADIR}/weft")
    install(DIRECTORY weft/api/types DESTINATION "${CMAKE_INSTALL_DATADIR}/weft"
            FILES_MATCHING PATTERN "*.d.ts")
    if(WEFT_V8_UNPACKED)
        file(GLOB libnode "${WEFT_V8_UNPACKED}/libnode.so.*")
        install(FILES ${libnode} DESTINATION "${CMAKE_INSTALL_LIBDIR}/weft")
    endif()
endif()
install(CODE "set(WEFT_SOURCE_DIR \"${PROJECT_SOURCE_DIR}\")
              set(WEFT_INCLUDE_DIR \"${CMAKE_INSTALL_INCLUDEDIR}\")
              set(WEFT_NET ${WEFT_NET})
              set(WEFT_CHECKED ${WEFT_CHECKED})")
install(SCRIPT "${PROJECT_SOURCE_DIR}/cmake/weft_headers.cmake")

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
list(TRANSFORM weft_foreign_libraries_static PREPEND "-l" OUTPUT_VARIABLE pc_libs_private)
list(JOIN pc_libs_private " " pc_libs_private)
foreach(name IN LISTS packages)
    configure_file(cmake/${name}.pc.in ${name}.pc @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/${name}.pc"
            DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endforeach()
