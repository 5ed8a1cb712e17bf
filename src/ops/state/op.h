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

/// Where a sequence of a launch has its state among the slots of one tensor.
struct SlotStep {
  int64_t from = -1, to = 0;  // the slot that it reads, -1: none, zeros; and the one that it writes
  int64_t count = 0;  // of its rows; those behind them fill up, change nothing and give zero
};
/// kInvalidArgument where the slots lie outside `slots`, or more rows count than `length`.
Status CheckSlotStep(const SlotStep& step, int64_t slots, int64_t length);

/// SlotConv: the convolution of CausalConvWithState over rows of all channels, with states in
/// slots: x, y [batch, length, channels], w [taps, channels], states [slots, taps - 1, channels].
struct SlotConvShape {
  int64_t batch = 0, length = 0, channels = 0, taps = 0, slots = 0;
  bool silu = false;
};
/// `past` is the shape of the states. Fails with kInvalidModel where shapes do not fit.
Result<SlotConvShape> ReadSlotConv(const ir::Node& node, const Shape& x, const Shape& w,
                                   const Shape& past);

/// How the state of a SlotScan decays before a step, by e^g.
enum class Decay {
  kNone,
  kOfHead,   // g [batch, length, heads]
  kOfKey,    // g [batch, length, heads * size]: a row of the state
  kOfValue,  // g [batch, length, heads * v_size] times rates [size, heads * v_size]: an element
};
/// SlotScan: the recurrence of LinearAttention with states in slots, [slots, heads, size, v_size].
/// Heads share queries and keys, which there are `key_heads` of: in runs, or those whose numbers
/// are equal modulo key_heads (`strided`).
struct SlotScanShape {
  int64_t batch = 0, length = 0, slots = 0;
  int64_t heads = 0, key_heads = 0, size = 0, v_size = 0;
  Decay decay = Decay::kNone;
  bool delta = false, strided = false;
  double scale = 1;

  int64_t KeyHead(int64_t head) const {
    return strided ? head % key_heads : head / (heads / key_heads);
  }
};
/// `decay`, `beta` and `rates` are null where the node has none.
Result<SlotScanShape> ReadSlotScan(const ir::Node& node, const Shape& q, const Shape& k,
                                   const Shape& v, const Shape* decay, const Shape* beta,
                                   const Shape* rates, const Shape& past);

}  // namespace fettle::ops
