// The system's OpenCL library but for its compiler, which hangs or dies over source as
// FETTLE_TEST_COMPILER says: `hangs`, `dies`, or `dies over TEXT`, where the source has that.
// Where FETTLE_TEST_COMPILERS is set, each process that compiles leaves an empty file of its number
// in that folder. FETTLE_TEST_PLATFORMS, where it is set, is cut apart where it stands when
// platforms are first asked for, as Khronos' loader does with OCL_ICD_FILENAMES; where it is one
// name alone, there is no platform. Everything else is found in the library that this one is linked
// with.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

std::mutex mutex;
/// By program: its source.
std::map<void*, std::string>& Sources() {
  static std::map<void*, std::string> sources;
  return sources;
}

/// Empty where the program is of none.
std::string SourceOf(void* program) {
  const std::lock_guard lock(mutex);
  const auto found = Sources().find(program);
  return found == Sources().end() ? "" : found->second;
}

template <typename Function>
Function* Real(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

/// Dies as a compiler does. LLVM's handler, which compilers install, returns from a signal that was
/// raised, and what raised it goes on; a fault comes again.
[[noreturn]] void Fault() {
  while (true) *static_cast<volatile int*>(nullptr) = 0;
}

}  // namespace

EXPORTED int clGetPlatformIDs(unsigned most, void** platforms, unsigned* count) {
  constexpr int kNoPlatform = -1001;
  static const bool is_whole = [] {
    char* names = std::getenv("FETTLE_TEST_PLATFORMS");
    return names == nullptr || (std::strtok(names, ":") && std::strtok(nullptr, ":"));
  }();
  if (!is_whole) return kNoPlatform;
  return Real(&clGetPlatformIDs, __func__)(most, platforms, count);
}

EXPORTED void* clCreateProgramWithSource(void* context, unsigned count, const char** texts,
                                         const size_t* sizes, int* code) {
  void* program = Real(&clCreateProgramWithSource, __func__)(context, count, texts, sizes, code);
  const std::lock_guard lock(mutex);
  std::string& source = Sources()[program];
  for (unsigned i = 0; i < count; ++i)
    source += sizes != nullptr && sizes[i] > 0 ? std::string(texts[i], sizes[i]) : texts[i];
  return program;
}

EXPORTED int clBuildProgram(void* program, unsigned devices, const void* list, const char* options,
                            void* notify, void* data) {
  constexpr std::string_view kOver = "dies over ";
  const char* what = std::getenv("FETTLE_TEST_COMPILER");
  const std::string_view does = what == nullptr ? "" : what;
  const std::string source = SourceOf(program);
  while (!source.empty() && does == "hangs") pause();
  const bool dies = does == "dies" || (does.starts_with(kOver) &&
                                       source.find(does.substr(kOver.size())) != source.npos);
  if (!source.empty() && dies) Fault();
  const char* folder = std::getenv("FETTLE_TEST_COMPILERS");
  if (!source.empty() && folder != nullptr)
    std::fclose(std::fopen((std::string(folder) + "/" + std::to_string(getpid())).c_str(), "w"));
  return Real(&clBuildProgram, __func__)(program, devices, list, options, notify, data);
}
