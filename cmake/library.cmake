# The headers that most files include; a list of its own where a folder adds a library that takes seconds to parse.
set(FETTLE_PCH_HEADERS <algorithm> <array> <cmath> <cstdint> <cstring> <filesystem> <functional> <limits> <map> <memory>
                       <mutex> <numeric> <optional> <random> <set> <span> <string> <string_view> <unordered_map>
                       <utility> <variant> <vector> <fmt/format.h>)

# fettle_precompile(TARGET [HEADER...]): precompiles the usual headers, and those named, for one target.
function(fettle_precompile target)
  if(FETTLE_PCH)
    target_precompile_headers(${target} PRIVATE ${FETTLE_PCH_HEADERS} ${ARGN})
  endif()
endfunction()

# fettle_share_precompiled(TARGET): the headers as fettle_pch has them, for targets of the same flags.
function(fettle_share_precompiled target)
  if(FETTLE_PCH)
    target_precompile_headers(${target} REUSE_FROM fettle_pch)
  endif()
endfunction()

# fettle_library(NAME SOURCES... [LINK ...]): one static library per folder, with the design's edges as links.
function(fettle_library name)
  cmake_parse_arguments(arg "OWN_FLAGS" "" "SOURCES;LINK" ${ARGN})
  add_library(fettle_${name} STATIC ${arg_SOURCES})
  target_link_libraries(fettle_${name} PUBLIC ${arg_LINK} fettle_flags fettle_sanitize)
  if(NOT arg_OWN_FLAGS)
    fettle_share_precompiled(fettle_${name})
  endif()
endfunction()

# fettle_oracle(NAME SOURCES... [LINK ...]): the same for reference code, at -O2 without instrumentation in every
# preset, so that oracles are as fast in Debug.
function(fettle_oracle name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_library(fettle_${name} STATIC ${arg_SOURCES})
  target_link_libraries(fettle_${name} PUBLIC ${arg_LINK} fettle_flags)
  target_compile_options(fettle_${name} PRIVATE -O2 -fno-sanitize=all)
  fettle_precompile(fettle_${name})
endfunction()

if(FETTLE_PCH)
  file(WRITE ${CMAKE_BINARY_DIR}/pch.cc "// Only here for its precompiled headers.\n")
  add_library(fettle_pch STATIC ${CMAKE_BINARY_DIR}/pch.cc)
  target_link_libraries(fettle_pch PUBLIC fmt::fmt fettle_flags fettle_sanitize)
  fettle_precompile(fettle_pch)
endif()
