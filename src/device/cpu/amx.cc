#include "device/cpu/amx.h"

#include <cstdlib>
#include <string_view>

#include "device/cpu/cpu_device.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace fettle {
namespace {

/// State components 17 (tile configuration) and 18 (tile data).
constexpr unsigned kTileConfig = 1U << 17, kTileData = 1U << 18;
constexpr int kRequestPermission =
    0x1023;  // ARCH_REQ_XCOMP_PERM, of <asm/prctl.h> since Linux 5.16
constexpr int kTileDataComponent = 18;

/// Whether the system saves tiles when it switches threads. XGETBV needs OSXSAVE, which the caller
/// has checked.
bool SystemSavesTiles() {
  unsigned low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & (kTileConfig | kTileData)) == (kTileConfig | kTileData);
}

AmxSets RequestAmx() {
  constexpr unsigned kOsXsave = 1U << 27, kBf16 = 1U << 22, kTiles = 1U << 24, kInt8 = 1U << 25;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kOsXsave) == 0) return {};
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & kTiles) == 0) return {};
  if (!SystemSavesTiles()) return {};
  if (syscall(SYS_arch_prctl, kRequestPermission, kTileDataComponent) != 0) return {};
  return {.int8 = (d & kInt8) != 0, .bf16 = (d & kBf16) != 0};
}

}  // namespace
}  // namespace fettle
#else
namespace fettle {
namespace {
AmxSets RequestAmx() { return {}; }
}  // namespace
}  // namespace fettle
#endif

namespace fettle {

namespace {

AmxSets& TheAmxSets() {
  static AmxSets sets = [] {
    const char* level = std::getenv("FETTLE_CPU_ISA");
    const bool capped = level != nullptr && std::string_view(level) == "avx512";
    return !capped && GetCpuInfo().avx512_vnni ? RequestAmx() : AmxSets();
  }();
  return sets;
}

}  // namespace

const AmxSets& GetAmxSets() { return TheAmxSets(); }

void AssumeAmx(const AmxSets& sets) { TheAmxSets() = sets; }

}  // namespace fettle
