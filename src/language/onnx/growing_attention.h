// Attention over growing caches, as exporters write it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "language/onnx/length_probe.h"

namespace fettle::language {

/// Queries, keys and values that are [1, heads, tokens, size], or [1, tokens, heads * size].
struct GrowingAttention {
  ir::ValueId queries = ir::kAbsent, keys = ir::kAbsent, values = ir::kAbsent;  // the new ones
  size_t key_cache = 0, value_cache = 0;                                        // of the form
  int64_t heads = 0;                                                            // of queries
  bool packed_queries = false, packed_keys = false;
  ir::ValueId result = ir::kAbsent;  // in the form of queries
  ir::NodeId grouped = -1;           // a GroupQueryAttention that is one already
  double scale = 1, softcap = 0;     // as GroupQueryAttention has them
  int64_t window = -1;
};

/// One for each pair of caches, if a single attention reads each of them and its queries see their
/// own key and earlier ones (or a window of them). Otherwise empty. Exporters write moves, scales
/// and masks in many ways, so these are computed for a few lengths up to `context` and compared.
Result<std::optional<std::vector<GrowingAttention>>> FindGrowingAttention(
    const ir::Graph& graph, const OnnxForm& form, std::span<const LengthProbe> probes,
    int64_t context);

}  // namespace fettle::language
