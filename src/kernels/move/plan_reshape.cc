// Operators that keep the row-major order of their elements, and Transpose.
#include "kernels/move/move_plan.h"
#include "ops/transpose/op.h"

namespace fettle::kernels {
namespace {

/// The axes of one side of a reshape, consumed from the innermost on, in pieces.
class AxisReader {
 public:
  explicit AxisReader(const MoveOperand& operand) : operand_(operand), next_(operand.shape.rank()) {
    Advance();
  }

  bool done() const { return left_ == 1 && next_ == 0; }
  int64_t left() const { return left_; }
  Step stride() const { return stride_; }

  /// Takes the inner `extent` elements of the current axis, which `extent` divides.
  void Take(int64_t extent) {
    left_ /= extent;
    stride_ = stride_ * extent;
    if (left_ == 1) Advance();
  }

  /// Joins the next outer axis to the current one; false where it does not continue it in memory.
  bool Join() {
    const int64_t inner = left_;
    const Step inner_stride = stride_;
    left_ = 1;
    Advance();
    if (left_ == 1 || stride_.is_blocked() || inner_stride.is_blocked() ||
        stride_.count != inner * inner_stride.count) {
      return false;
    }
    left_ *= inner;
    stride_ = inner_stride;
    return true;
  }

 private:
  /// Goes to the next outer axis of more than one element.
  void Advance() {
    while (left_ == 1 && next_ > 0) {
      --next_;
      left_ = operand_.shape[next_];
      stride_ = operand_.strides[next_];
    }
  }

  const MoveOperand& operand_;
  int next_;
  int64_t left_ = 1;
  Step stride_{1};
};

/// Cuts both shapes into the coarsest axes that each is a chain of.
Result<std::vector<Move>> PlanReshape(const MoveContext& context) {
  Move move;
  const int64_t elements = context.output(0).shape.elements();
  if (elements == 0) return std::vector<Move>{};
  AxisReader from(context.input(0)), to(context.output(0));
  while (!from.done() || !to.done()) {
    const int64_t a = from.left(), b = to.left();
    if (a % b == 0 || b % a == 0) {
      const int64_t extent = std::min(a, b);
      move.axes.insert(move.axes.begin(), MoveAxis{extent, from.stride(), to.stride()});
      from.Take(extent);
      to.Take(extent);
    } else if (!(a < b ? from.Join() : to.Join())) {
      return Unsupported("the reshape joins axes that are apart in these layouts");
    }
  }
  return std::vector<Move>{std::move(move)};
}

Result<std::vector<Move>> PlanTranspose(const MoveContext& context) {
  const MoveOperand &x = context.input(0), &y = context.output(0);
  ASSIGN_OR_RETURN(const std::vector<int> perm,
                   ops::ReadPermutation(context.node(), x.shape.rank()));
  Move move;
  for (size_t i = 0; i < perm.size(); ++i) {
    move.axes.push_back({y.shape[static_cast<int>(i)], x.strides[perm[i]], y.strides[i]});
  }
  return std::vector<Move>{std::move(move)};
}

constexpr MovePlanner kPlanners[] = {
    {"Flatten", PlanReshape}, {"Identity", PlanReshape},          {"Reshape", PlanReshape},
    {"Squeeze", PlanReshape}, {"Transpose", PlanTranspose, true}, {"Unsqueeze", PlanReshape},
};

}  // namespace

std::span<const MovePlanner> ReshapePlanners() { return kPlanners; }

}  // namespace fettle::kernels
