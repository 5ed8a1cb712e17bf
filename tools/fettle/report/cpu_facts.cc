#include "report/cpu_facts.h"

#include "device/cpu/amx.h"
#include "kernels/cpu/probe/probe.h"

namespace fettle::tools {
namespace {

/// What one core was measured to do at best.
Json CpuCeilingsJson(const CpuDevice& device) {
  Json ceilings = Json::array();
  for (const kernels::Ceiling& ceiling : kernels::Probe(device)) {
    ceilings.push_back({{"name", ceiling.name},
                        {"value", ceiling.value},
                        {"unit", ceiling.unit},
                        {"spread", ceiling.spread}});
  }
  return ceilings;
}

}  // namespace

std::vector<std::string> IsaNames(const CpuInfo& info) {
  const std::pair<bool, const char*> features[] = {
      {info.avx2, "avx2"},
      {info.fma, "fma"},
      {info.avx512, "avx512"},
      {info.avx512_vnni, "avx512_vnni"},
      {info.avx_vnni, "avx_vnni"},
      {info.avx512_bf16, "avx512_bf16"},
      {info.neon, "neon"},
      {info.dotprod, "dotprod"},
      {info.i8mm, "i8mm"},
      {info.fp16, "fp16"},
      {GetAmxSets().int8, "amx_int8"},
      {GetAmxSets().bf16, "amx_bf16"},
  };
  std::vector<std::string> names;
  for (const auto& [present, name] : features)
    if (present) names.push_back(name);
  return names;
}

Json CpuJson(const CpuDevice& device) {
  const CpuInfo& info = device.info();
  return {{"name", info.model},
          {"cores", info.cores},
          {"isa", IsaNames(info)},
          {"l1d_bytes", info.l1d_bytes},
          {"l2_bytes", info.l2_bytes},
          {"l3_bytes", info.l3_bytes},
          {"ceilings", CpuCeilingsJson(device)},
          {"fingerprint", device.fingerprint()}};
}

}  // namespace fettle::tools
