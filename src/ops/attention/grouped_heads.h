// Queries, keys and values of sequences whose heads lie side by side, several queries to a key.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "ir/graph.h"
#include "tensor/shape.h"

namespace fettle::ops {

/// Queries [batch, length, q_heads * size], keys [batch, length, kv_heads * size], values [batch,
/// length, kv_heads * v_size]; q_heads / kv_heads queries in a row share a key.
struct GroupedHeads {
  int64_t batch = 0, length = 0, q_heads = 0, kv_heads = 0, size = 0, v_size = 0;
  double scale = 1;  // 1 / sqrt(size) where attribute 'scale' says nothing
};

/// `q_heads` and `kv_heads` are those of the node's attributes. Fails with kInvalidModel where the
/// shapes do not fit them, or each other.
Result<GroupedHeads> ReadGroupedHeads(const ir::Node& node, int64_t q_heads, int64_t kv_heads,
                                      const Shape& q, const Shape& k, const Shape& v);

}  // namespace fettle::ops
