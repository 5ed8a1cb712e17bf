# fettle_library(NAME SOURCES... [LINK ...]): one static library per folder, with the design's edges as links.
function(fettle_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_library(fettle_${name} STATIC ${arg_SOURCES})
  target_link_libraries(fettle_${name} PUBLIC ${arg_LINK} fettle_flags fettle_sanitize)
endfunction()

# fettle_oracle(NAME SOURCES... [LINK ...]): the same for reference code, at -O2 without instrumentation in every
# preset, so that oracles are as fast in Debug.
function(fettle_oracle name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_library(fettle_${name} STATIC ${arg_SOURCES})
  target_link_libraries(fettle_${name} PUBLIC ${arg_LINK} fettle_flags)
  target_compile_options(fettle_${name} PRIVATE -O2 -fno-sanitize=all)
endfunction()
