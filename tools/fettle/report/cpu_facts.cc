#include "report/cpu_facts.h"

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

namespace {

constexpr std::pair<std::string_view, bool CpuInfo::*> kIsaSets[] = {
    {"avx2", &CpuInfo::avx2},
    {"fma", &CpuInfo::fma},
    {"avx512", &CpuInfo::avx512},
    {"avx512_vnni", &CpuInfo::avx512_vnni},
    {"avx_vnni", &CpuInfo::avx_vnni},
    {"avx512_bf16", &CpuInfo::avx512_bf16},
    {"avx512_vpopcntdq", &CpuInfo::avx512_vpopcntdq},
    {"avx512_vbmi", &CpuInfo::avx512_vbmi},
    {"neon", &CpuInfo::neon},
    {"dotprod", &CpuInfo::dotprod},
    {"i8mm", &CpuInfo::i8mm},
    {"fp16", &CpuInfo::fp16}};
constexpr std::pair<std::string_view, bool AmxSets::*> kTileSets[] = {{"amx_int8", &AmxSets::int8},
                                                                      {"amx_bf16", &AmxSets::bf16}};

}  // namespace

std::vector<std::string> IsaNames(const CpuInfo& info) {
  std::vector<std::string> names;
  for (const auto& [name, member] : kIsaSets)
    if (info.*member) names.emplace_back(name);
  for (const auto& [name, member] : kTileSets)
    if (GetAmxSets().*member) names.emplace_back(name);
  return names;
}

bool AddIsa(std::string_view name, CpuInfo& info, AmxSets& tiles) {
  bool* present = nullptr;
  for (const auto& [known, member] : kIsaSets)
    if (known == name) present = &(info.*member);
  for (const auto& [known, member] : kTileSets)
    if (known == name) present = &(tiles.*member);
  if (present != nullptr) *present = true;
  return present != nullptr;
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
