#include "base/memory_marks.h"

#include <cstdlib>
#include <cstring>

// Of AddressSanitizer's run-time library, where that is linked in.
extern "C" void __asan_poison_memory_region(void const volatile* memory, size_t bytes)
    __attribute__((weak));
extern "C" void __asan_unpoison_memory_region(void const volatile* memory, size_t bytes)
    __attribute__((weak));

namespace fettle::marks {
namespace {

int Fill() {
  static const int fill = [] {
    const char* digits = std::getenv("FETTLE_MEMORY_FILL");
    return digits == nullptr ? 0xff : static_cast<int>(std::strtol(digits, nullptr, 16) & 0xff);
  }();
  return fill;
}

}  // namespace

bool On() { return true; }

int64_t RedZone() { return 128; }

void Fresh(void* memory, int64_t bytes) {
  Alive(memory, bytes);
  if (bytes > 0) std::memset(memory, Fill(), bytes);
}

void Dead(void* memory, int64_t bytes) {
  if (bytes <= 0) return;
  if (__asan_poison_memory_region == nullptr)
    std::memset(memory, Fill(), bytes);
  else
    __asan_poison_memory_region(memory, bytes);
}

void Alive(void* memory, int64_t bytes) {
  if (__asan_unpoison_memory_region != nullptr && bytes > 0)
    __asan_unpoison_memory_region(memory, bytes);
}

}  // namespace fettle::marks
