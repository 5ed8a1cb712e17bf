# cmake -D ROOT=... -D TOOLCHAIN=... -D OUTPUT=... -P build_id.cmake: writes the source file behind kernels/build_id.h.
# The hash covers what packed bytes and timings depend on: kernels, layouts, device code, compiler and flags.
file(GLOB_RECURSE sources LIST_DIRECTORIES false ${ROOT}/src/kernels/* ${ROOT}/src/tensor/* ${ROOT}/src/device/*)
list(SORT sources)
set(text "${TOOLCHAIN}")
foreach(source ${sources})
  file(SHA256 ${source} hash)
  file(RELATIVE_PATH name ${ROOT} ${source})
  string(APPEND text "\n${name} ${hash}")
endforeach()
string(SHA256 hash "${text}")
string(SUBSTRING ${hash} 0 16 hash)
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
#include "kernels/build_id.h"

namespace fettle::kernels {

std::string_view BuildId() { return "@hash@ @TOOLCHAIN@"; }

}  // namespace fettle::kernels
]])
