// Scaled dot-product attention and rotary embedding: sizes and attributes, as kernels read them.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "ir/graph.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace fettle::ops {

/// Y = Softmax(cap(scale * Q K') + mask) V for each batch and query head. Operands are
/// [batch, heads, length, size], or [batch, length, heads * size] where `packed`. Queries share key
/// heads in runs of q_heads / kv_heads. Keys of `past` come before those of K.
struct AttentionShape {
  bool packed = false;
  int64_t batch = 0, q_heads = 0, kv_heads = 0;
  int64_t queries = 0, past = 0, keys = 0;  // keys: past + current
  int64_t qk_size = 0, v_size = 0;
  double scale = 1;
  double softcap = 0;  // 0: none; otherwise scores become softcap * tanh(score / softcap)
  bool causal = false;
  /// Keys that a query sees before and behind its own position; -1: all.
  int64_t left_window = -1, right_window = -1;
  /// What output 3 holds: 0 the scaled scores, 1 capped, 2 with the mask, 3 the probabilities.
  int64_t score_mode = 0;
};
/// `shapes` are those of Q, K, V, mask, past key and past value (rank 0 where absent).
Result<AttentionShape> ReadAttention(const ir::Node& node, std::span<const Shape> shapes);

/// Axes [batch, heads, length, size] of an operand, packed or not, as a strided view.
HostView HeadsView(const HostView& view, bool packed, int64_t heads);

/// The first `rotated` elements of each head turn by the angle of their position: pairs are
/// (i, i + rotated / 2), or neighbours where `interleaved`. What the node does not say, the width
/// of the cosines does: com.microsoft may leave out the heads where all of their elements turn.
struct RotaryShape {
  bool packed = false, interleaved = false;
  int64_t heads = 0, size = 0, rotated = 0;
};
Result<RotaryShape> ReadRotary(const ir::Node& node, const Shape& x, const Shape& cosines);

}  // namespace fettle::ops
