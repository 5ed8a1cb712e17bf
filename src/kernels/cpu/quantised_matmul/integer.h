// A MatMulInteger of any operands and zero points, or a ConvInteger of computed filters, and what
// makes it ready.
#pragma once

#include <memory>

#include "kernels/cpu/operands.h"
#include "kernels/cpu/quantised_matmul/sum_scale.h"
#include "kernels/match/conv.h"
#include "kernels/match/product.h"

namespace fettle::kernels {

struct IntegerSide {
  size_t operand = 0;  // of the node; its zero points are operand + 2
  bool is_left = false;
  bool is_signed = false;
  int64_t zeros = 0;  // how many there are

  /// What a byte of the model is more than the number that kernels multiply in its place.
  int32_t Shift(bool wide) const {
    if (wide) return 0;
    if (is_left) return is_signed ? -128 : 0;
    return is_signed ? 0 : 128;
  }
  /// The zero point at `i`.
  int32_t Zero(const NodeOperands& operands, const LaunchArgs& args, int64_t i) const {
    if (zeros == 0) return 0;
    const auto byte = static_cast<uint8_t>(operands.input(args, operand + 2)[zeros == 1 ? 0 : i]);
    return is_signed ? static_cast<int8_t>(byte) : byte;
  }
};

struct IntegerProduct {
  Product p;
  IntegerSide a, b;
  /// Where the node is a convolution: the filters of a group are A, its windows' columns B.
  std::optional<ConvGeometry> windows;
  bool constant_filters = false;  // of a convolution

  int64_t a_matrices() const {
    int64_t count = 0;
    for (const Product::Batch& batch : p.batches) count = std::max(count, batch.a + 1);
    return count;
  }
};

/// The product that a group begins with, or is, if it is a convolution. Fails with kUnsupported
/// where it begins with another node, or where more follows than SumScale reads.
Result<IntegerProduct> ReadIntegerGroup(const ir::Graph& group, const Device& device);
/// Row-major states; the operands of each side may be the caller's memory.
Result<std::vector<StateAssignment>> IntegerStates(const ir::Graph& group,
                                                   const IntegerProduct& product,
                                                   const Device& device);

/// By vectors. `scale`: of what follows the product.
std::unique_ptr<PreparedKernel> MakeIntegerVectors(const Problem& problem,
                                                   const IntegerProduct& product,
                                                   std::optional<SumScale> scale);
/// By matrix tiles (Intel AMX), where IntegerTilesFit.
bool IntegerTilesFit(const IntegerProduct& product);
std::unique_ptr<PreparedKernel> MakeIntegerTiles(const Problem& problem,
                                                 const IntegerProduct& product);

}  // namespace fettle::kernels
