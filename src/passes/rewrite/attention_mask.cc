#include "passes/rewrite/attention_mask.h"

#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "base/memory_budget.h"

namespace fettle::passes {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

/// What masked scores get: so little that nothing is left of them behind a Softmax, and finite, so
/// that queries that see no key stay numbers. Scores may be added to it.
double Masked(DType dtype) { return dtype == DType::kF16 ? -32768 : -1e38; }

bool Sees(const ops::AttentionShape& a, int64_t query, int64_t key) {
  const int64_t position = a.past + query;
  return !(a.causal && key > position) && !(a.left_window >= 0 && key < position - a.left_window) &&
         !(a.right_window >= 0 && key > position + a.right_window);
}

class MaskBuilder {
 public:
  MaskBuilder(TypedNodes& nodes, const ops::AttentionShape& a)
      : nodes_(nodes),
        a_(a),
        mask_(nodes.like().input(3)),
        lengths_(nodes.like().input(6)),
        is_ordered_(a.causal || a.left_window >= 0 || a.right_window >= 0) {}

  Result<ScoreMask> Build() {
    if (mask_ == ir::kAbsent && lengths_ == ir::kAbsent && !is_ordered_) return ScoreMask{};
    // Queries stand at the end of the valid keys of a cache of fixed size.
    const bool is_shifted = lengths_ != ir::kAbsent && a_.past == 0;
    if (is_ordered_ && !is_shifted) RETURN_IF_ERROR(AddOrder());
    if (lengths_ != ir::kAbsent) AddLengths(is_ordered_ && is_shifted);
    return mask_ == ir::kAbsent ? OfOrder() : OfMask();
  }

 private:
  /// Which keys each query sees by its position: [queries, keys] of bool.
  Status AddOrder() {
    const auto pairs = Shape{a_.queries, a_.keys}.CheckedElements();
    if (!pairs) return Unsupported("a mask of {} queries and {} keys", a_.queries, a_.keys);
    RETURN_IF_ERROR(MemoryBudget::Current()->Check(*pairs * int64_t{sizeof(double)}));
    std::vector<double> sees;
    sees.reserve(a_.queries * a_.keys);
    for (int64_t query = 0; query < a_.queries; ++query) {
      bool any = false;
      for (int64_t key = 0; key < a_.keys; ++key) {
        sees.push_back(Sees(a_, query, key) ? 1 : 0);
        any |= sees.back() != 0;
      }
      all_see_ &= any;
    }
    ASSIGN_OR_RETURN(Constant order, ConstantFrom(DType::kBool, Shape{a_.queries, a_.keys}, sees));
    order_ = nodes_.editor().AddConstant(std::move(order));
    return OkStatus();
  }

  /// Adds to the order which keys are valid, and by the positions that follow from that, where
  /// `is_shifted`, which of them each query sees: [batch, 1, queries | 1, keys].
  void AddLengths(bool is_shifted) {
    std::vector<int64_t> positions(a_.keys), from_end(a_.queries);
    std::iota(positions.begin(), positions.end(), 0);
    std::iota(from_end.begin(), from_end.end(), -a_.queries);
    keys_ = nodes_.editor().AddConstant(IntsConstant(positions));
    const ir::ValueId ends =
        nodes_.AddOf(DType::kI64, "Reshape"_op, {lengths_, nodes_.Ints({a_.batch, 1, 1, 1})},
                     {a_.batch, 1, 1, 1});
    AddSeen("Less"_op, ends);
    all_see_ = false;
    if (!is_shifted) return;
    const ir::ValueId shifts =
        nodes_.editor().AddConstant(IntsConstant(from_end).Reshaped(Shape{1, 1, a_.queries, 1}));
    const ir::ValueId own =
        nodes_.AddOf(DType::kI64, "Add"_op, {ends, shifts}, Joined(ends, shifts));
    if (a_.causal) AddSeen("LessOrEqual"_op, own);
    if (a_.left_window >= 0) AddSeen("GreaterOrEqual"_op, Moved(own, -a_.left_window));
    if (a_.right_window >= 0) AddSeen("LessOrEqual"_op, Moved(own, a_.right_window));
  }
  ir::ValueId Moved(ir::ValueId position, int64_t by) {
    return nodes_.AddOf(DType::kI64, "Add"_op, {position, nodes_.Ints({by})},
                        nodes_.ShapeOf(position).dims());
  }
  /// Of the keys those remain that compare so with `bound`.
  void AddSeen(ir::OpRef compare, ir::ValueId bound) {
    const ir::ValueId seen =
        nodes_.AddOf(DType::kBool, compare, {keys_, bound}, Joined(keys_, bound));
    order_ = order_ == ir::kAbsent
                 ? seen
                 : nodes_.AddOf(DType::kBool, "And"_op, {order_, seen}, Joined(order_, seen));
  }

