// Operators that carry a state from one call to the next: sizes and attributes, as kernels read
// them.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "ir/graph.h"
#include "ops/attention/grouped_heads.h"
#include "tensor/shape.h"

namespace fettle::ops {

/// y[t] = act(b + sum_k w[k] * z[t + k]) for each channel alone, where z is the state of `taps` - 1
/// elements, then the input: x, y [batch, channels, length], w [channels, 1, taps].
struct CausalConvAttributes {
  int64_t batch = 0, channels = 0, length = 0, taps = 0;
  bool silu = false;
};
/// `shapes` are those of x and w. Fails with kInvalidModel where they do not fit.
Result<CausalConvAttributes> ReadCausalConv(const ir::Node& node, const Shape& x, const Shape& w);

/// The recurrence S = e^g S + k (beta (v - S' k))', o = scale * S' q over the steps of a sequence,
/// with a state S [batch, kv_heads, size, v_size]. Without `gated` there is no e^g, without
/// `delta` the update is k v'. Queries share states in runs of q_heads / kv_heads.
struct LinearAttentionAttributes : GroupedHeads {
  bool gated = false, delta = false;
};
/// Fails with kInvalidModel where they do not fit.
Result<LinearAttentionAttributes> ReadLinearAttention(const ir::Node& node, const Shape& q,
                                                      const Shape& k, const Shape& v);

}  // namespace fettle::ops
