// The system's OpenCL library but for its compiler, which hangs or dies over source as
// FETTLE_TEST_COMPILER says. Everything else is found in the library that this one is linked with.
#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <set>
#include <string_view>

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

std::mutex mutex;
std::set<void*>& FromSource() {
  static std::set<void*> programs;
  return programs;
}

template <typename Function>
Function* Real(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

EXPORTED void* clCreateProgramWithSource(void* context, unsigned count, const char** texts,
                                         const size_t* sizes, int* code) {
  void* program = Real(&clCreateProgramWithSource, __func__)(context, count, texts, sizes, code);
  const std::lock_guard lock(mutex);
  FromSource().insert(program);
  return program;
}

EXPORTED int clBuildProgram(void* program, unsigned devices, const void* list, const char* options,
                            void* notify, void* data) {
  const char* what = std::getenv("FETTLE_TEST_COMPILER");
  const std::string_view does = what == nullptr ? "" : what;
  {
    const std::lock_guard lock(mutex);
    if (!FromSource().contains(program))
      return Real(&clBuildProgram, __func__)(program, devices, list, options, notify, data);
  }
  while (does == "hangs") pause();
  if (does == "dies") raise(SIGSEGV);
  return Real(&clBuildProgram, __func__)(program, devices, list, options, notify, data);
}