  Result<ScoreMask> OfOrder() {
    ScoreMask made;
    ASSIGN_OR_RETURN(made.added, Where(order_));
    if (!all_see_) made.seen = Seen(order_);
    return made;
  }

  Result<ScoreMask> OfMask() {
    // The masks of com.microsoft add finite numbers, so every query sees a key.
    if (order_ == ir::kAbsent && nodes_.editor().Producer(mask_, "AttentionMask"_op) != nullptr)
      return ScoreMask{.added = mask_};
    const Dims dims = nodes_.ShapeOf(mask_).dims();
    const bool is_bool = nodes_.editor().value(mask_).dtype == DType::kBool;
    ir::ValueId visible = mask_;
    if (!is_bool) {
      ASSIGN_OR_RETURN(const ir::ValueId infinity, nodes_.Number(kMinusInfinity));
      visible = nodes_.AddOf(DType::kBool, "Greater"_op, {mask_, infinity}, dims);
    }
    if (order_ != ir::kAbsent)
      visible = nodes_.AddOf(DType::kBool, "And"_op, {visible, order_}, Joined(visible, order_));
    ScoreMask made;
    made.seen = Seen(visible);
    if (is_bool) {
      ASSIGN_OR_RETURN(made.added, Where(visible));
      return made;
    }
    ASSIGN_OR_RETURN(const ir::ValueId least, nodes_.Number(Masked(nodes_.dtype())));
    made.added = nodes_.Add("Max"_op, {mask_, least}, dims);
    if (order_ == ir::kAbsent) return made;
    ASSIGN_OR_RETURN(const ir::ValueId order, Where(order_));
    made.added = nodes_.Add("Add"_op, {made.added, order}, Joined(made.added, order));
    return made;
  }

  Result<ir::ValueId> Where(ir::ValueId visible) {
    ASSIGN_OR_RETURN(const ir::ValueId zero, nodes_.Number(0));
    ASSIGN_OR_RETURN(const ir::ValueId masked, nodes_.Number(Masked(nodes_.dtype())));
    return nodes_.Add("Where"_op, {visible, zero, masked}, nodes_.ShapeOf(visible).dims());
  }

  ir::ValueId Seen(ir::ValueId visible) {
    Dims dims = nodes_.ShapeOf(visible).dims();
    const ir::ValueId ones =
        nodes_.Add("Cast"_op, {visible}, dims, {{"to", std::string(DTypeName(nodes_.dtype()))}});
    dims.back() = 1;
    return nodes_.Add("ReduceMax"_op, {ones, nodes_.Ints({-1})}, dims);
  }

  Dims Joined(ir::ValueId a, ir::ValueId b) const {
    return BroadcastShapes(nodes_.ShapeOf(a), nodes_.ShapeOf(b))->dims();
  }

  TypedNodes& nodes_;
  const ops::AttentionShape& a_;
  ir::ValueId mask_, lengths_, order_ = ir::kAbsent;
  ir::ValueId keys_ = ir::kAbsent;  // their positions
  bool is_ordered_, all_see_ = true;
};

}  // namespace

Result<ScoreMask> MaskScores(TypedNodes& nodes, const ops::AttentionShape& a) {
  return MaskBuilder(nodes, a).Build();
}

}  // namespace fettle::passes
