// ExpertMatMul: each row times those of several matrices that indices choose.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "ir/graph.h"
#include "tensor/shape.h"

namespace fettle::ops {

/// What mixtures of experts multiply by. Inputs
///   A       [.., k], or [.., used, k]: a row for all choices, or one for each (f32)
///   W       [experts, n, k]: floats, or codes (u4, u8)
///   chosen  [.., used]: which expert (i32 or i64); without it each row meets the one that there
///           is, or the rows of A [.., experts, k] meet one each
///   scales, minima [experts, n, k / block]: where W has codes, as those of BlockMatMul, whose
///           rounding of rows it has
///   counts  [.., used]: what each choice counts (f32)
/// Y [.., used, n] has the products; with counts Y [.., n] has their sum, each times its count; so
/// it has without choices. Kernels compute each row as they do alone, whatever rows are beside it.
struct ExpertProduct {
  enum Input : size_t { kRows, kWeights, kChosen, kScales, kMinima, kCounts };

  int64_t rows = 0, used = 0;  // rows: over all leading axes, each with `used` choices
  int64_t experts = 0, n = 0, k = 0;
  int64_t block = 0;      // 0: weights are floats
  bool chooses = true;    // there are choices
  bool own_rows = false;  // each choice has a row of its own
  bool summed = false;

  int64_t choices() const { return rows * used; }
  /// Of the row that `choice` (0 .. choices() - 1) multiplies.
  int64_t RowOf(int64_t choice) const { return own_rows ? choice : choice / used; }
  /// The expert of `choice` where the node has no input 'chosen'.
  int64_t ExpertOf(int64_t choice) const { return choice % experts; }
};
/// `shapes` are those of the node's inputs, of absent ones too. Fails with kInvalidModel where they
/// do not fit.
Result<ExpertProduct> ReadExpertProduct(const ir::Node& node, std::span<const Shape> shapes);

/// kInvalidArgument, for an index that chooses no expert.
Status NoSuchExpert(int64_t index, int64_t experts);

}  // namespace fettle::ops
