#include "kernels/cpu/probe/loops.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "device/cpu/amx.h"
#include "device/cpu/cpu_device.h"
#include "kernels/cpu/binary/tile.h"

namespace fettle::kernels {
namespace {

#if defined(__x86_64__)
/// CPUID leaf 7: EDX bit 23.
bool HasFp16() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return GetCpuInfo().avx512 && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d >> 23 & 1U) != 0;
}
#else
bool HasFp16() { return false; }
#endif

/// Sets beyond those of Highway's targets, the faster of one kind of arithmetic first.
const struct {
  std::span<const RegisterLoop> (*loops)();
  bool (*runs)();
} kSets[] = {
    {LoopsAmx, [] { return GetAmxSets().int8 && GetAmxSets().bf16; }},
    {LoopsAvx512Vnni, [] { return GetCpuInfo().avx512_vnni; }},
    {LoopsAvx512Bf16, [] { return GetCpuInfo().avx512_bf16; }},
    {LoopsAvx512Fp16, HasFp16},
    {LoopsAvx512Vpopcntdq, HasVpopcntdq},
};

}  // namespace

const std::vector<ListedLoop>& ListLoops() {
  static const std::vector<ListedLoop> all = [] {
    std::vector<ListedLoop> listed;
    for (const auto& set : kSets)
      for (const RegisterLoop& loop : set.loops()) listed.push_back({loop, set.runs()});
    for (const ListedLoop& loop : SimdLoops()) listed.push_back(loop);
    return listed;
  }();
  return all;
}

}  // namespace fettle::kernels
