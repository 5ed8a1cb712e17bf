#include "passes/rewrite/attention_mask.h"

#include <limits>
#include <optional>

#include "passes/edit/constants.h"

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
  MaskBuilder(Editor& editor, const ir::Node& attention, const ops::AttentionShape& a)
      : editor_(editor),
        like_(attention),
        a_(a),
        mask_(attention.input(3)),
        dtype_(editor.value(attention.inputs[0]).dtype),
        is_ordered_(a.causal || a.left_window >= 0 || a.right_window >= 0) {}

  Result<ScoreMask> Build() {
    if (mask_ == ir::kAbsent && !is_ordered_) return ScoreMask{};
    if (is_ordered_) RETURN_IF_ERROR(AddOrder());
    if (mask_ == ir::kAbsent) return OfOrder();
    return OfMask();
  }

 private:
  /// Which keys each query sees by its position: [queries, keys] of bool.
  Status AddOrder() {
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
    order_ = editor_.AddConstant(std::move(order));
    return OkStatus();
  }

  Result<ScoreMask> OfOrder() {
    ScoreMask made;
    ASSIGN_OR_RETURN(made.added, Where(order_));
    if (!all_see_) made.seen = Seen(order_);
    return made;
  }

  Result<ScoreMask> OfMask() {
    const bool is_bool = editor_.value(mask_).dtype == DType::kBool;
    ir::ValueId visible = mask_;
    if (!is_bool) {
      ASSIGN_OR_RETURN(const ir::ValueId infinity, Number(kMinusInfinity));
      visible = Add("Greater"_op, {mask_, infinity}, DType::kBool, ShapeOf(mask_));
    }
    if (order_ != ir::kAbsent)
      visible = Add("And"_op, {visible, order_}, DType::kBool, Joined(visible, order_));
    ScoreMask made;
    made.seen = Seen(visible);
    if (is_bool) {
      ASSIGN_OR_RETURN(made.added, Where(visible));
      return made;
    }
    ASSIGN_OR_RETURN(const ir::ValueId least, Number(Masked(dtype_)));
    made.added = Add("Max"_op, {mask_, least}, dtype_, ShapeOf(mask_));
    if (order_ == ir::kAbsent) return made;
    ASSIGN_OR_RETURN(const ir::ValueId order, Where(order_));
    made.added = Add("Add"_op, {made.added, order}, dtype_, Joined(made.added, order));
    return made;
  }

  Result<ir::ValueId> Where(ir::ValueId visible) {
    ASSIGN_OR_RETURN(const ir::ValueId zero, Number(0));
    ASSIGN_OR_RETURN(const ir::ValueId masked, Number(Masked(dtype_)));
    return Add("Where"_op, {visible, zero, masked}, dtype_, ShapeOf(visible));
  }

  ir::ValueId Seen(ir::ValueId visible) {
    const Shape shape = ShapeOf(visible);
    Dims rows = shape.dims();
    rows.back() = 1;
    const ir::ValueId ones =
        Add("Cast"_op, {visible}, dtype_, shape, {{"to", std::string(DTypeName(dtype_))}});
    return Add("ReduceMax"_op, {ones, editor_.AddConstant(IntsConstant({-1}))}, dtype_,
               Shape(rows));
  }

  Result<ir::ValueId> Number(double value) {
    ASSIGN_OR_RETURN(Constant number, ConstantFrom(dtype_, Shape{}, {value}));
    return editor_.AddConstant(std::move(number));
  }

  Shape ShapeOf(ir::ValueId id) const { return *editor_.value(id).shape; }
  Shape Joined(ir::ValueId a, ir::ValueId b) const {
    return *BroadcastShapes(ShapeOf(a), ShapeOf(b));
  }
  ir::ValueId Add(ir::OpRef op, std::vector<ir::ValueId> inputs, DType dtype, Shape shape,
                  ir::Attributes attributes = {}) {
    const ir::ValueId made = editor_.Add(like_, op, std::move(inputs), std::move(attributes));
    editor_.SetType(made, dtype, std::move(shape));
    return made;
  }

  Editor& editor_;
  const ir::Node& like_;
  const ops::AttentionShape& a_;
  ir::ValueId mask_, order_ = ir::kAbsent;
  DType dtype_;
  bool is_ordered_, all_see_ = true;
};

}  // namespace

Result<ScoreMask> MaskScores(Editor& editor, const ir::Node& attention,
                             const ops::AttentionShape& a) {
  return MaskBuilder(editor, attention, a).Build();
}

}  // namespace fettle::passes
