# Install and export: find_package(fettle) gives fettle::fettle, find_package(fettle COMPONENTS runtime) fettle::runtime;
# pkg-config knows `fettle` and `fettle-runtime`. `cmake --install BUILD --component runtime` installs the second alone.
# Where FFmpeg's libraries are, also fettle::enhance (COMPONENTS enhance) and `fettle-enhance`, which take the first.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# What `cmake --install` takes, built.
add_custom_target(fettle_installed)

set(fettle_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/fettle)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/fettle-config.cmake.in ${CMAKE_BINARY_DIR}/fettle-config.cmake
                              INSTALL_DESTINATION ${fettle_cmake_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/fettle-config-version.cmake COMPATIBILITY SameMinorVersion)
file(RELATIVE_PATH FETTLE_PC_TO_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)

# fettle_install(COMPONENT TARGET NAME DESCRIPTION [REQUIRES]): a shared library, libNAME.so, and all that building on it
# takes, besides pkg-config's package REQUIRES.
function(fettle_install component target name description)
  add_dependencies(fettle_installed ${target})
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
  set(FETTLE_PC_REQUIRES ${ARGN})
  configure_file(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/fettle.pc.in ${CMAKE_BINARY_DIR}/${FETTLE_PC_NAME}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/${FETTLE_PC_NAME}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT ${component})
endfunction()
fettle_install(library fettle_capi fettle "Runs neural networks on the device in front of you")
fettle_install(runtime fettle_runtime_capi fettle_runtime "Runs tuned neural networks from packages")
if(FETTLE_TOOLS)
  add_dependencies(fettle_installed fettle)
  install(TARGETS fettle RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT library)
  # Of what the program carries for its pages.
  install(FILES ${PROJECT_SOURCE_DIR}/tools/fettle/page/d3-licence.txt DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT library)
  # Manual pages and what shells complete, by the program's own table of options.
  if(NOT CMAKE_CROSSCOMPILING)
    set(pages ${CMAKE_BINARY_DIR}/share)
    set(bash_words ${pages}/bash-completion/completions)
    set(zsh_words ${pages}/zsh/vendor-completions)
    set(fish_words ${pages}/fish/vendor_completions.d)
    add_custom_command(OUTPUT ${pages}/man/man1/fettle.1
      COMMAND ${CMAKE_COMMAND} -E make_directory ${pages}/man/man1 ${bash_words} ${zsh_words} ${fish_words}
      COMMAND fettle completion bash > ${bash_words}/fettle
      COMMAND fettle completion zsh > ${zsh_words}/_fettle
      COMMAND fettle completion fish > ${fish_words}/fettle.fish
      COMMAND fettle manual ${pages}/man/man1
      DEPENDS fettle VERBATIM)
    add_custom_target(fettle_pages ALL DEPENDS ${pages}/man/man1/fettle.1)
    add_dependencies(fettle_installed fettle_pages)
    install(DIRECTORY ${pages}/ DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT library OPTIONAL)
  endif()
  # What scripts/make-runner made, for `fettle --remote`.
  install(DIRECTORY ${CMAKE_BINARY_DIR}/libexec/ DESTINATION ${CMAKE_INSTALL_LIBEXECDIR} COMPONENT library OPTIONAL)
  if(TARGET fettle-enhance)
    add_dependencies(fettle_installed fettle-enhance)
    set_target_properties(fettle-enhance PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
    set_target_properties(fettle_enhance_capi PROPERTIES INSTALL_RPATH "$ORIGIN")
    fettle_install(enhance fettle_enhance_capi fettle_enhance "Enhances frames of videos and cameras" fettle)
    install(TARGETS fettle-enhance RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT library)
  endif()
endif()
