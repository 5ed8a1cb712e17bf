#include "kernels/cpu/simd/targets.h"

#include <hwy/highway.h>
#include <hwy/targets.h>

#include <mutex>

#include "base/check.h"
#include "device/cpu/cpu_device.h"

namespace fettle::kernels {

void ApplyIsaCap() {
  static std::once_flag once;
  std::call_once(once, [] {
    const CpuInfo& info = GetCpuInfo();
    int64_t hidden = 0;
    if (!info.avx512) hidden |= HWY_AVX3 | HWY_AVX3_DL;
    if (!info.avx2) hidden |= HWY_AVX2;
    hwy::DisableTargets(hidden);
  });
}

std::vector<std::string_view> SimdTargets() {
  ApplyIsaCap();
  std::vector<std::string_view> names;
  // A lower bit is a better target.
  const int64_t usable = HWY_TARGETS & (hwy::SupportedTargets() | HWY_STATIC_TARGET);
  for (int bit = 0; bit < 63; ++bit) {
    if ((usable >> bit & 1) != 0) names.emplace_back(hwy::TargetName(int64_t{1} << bit));
  }
  return names;
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
  hwy::GetChosenTarget().DeInit();
}

}  // namespace fettle::kernels
