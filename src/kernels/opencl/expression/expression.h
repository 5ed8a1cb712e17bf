// Element-wise nodes of a group as OpenCL C over four values at a time: epilogues of convolutions
// and matrix products, and chains of their own.
//
// In prepare: Compile(group, states, anchor's value); packs join the kernel's own; text() goes in
// front of a program that includes expression.clh and takes EXPRESSION_PARAMS after its own
// parameters. In Launch: AppendArgs after the kernel's own arguments.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/expr/expr.h"
#include "kernels/opencl/launch.h"

namespace fettle::kernels {

/// Immutable. Equal texts are equal programs: shapes, strides and the model's numbers are
/// arguments.
class Expression {
 public:
  /// Compiles `expr`, which `group` was lowered to, for its output: in pixels (NCHW4c or NC4HW4) or
  /// row-major, of the running value's shape; operands are in the state that StateBeside gives. A
  /// second output is of the same shape, and no state is asked of it (FINISH_BOTH). Operands
  /// broadcast; a bound operand beside pixels has their rank or one element. Fails with
  /// kUnsupported and the reason.
  static Result<Expression> Compile(const expr::Expr& expr, const ir::Graph& group,
                                    const StateAssignment& states);
  /// Lowers the group first (expr::Lower).
  static Result<Expression> Compile(const ir::Graph& group, const StateAssignment& states,
                                    ir::ValueId running = ir::kAbsent);

  /// Nothing follows `running`: no text, packs or arguments.
  bool is_identity() const { return text_.empty(); }
  const std::string& text() const { return text_; }
  const std::vector<PackRequest>& packs() const { return packs_; }
  /// The output's state with the storage of the float values: what AccessOptions needs.
  const State& like() const { return like_; }
  /// `args.packed` holds the expression's from `first_pack` on.
  void AppendArgs(const LaunchArgs& args, size_t first_pack, ArgList& list) const;

  /// Row-major outputs: what FINISH_ROWS counts. With a running value a column is an index in the
  /// output's last dimension, without one as many inner dimensions are joined as all operands walk
  /// alike.
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }

 private:
  friend class ExpressionCompiler;

  struct Operand {
    int input = -1;  // in the group's inputs, or
    int pack = -1;   // in packs_, or
    std::optional<cl_float> number;
    int64_t unit_bytes = 0;
    bool takes_dims = false;       // pixels: passes `dims`
    cl_int4 dims{};                // pixels: channel blocks, height, width, batch
    std::vector<int64_t> strides;  // rows: of the output's dimensions, then of the joined ones
  };

  State like_;
  std::string text_;
  std::vector<PackRequest> packs_;
  std::vector<Operand> operands_;
  bool is_rows_ = false;
  cl_int channels_ = 0;  // pixels
  int64_t rows_ = 1, columns_ = 1;
  std::vector<int64_t> extents_;  // rows: outermost first, the columns last
};

/// How expressions call an element type in OpenCL C, floats storage_t; empty: they neither read nor
/// write it.
std::string_view ElementTypeName(DType type);

}  // namespace fettle::kernels
