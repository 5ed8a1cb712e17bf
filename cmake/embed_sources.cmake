# Writes OUTPUT, a C++ file with the texts of SOURCES (paths below ROOT, joined by '|') as one table, without the lines
# that are comments alone.
set(text "// Generated: the OpenCL sources of this build.\n#include \"kernels/opencl/sources.h\"\n\nnamespace fettle::kernels {\n\nstd::span<const EmbeddedSource> EmbeddedSources() {\n  static const EmbeddedSource kSources[] = {\n")
string(REPLACE "|" ";" SOURCES "${SOURCES}")
foreach(source IN LISTS SOURCES)
  file(READ ${ROOT}/${source} body)
  string(REGEX REPLACE "\n[ ]*//[^\n]*" "" body "\n${body}")
  string(APPEND text "{\"${source}\", R\"opencl_c(${body})opencl_c\"},\n")
endforeach()
string(APPEND text "  };\n  return kSources;\n}\n\n}  // namespace fettle::kernels\n")
file(WRITE ${OUTPUT} "${text}")
