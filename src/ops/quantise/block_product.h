// BlockMatMul: rows that are rounded to bytes in blocks, times weights of few bits in blocks.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "ir/graph.h"
#include "tensor/shape.h"

namespace fettle::ops {

/// Y [.., n] of A [.., k], codes [n, k] (u4 or u8), and f32 or f16 scales and minima [n, k /
/// block]: what
/// language models multiply by (GGUF, MatMulNBits with `accuracy_level` 4). A weight is
/// scale * code + minimum; each block of a row of A is rounded to bytes (RoundBlock), so that
///   y = sum over blocks of step * (scale * sum(byte * code) + minimum * sum(byte)).
struct BlockProduct {
  int64_t rows = 0, n = 0, k = 0, block = 0;  // rows: of A, over all leading axes
  int64_t blocks() const { return k / block; }
};
/// `shapes` are those of the four inputs. Fails with kInvalidModel where they do not fit.
Result<BlockProduct> ReadBlockProduct(const ir::Node& node, std::span<const Shape> shapes);

/// The longest block: sums of its products fit 16 bits where codes have 4.
inline constexpr int64_t kMaxProductBlock = 32;

}  // namespace fettle::ops
