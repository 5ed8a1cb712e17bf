# Options and flags that every target shares.
option(FETTLE_TOOLS "Build the fettle program" ${PROJECT_IS_TOP_LEVEL})
option(FETTLE_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(FETTLE_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(FETTLE_BENCH "Build the benchmarks" OFF)
option(FETTLE_WERROR "Make warnings errors" OFF)
set(FETTLE_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize=")
option(FETTLE_FUZZ "Build the libFuzzer targets (clang)" OFF)
option(FETTLE_OPENCL "Build the kernels of OpenCL devices beside those of the CPU" ON)
set(FETTLE_ONE_SIMD_TARGET OFF CACHE STRING "For short builds, compile kernels for one instruction set alone: ON (AVX2 or NEON), AVX3 or SCALAR")
option(FETTLE_MARK_MEMORY "For tests: fill and poison memory that nobody has written (base/memory_marks.h)" OFF)
option(FETTLE_NATIVE "Compile kernels for the CPU of this machine alone: a shorter build, which runs here" OFF)
option(FETTLE_PCH "Precompile the standard headers" ON)
# CMake's own: several files are compiled as one, for short whole builds (and long ones after an edit).
set(CMAKE_UNITY_BUILD_BATCH_SIZE 16)
# A library compiles while those below it do.
set(CMAKE_OPTIMIZE_DEPENDENCIES ON)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

find_program(FETTLE_CCACHE ccache)
if(FETTLE_CCACHE)
  # Without the first two, ccache takes no file that uses precompiled headers; with the third, it preprocesses none.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1 ${FETTLE_CCACHE})
endif()

add_library(fettle_flags INTERFACE)
target_compile_options(fettle_flags INTERFACE -Wall -Wextra -Wconversion -Wno-sign-conversion -Wno-psabi -Wno-missing-field-initializers
                                              $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>  # g++ 12 warns inside std::string
                                              $<$<BOOL:${FETTLE_WERROR}>:-Werror>
                                              # g++ collects garbage a tenth of its time if it may not hold 500 MB
                                              $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=500000>
                                              # With times in them, ccache finds none of a new clone's
                                              $<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-Xclang -fno-pch-timestamp>)
# Of releases (fettle_optimise): -Os halves the size of what plans and calls, and takes two thirds of -O3's time to compile.
# In sections, so that a shared library leaves out what it does not use.
foreach(how small fast loops lean)
  add_library(fettle_${how}_flags INTERFACE)
endforeach()
target_compile_options(fettle_small_flags INTERFACE $<$<CONFIG:Release>:-Os -ffunction-sections -fdata-sections>)
target_compile_options(fettle_fast_flags INTERFACE $<$<CONFIG:Release>:-O3 -ffunction-sections -fdata-sections>)
# Loops are compiled as the fast are, but what is around them calls functions of the standard library instead of holding
# copies of them: two thirds of the size.
target_compile_options(fettle_loops_flags INTERFACE
  $<$<CONFIG:Release>:-O3 -ffunction-sections -fdata-sections
    $<$<CXX_COMPILER_ID:GNU>:--param=max-inline-insns-single=20 --param=max-inline-insns-auto=5>>)
# The same without a clone of each loop for each form of its conditions: a fifth less, at half the speed where a stride of 1 is
# such a form.
target_compile_options(fettle_lean_flags INTERFACE
  $<$<CONFIG:Release>:-O2 -ftree-vectorize -ffunction-sections -fdata-sections
    $<$<CXX_COMPILER_ID:GNU>:-fvect-cost-model=dynamic>
    $<$<CXX_COMPILER_ID:GNU>:--param=max-inline-insns-single=20 --param=max-inline-insns-auto=5>>)
target_include_directories(fettle_flags INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)

add_library(fettle_sanitize INTERFACE)
if(FETTLE_SANITIZE)
  # Instrumented code makes g++ see uninitialised reads inside the standard library.
  target_compile_options(fettle_sanitize INTERFACE -fsanitize=${FETTLE_SANITIZE} -fno-omit-frame-pointer
                                                   -fno-sanitize-recover=all
                                                   $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(fettle_sanitize INTERFACE -fsanitize=${FETTLE_SANITIZE})
endif()

# What runs the library, its tests and the program, is optimised less than it, and no fuzz target runs through it: it
# compiles in 60 % of the time. Linked last: later flags win.
add_library(fettle_test_flags INTERFACE)
add_library(fettle_tool_flags INTERFACE)
if(FETTLE_SANITIZE)
  set(light $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=fuzzer-no-link> -O0)
  target_compile_options(fettle_test_flags INTERFACE ${light})
  target_compile_options(fettle_tool_flags INTERFACE ${light})
else()
  target_compile_options(fettle_test_flags INTERFACE $<$<CONFIG:Release>:-O1>)
  target_compile_options(fettle_tool_flags INTERFACE $<$<CONFIG:Release>:-Og>)
endif()
# No fuzz target looks for its way through kernels: what counts their branches is 7 % of their compiling and a fifth of
# their size. Linked last, too.
add_library(fettle_uncounted_flags INTERFACE)
if(FETTLE_SANITIZE)
  target_compile_options(fettle_uncounted_flags INTERFACE $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=fuzzer-no-link>)
endif()
