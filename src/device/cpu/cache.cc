#include "device/cpu/cache.h"

namespace fettle {

bool DropFromCaches([[maybe_unused]] const std::byte* data, [[maybe_unused]] int64_t bytes) {
  [[maybe_unused]] constexpr int64_t kLine = 64;
#if defined(__x86_64__)
  for (int64_t at = 0; at < bytes; at += kLine) __builtin_ia32_clflush(data + at);
  if (bytes > 0) __builtin_ia32_clflush(data + bytes - 1);
  __builtin_ia32_mfence();
  return true;
#elif defined(__aarch64__) && defined(__linux__)
  // Linux lets processes clean and invalidate by address.
  for (int64_t at = 0; at < bytes; at += kLine)
    asm volatile("dc civac, %0" : : "r"(data + at) : "memory");
  if (bytes > 0) asm volatile("dc civac, %0" : : "r"(data + bytes - 1) : "memory");
  asm volatile("dsb ish" : : : "memory");
  return true;
#else
  return false;
#endif
}

}  // namespace fettle
