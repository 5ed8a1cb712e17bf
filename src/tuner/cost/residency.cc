#include "tuner/cost/residency.h"

#include <set>

namespace fettle::tuner {

bool ConstantsAreCold(const ir::Graph& graph, const CpuInfo& info) {
  if (info.l3_bytes <= 0) return false;
  int64_t bytes = 0;
  std::set<uint64_t> splats;
  for (const ir::Value& value : graph.values()) {
    if (!value.is_constant()) continue;
    // Equal constants are packed once; those that are one element repeated are known cheaply.
    const Constant& constant = *value.constant;
    if (constant.is_splat() && !splats.insert(constant.Hash()).second) continue;
    bytes += constant.elements() * ByteSize(value.dtype);
  }
  return bytes > info.l3_bytes;
}

}  // namespace fettle::tuner
