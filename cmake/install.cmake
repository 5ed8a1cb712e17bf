# Install and export: find_package(fettle) gives fettle::fettle, pkg-config knows `fettle`.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS fettle_capi EXPORT fettle_targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/fettle DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(FETTLE_TOOLS)
  install(TARGETS fettle RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  if(TARGET fettle-enhance)
    install(TARGETS fettle-enhance RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endif()

set(fettle_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/fettle)
install(EXPORT fettle_targets FILE fettle-targets.cmake NAMESPACE fettle:: DESTINATION ${fettle_cmake_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/fettle-config.cmake.in ${CMAKE_BINARY_DIR}/fettle-config.cmake
                              INSTALL_DESTINATION ${fettle_cmake_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/fettle-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/fettle-config.cmake ${CMAKE_BINARY_DIR}/fettle-config-version.cmake
        DESTINATION ${fettle_cmake_dir})

file(RELATIVE_PATH FETTLE_PC_TO_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(${CMAKE_CURRENT_LIST_DIR}/fettle.pc.in ${CMAKE_BINARY_DIR}/fettle.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/fettle.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
