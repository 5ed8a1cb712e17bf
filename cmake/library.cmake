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

# fettle_optimise(TARGET small|fast|loops): what searches is fast, what loops over data is so in its loops, what plans and
# calls it is small, in releases; with the usual headers, precompiled once for each.
function(fettle_optimise target how)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:fettle_${how}_flags>)
  if(FETTLE_PCH)
    target_precompile_headers(${target} REUSE_FROM fettle_${how}_pch)
  endif()
endfunction()

# fettle_library(NAME SOURCES... [LINK ...] [FAST|LOOPS|OWN_FLAGS] [RUNS FILE...]): one static library per folder, with the
# design's edges as links; small unless it says otherwise. RUNS: its files that loop over data, by name, without their ending.
function(fettle_library name)
  cmake_parse_arguments(arg "OWN_FLAGS;FAST;LOOPS" "" "SOURCES;LINK;RUNS" ${ARGN})
  if(arg_RUNS)
    set(runs ${arg_SOURCES})
    list(JOIN arg_RUNS "|" names)
    list(FILTER runs INCLUDE REGEX "(^|/)(${names})\\.cc$")
    list(REMOVE_ITEM arg_SOURCES ${runs})
    add_library(fettle_${name}_runs OBJECT ${runs})
    target_link_libraries(fettle_${name}_runs PUBLIC ${arg_LINK} fettle_flags fettle_sanitize)
    fettle_optimise(fettle_${name}_runs loops)
    list(APPEND arg_SOURCES $<TARGET_OBJECTS:fettle_${name}_runs>)
  endif()
  add_library(fettle_${name} STATIC ${arg_SOURCES})
  target_link_libraries(fettle_${name} PUBLIC ${arg_LINK} fettle_flags fettle_sanitize)
  if(arg_FAST)
    fettle_optimise(fettle_${name} fast)
  elseif(arg_LOOPS)
    fettle_optimise(fettle_${name} loops)
  elseif(NOT arg_OWN_FLAGS)
    fettle_optimise(fettle_${name} small)
  endif()
endfunction()

# fettle_oracle(NAME SOURCES... [LINK ...]): the same for reference code, small in releases, elsewhere at -O2, so that oracles
# are fast in Debug too. Sanitizers look at them as at the rest; what finds ways for fuzz targets does not.
function(fettle_oracle name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_library(fettle_${name} STATIC ${arg_SOURCES})
  target_link_libraries(fettle_${name} PUBLIC ${arg_LINK} fettle_flags fettle_sanitize)
  target_link_libraries(fettle_${name} PRIVATE $<BUILD_INTERFACE:fettle_small_flags> $<BUILD_INTERFACE:fettle_uncounted_flags>)
  target_compile_options(fettle_${name} PRIVATE $<$<NOT:$<CONFIG:Release>>:-O2>)
  fettle_precompile(fettle_${name})
endfunction()

if(FETTLE_PCH)
  file(WRITE ${CMAKE_BINARY_DIR}/pch.cc "// Only here for its precompiled headers.\n")
  foreach(how small fast loops)
    add_library(fettle_${how}_pch STATIC ${CMAKE_BINARY_DIR}/pch.cc)
    target_link_libraries(fettle_${how}_pch PUBLIC fmt::fmt fettle_flags fettle_sanitize PRIVATE fettle_${how}_flags)
    fettle_precompile(fettle_${how}_pch)
  endforeach()
endif()

# fettle_join_sources(LIST [ALONE...]): puts joined files in place of the sources in LIST, CMAKE_UNITY_BUILD_BATCH_SIZE a file, in which
# names may be equal (cmake/join_sources.cmake). A source with several anonymous namespaces stays, as do those named.
function(fettle_join_sources list)
  set(batch)
  set(joined)
  foreach(source IN LISTS ${list})
    file(STRINGS ${source} begins REGEX "^namespace {$")
    list(LENGTH begins begins)
    if(begins GREATER 1 OR source IN_LIST ARGN)
      list(APPEND joined ${source})
    else()
      list(APPEND batch ${source})
    endif()
  endforeach()
  list(LENGTH batch files)
  set(unit 0)
  while(files GREATER 0)
    list(SUBLIST batch 0 ${CMAKE_UNITY_BUILD_BATCH_SIZE} sources)
    list(REMOVE_ITEM batch ${sources})
    list(LENGTH batch files)
    set(output ${CMAKE_CURRENT_BINARY_DIR}/joined/${list}_${unit}.cc)
    math(EXPR unit "${unit} + 1")
    string(REPLACE ";" "|" texts "${sources}")
    add_custom_command(OUTPUT ${output}
      COMMAND ${CMAKE_COMMAND} "-D SOURCES=${texts}" -D OUTPUT=${output} -P ${PROJECT_SOURCE_DIR}/cmake/join_sources.cmake
      DEPENDS ${sources} ${PROJECT_SOURCE_DIR}/cmake/join_sources.cmake VERBATIM)
    list(APPEND joined ${output})
  endwhile()
  set(${list} ${joined} PARENT_SCOPE)
endfunction()
