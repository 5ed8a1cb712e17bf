// Groups around a Softmax between two products, brought to one form: attention.
#pragma once

#include <optional>
#include <vector>

#include "kernels/match/strided_view.h"

namespace fettle::kernels {

/// An operand as matrices of rows: elements `offset` + the place of the matrix + row * row_stride +
/// column * column_stride of a row-major value.
struct AttentionOperand {
  ir::ValueId value = ir::kAbsent;
  int64_t offset = 0, row_stride = 0, column_stride = 0;
  /// Matrices, by loops that all operands have alike.
  StridedLoops matrices;
};

/// Y = Softmax(fill(scale * Q K' + addends)) V for each of `matrices`.
struct Attention {
  AttentionOperand q, k, v, y;
  int64_t matrices = 1, queries = 0, keys = 0, qk_size = 0, v_size = 0;
  float scale = 1;
  bool nan_to_zero = false;  // rows whose Softmax would be NaN are 0
  /// [queries, keys] for each matrix, times `scale`.
  struct Addend {
    AttentionOperand operand;
    float scale = 1;
  };
  std::vector<Addend> constants;
  std::vector<Addend> masks;  // read at run time
  /// After all sums: scores become `value` where the element of a bool, [queries, keys] for each
  /// matrix, is `where`.
  struct Fill {
    AttentionOperand operand;
    bool where = true;
    float value = 0;
  };
  std::optional<Fill> fill;
};

/// Fails with kUnsupported and the reason.
Result<Attention> ReadAttention(const ir::Graph& group);

}  // namespace fettle::kernels
