// The system's OpenCL library but for its compiler, which hangs or dies as FETTLE_TEST_COMPILER
// says. Everything else is found in the library that this one is linked with.
#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

extern "C" int clBuildProgram(void* program, unsigned devices, const void* list,
                              const char* options, void* notify, void* data) {
  const char* what = std::getenv("FETTLE_TEST_COMPILER");
  const std::string_view does = what == nullptr ? "" : what;
  while (does == "hangs") pause();
  if (does == "dies") raise(SIGSEGV);
  static const auto real =
      reinterpret_cast<decltype(&clBuildProgram)>(dlsym(RTLD_NEXT, "clBuildProgram"));
  return real(program, devices, list, options, notify, data);
}
