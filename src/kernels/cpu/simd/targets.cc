#include "kernels/cpu/simd/targets.h"

#include <hwy/highway.h>
#include <hwy/targets.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>

#include "base/check.h"
#include "base/log.h"
#include "device/cpu/cpu_device.h"

namespace fettle::kernels {
namespace {

/// What Highway would answer; 0: not asked yet. Asking runs CPUID, which traps in virtual machines.
std::atomic<int64_t> supported_targets{0};

int64_t SupportedTargets() {
  int64_t targets = supported_targets.load(std::memory_order_relaxed);
  if (targets == 0) {
    targets = hwy::SupportedTargets();
    // Asking chose among all that the CPU has, disabled or not.
    hwy::GetChosenTarget().Update(targets);
    supported_targets.store(targets, std::memory_order_relaxed);
  }
  return targets;
}

#ifdef FETTLE_NATIVE
/// A build for the CPU that it was compiled on: names any other one before it meets an instruction
/// that it lacks.
void CheckNative(int64_t hidden) {
  const char* only = hwy::TargetName(HWY_STATIC_TARGET);
  if ((hwy::SupportedTargets() & HWY_STATIC_TARGET) == 0) {
    Log(LogLevel::kError,
        "this build runs on CPUs with {} only; build with -DFETTLE_NATIVE=OFF for this one", only);
    std::abort();
  }
  if ((hidden & HWY_STATIC_TARGET) != 0) {
    Log(LogLevel::kWarn,
        "FETTLE_CPU_ISA: this build has {} only; build with -DFETTLE_NATIVE=OFF for others", only);
  }
}
#endif

}  // namespace

void ApplyIsaCap() {
  static std::once_flag once;
  std::call_once(once, [] {
    const CpuInfo& info = GetCpuInfo();
    int64_t hidden = 0;
    if (!info.avx512) hidden |= HWY_AVX3 | HWY_AVX3_DL;
    if (!info.avx2) hidden |= HWY_AVX2;
#ifdef FETTLE_NATIVE
    CheckNative(hidden);
#endif
    hwy::DisableTargets(hidden);
  });
}

namespace {

int64_t UsableTargets() {
  ApplyIsaCap();
  return HWY_TARGETS & (SupportedTargets() | HWY_STATIC_TARGET);
}

}  // namespace

std::vector<std::string_view> SimdTargets() {
  std::vector<std::string_view> names;
  // A lower bit is a better target.
  for (int64_t left = UsableTargets(); left != 0; left &= left - 1)
    names.emplace_back(hwy::TargetName(left & -left));
  return names;
}

// Kernels ask while they run: without a list.
bool RunsSimdTarget(std::string_view target) {
  for (int64_t left = UsableTargets(); left != 0; left &= left - 1) {
    if (target == hwy::TargetName(left & -left)) return true;
  }
  return false;
}

void ForceSimdTarget(std::string_view target) {
  ApplyIsaCap();
  int64_t mask = 0;
  for (int bit = 0; bit < 63 && !target.empty(); ++bit) {
    const int64_t candidate = int64_t{1} << bit;
    if ((HWY_TARGETS & candidate) != 0 && target == hwy::TargetName(candidate)) mask = candidate;
  }
  FETTLE_CHECK(target.empty() || mask != 0, "unknown SIMD target");
  hwy::SetSupportedTargetsForTest(mask);
  supported_targets.store(0, std::memory_order_relaxed);
  hwy::GetChosenTarget().DeInit();
}

Status AssumeSimdTargets() {
  ApplyIsaCap();
  const CpuInfo& info = GetCpuInfo();
  // Better targets than AVX2 have lower bits, x86's others higher ones.
  int64_t targets = HWY_TARGETS & ~((int64_t{HWY_AVX2} << 1) - 1);
  const struct {
    bool present;
    int64_t target;
    std::string_view name;
  } sets[] = {{info.avx512, HWY_AVX3, "AVX-512"},
              {info.avx2 && info.fma, HWY_AVX2, "AVX2"},
              {info.neon, HWY_NEON, "NEON"}};
  for (const auto& set : sets) {
    if (!set.present) continue;
    if ((HWY_TARGETS & set.target) == 0)
      return Unsupported("this build has no kernels of {}; plan with one for that processor",
                         set.name);
    targets |= set.target;
  }
  hwy::DisableTargets(0);
  hwy::SetSupportedTargetsForTest(targets);
  supported_targets.store(0, std::memory_order_relaxed);
  hwy::GetChosenTarget().DeInit();
  return OkStatus();
}

}  // namespace fettle::kernels
