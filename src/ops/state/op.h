// Operators that carry a state from one call to the next: sizes and attributes, as kernels read
// them.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "ir/graph.h"
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
/// with a state S [batch, kv_heads, k_size, v_size]. Without `gated` there is no e^g, without
/// `delta` the update is k v'. Queries share states in runs of q_heads / kv_heads.
struct LinearAttentionAttributes {
  int64_t batch = 0, steps = 0, q_heads = 0, kv_heads = 0, k_size = 0, v_size = 0;
  bool gated = false, delta = false;
  double scale = 1;
};
/// `q`, `k`, `v` are [batch, steps, heads * size]. Fails with kInvalidModel where they do not fit.
Result<LinearAttentionAttributes> ReadLinearAttention(const ir::Node& node, const Shape& q,
                                                      const Shape& k, const Shape& v);

}  // namespace fettle::ops
