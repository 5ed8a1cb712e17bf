# Install and export: find_package(fettle) gives fettle::fettle, find_package(fettle COMPONENTS runtime) fettle::runtime;
# pkg-config knows `fettle` and `fettle-runtime`. `cmake --install BUILD --component runtime` installs the second alone.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(fettle_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/fettle)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/fettle-config.cmake.in ${CMAKE_BINARY_DIR}/fettle-config.cmake
                              INSTALL_DESTINATION ${fettle_cmake_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/fettle-config-version.cmake COMPATIBILITY SameMinorVersion)
file(RELATIVE_PATH FETTLE_PC_TO_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)

# fettle_install(COMPONENT TARGET NAME DESCRIPTION): a shared library, libNAME.so, and all that building on it takes.
function(fettle_install component target name description)
  install(TARGETS ${target} EXPORT fettle_${component}_targets
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component}
          INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT fettle_${component}_targets FILE fettle-${component}-targets.cmake NAMESPACE fettle::
          DESTINATION ${fettle_cmake_dir} COMPONENT ${component})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/fettle DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT ${component})
  install(FILES ${CMAKE_BINARY_DIR}/fettle-config.cmake ${CMAKE_BINARY_DIR}/fettle-config-version.cmake
          DESTINATION ${fettle_cmake_dir} COMPONENT ${component})
  string(REPLACE _ - FETTLE_PC_NAME ${name})
  set(FETTLE_PC_LIBRARY ${name})
  set(FETTLE_PC_DESCRIPTION ${description})
  configure_file(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/fettle.pc.in ${CMAKE_BINARY_DIR}/${FETTLE_PC_NAME}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/${FETTLE_PC_NAME}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT ${component})
endfunction()
fettle_install(library fettle_capi fettle "Runs neural networks on the device in front of you")
fettle_install(runtime fettle_runtime_capi fettle_runtime "Runs tuned neural networks from packages")
if(FETTLE_TOOLS)
  install(TARGETS fettle RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT library)
  if(TARGET fettle-enhance)
    install(TARGETS fettle-enhance RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT library)
  endif()
endif()
