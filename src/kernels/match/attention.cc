#include "kernels/match/attention.h"

#include <algorithm>

#include "ops/op.h"
#include "ops/softmax/op.h"

namespace fettle::kernels {
namespace {

class Reader {
 public:
  explicit Reader(const ir::Graph& group) : group_(group) {}

  Result<Attention> Read() {
    const auto softmax = std::ranges::find_if(
        group_.nodes(), [](const ir::Node& node) { return node.op == "Softmax"_op; });
    if (softmax == group_.nodes().end() || group_.outputs.size() != 1)
      return Unsupported("computes Softmax between products only");
    for (const ir::Value& value : group_.values()) {
      if (value.has_concrete_shape() && value.shape->elements() == 0)
        return Unsupported("an operand without elements");
    }
    RETURN_IF_ERROR(CheckSoftmax(*softmax));
    made_.nan_to_zero = ops::NanToZero(*softmax);
    RETURN_IF_ERROR(ReadScores(softmax->inputs[0]));
    ASSIGN_OR_RETURN(const ir::Node* product, ProductBehind(softmax->outputs[0]));
    RETURN_IF_ERROR(ReadOutput(*product));
    RETURN_IF_ERROR(Align());
    for (const Attention::Addend& mask : made_.masks) {
      if (!Reads(mask.operand.value)) return Unsupported("a mask that is computed");
    }
    if (made_.fill && !ReadsFill()) return Unsupported("a condition that is computed");
    for (const AttentionOperand* operand : {&made_.q, &made_.k, &made_.v}) {
      if (!Reads(operand->value)) return Unsupported("a constant operand of a product");
    }
    return std::move(made_);
  }

 private:
  const Shape& ShapeOf(ir::ValueId id) const { return *group_.value(id).shape; }
  bool Reads(ir::ValueId id) const {
    return std::ranges::find(group_.inputs, id) != group_.inputs.end();
  }
  bool ReadsFill() const {
    const ir::ValueId id = made_.fill->operand.value;
    return Reads(id) || group_.value(id).is_constant();
  }
  const ir::Node* ProducerOf(ir::ValueId id) const {
    const auto at = std::ranges::find_if(
        group_.nodes(), [&](const ir::Node& node) { return node.output(0) == id; });
    return at == group_.nodes().end() ? nullptr : &*at;
  }
  const ir::Node* ReaderOf(ir::ValueId id) const {
    const auto at = std::ranges::find_if(group_.nodes(), [&](const ir::Node& node) {
      return std::ranges::find(node.inputs, id) != node.inputs.end();
    });
    return at == group_.nodes().end() ? nullptr : &*at;
  }

  Status CheckSoftmax(const ir::Node& softmax) const {
    const Shape& shape = ShapeOf(softmax.inputs[0]);
    if (shape.rank() < 2) return Unsupported("scores that are not matrices");
    ASSIGN_OR_RETURN(const ops::AxisMask mask, ops::SoftmaxAxes(softmax, shape.rank()));
    for (int i = 0; i < shape.rank(); ++i) {
      if (mask[i] != (i + 1 == shape.rank())) return Unsupported("a Softmax over another axis");
    }
    return OkStatus();
  }

  /// Everything up to the scores `id`: the product's operands and what is added to it.
  Status ReadScores(ir::ValueId id) {
    const ir::Node* node = ProducerOf(id);
    if (node == nullptr) return Unsupported("scores that are not the result of a product");
    if (node->op == "MatMul"_op) return ReadFirstProduct(*node);
    if (node->op->Has(ir::Trait::kKeepsBytes)) {
      RETURN_IF_ERROR(ReadScores(node->inputs[0]));
      return ReshapeScores(ShapeOf(id));
    }
    if (node->op == "Where"_op) return ReadFill(*node);
    is_last_ = false;
    if (node->op == "Add"_op) return ReadSum(*node);
    if (node->op != "Mul"_op && node->op != "Div"_op)
      return Unsupported("{} before the Softmax", node->op);
    const bool constant_first = group_.value(node->inputs[0]).is_constant();
    const size_t scores = node->op == "Mul"_op && constant_first ? 1 : 0;
    const ir::Value& number = group_.value(node->inputs[1 - scores]);
    if (!number.is_constant() || number.constant->elements() != 1)
      return Unsupported("scores are scaled by more than a number");
    RETURN_IF_ERROR(ReadScores(node->inputs[scores]));
    const double factor = number.constant->GetDouble(0);
    scale_ *= node->op == "Div"_op ? 1 / factor : factor;
    for (StridedView& addend : addends_) addend.scale *= node->op == "Div"_op ? 1 / factor : factor;
    return ReshapeScores(ShapeOf(id));
  }

  Status ReadSum(const ir::Node& node) {
    const ir::ValueId sum = node.outputs[0];
    const size_t scores = LeadsToProduct(node.inputs[0]) ? 0 : 1;
    RETURN_IF_ERROR(ReadScores(node.inputs[scores]));
    if (ShapeOf(node.inputs[scores]).dims() != ShapeOf(sum).dims())
      return Unsupported("a sum of more elements than the scores");
    const ir::ValueId addend = node.inputs[1 - scores];
    ASSIGN_OR_RETURN(const StridedView view, ViewOf(group_, addend));
    ASSIGN_OR_RETURN(StridedView broadcast, Broadcast(view, ShapeOf(addend), ShapeOf(sum)));
    addends_.push_back(std::move(broadcast));
    return OkStatus();
  }
  /// Where(condition, number, scores), or with the last two exchanged.
  Status ReadFill(const ir::Node& node) {
    if (!is_last_ || fill_) return Unsupported("masked scores (Where) that are changed again");
    const bool fills_true = !LeadsToProduct(node.inputs[1]);
    const ir::ValueId scores = node.inputs[fills_true ? 2 : 1];
    const ir::Value& number = group_.value(node.inputs[fills_true ? 1 : 2]);
    if (!number.is_constant() || number.constant->elements() != 1)
      return Unsupported("masked scores (Where) by a tensor: expected one number");
    const Shape& shape = ShapeOf(node.outputs[0]);
    if (ShapeOf(scores).dims() != shape.dims())
      return Unsupported("a condition of more elements than the scores");
    ASSIGN_OR_RETURN(const StridedView view, ViewOf(group_, node.inputs[0]));
    ASSIGN_OR_RETURN(fill_, Broadcast(view, ShapeOf(node.inputs[0]), shape));
    made_.fill = {.where = fills_true, .value = static_cast<float>(number.constant->GetDouble(0))};
    is_last_ = false;
    RETURN_IF_ERROR(ReadScores(scores));
    return ReshapeScores(shape);
  }
  bool LeadsToProduct(ir::ValueId id) const {
    const ir::Node* node = ProducerOf(id);
    if (node == nullptr) return false;
    if (node->op == "MatMul"_op) return true;
    return std::ranges::any_of(node->inputs, [this](ir::ValueId input) {
      return input != ir::kAbsent && LeadsToProduct(input);
    });
  }

  Status ReshapeScores(const Shape& shape) {
    const int rank = shape.rank();
    if (rank < 2 || shape[rank - 2] != made_.queries || shape[rank - 1] != made_.keys)
      return Unsupported("a Reshape that mixes queries and keys");
    for (StridedView& addend : addends_) {
      ASSIGN_OR_RETURN(addend, Reshaped(addend, shape));
    }
    if (fill_) {
      ASSIGN_OR_RETURN(fill_, Reshaped(*fill_, shape));
    }
    return OkStatus();
  }

  Status ReadFirstProduct(const ir::Node& node) {
    const Shape &a = ShapeOf(node.inputs[0]), &b = ShapeOf(node.inputs[1]);
    const int rank = a.rank();
    if (rank < 2 || b.rank() != rank) return Unsupported("operands of different rank");
    for (int i = 0; i < rank - 2; ++i) {
      if (a[i] != b[i]) return Unsupported("keys that several heads share");
    }
    made_.matrices = a.Count(0, rank - 2);
    made_.queries = a[rank - 2];
    made_.qk_size = a[rank - 1];
    made_.keys = b[rank - 1];
    ASSIGN_OR_RETURN(const StridedView q, ViewOf(group_, node.inputs[0]));
    ASSIGN_OR_RETURN(const StridedView k, ViewOf(group_, node.inputs[1]));
    scale_ = q.scale * k.scale;
    RETURN_IF_ERROR(Set(q, false, made_.q));
    return Set(k, true, made_.k);
  }

  Result<const ir::Node*> ProductBehind(ir::ValueId id) const {
    const ir::Node* node = ReaderOf(id);
    while (node != nullptr && node->op->Has(ir::Trait::kKeepsBytes)) {
      id = node->outputs[0];
      node = ReaderOf(id);
    }
    const Shape& shape = ShapeOf(id);
    const int rank = shape.rank();
    if (node == nullptr || node->op != "MatMul"_op || node->inputs[0] != id || rank < 2 ||
        shape[rank - 2] != made_.queries || shape[rank - 1] != made_.keys)
      return Unsupported("no product of the probabilities");
    return node;
  }

  Status ReadOutput(const ir::Node& node) {
    const Shape& p = ShapeOf(node.inputs[0]);
    const Shape& v = ShapeOf(node.inputs[1]);
    const int rank = v.rank();
    if (rank != p.rank()) return Unsupported("values of another rank");
    for (int i = 0; i < rank - 2; ++i) {
      if (v[i] != p[i]) return Unsupported("values that several heads share");
    }
    made_.v_size = v[rank - 1];
    ASSIGN_OR_RETURN(const StridedView values, ViewOf(group_, node.inputs[1]));
    if (values.scale != 1) scale_of_output_ = values.scale;
    RETURN_IF_ERROR(Set(values, false, made_.v));
    ASSIGN_OR_RETURN(const StridedView product, ViewBack(node.outputs[0]));
    return Set(product, false, made_.y);
  }

  /// The value `id` as elements of the group's output, which nodes that move make of it.
  Result<StridedView> ViewBack(ir::ValueId id) const {
    if (id == group_.outputs[0]) return WholeView(group_, id);
    const ir::Node* node = ReaderOf(id);
    if (node == nullptr) return Unsupported("more than one output");
    ASSIGN_OR_RETURN(StridedView view, ViewBack(node->outputs[0]));
    if (node->op->Has(ir::Trait::kKeepsBytes)) return Reshaped(view, ShapeOf(id));
    if (node->op != "Transpose"_op) return Unsupported("{} after the products", node->op);
    return TransposedBack(*node, std::move(view));
  }

  /// Rows and columns of a matrix are one loop each.
  static Status Set(const StridedView& view, bool transposed, AttentionOperand& operand) {
    const size_t rank = view.axes.size();
    operand.value = view.source;
    operand.offset = view.offset;
    operand.matrices = view.Loops(0, rank - 2);
    StridedLoops rows = view.Loops(rank - 2, rank - 1), columns = view.Loops(rank - 1, rank);
    if (transposed) std::swap(rows, columns);
    if (rows.size() > 1 || columns.size() > 1)
      return Unsupported("rows or columns that are not a regular loop");
    operand.row_stride = rows.empty() ? 0 : rows[0].stride;
    operand.column_stride = columns.empty() ? 0 : columns[0].stride;
    return OkStatus();
  }

  Status Align() {
    if (scale_of_output_ != 1) return Unsupported("scaled values");
    made_.scale = static_cast<float>(scale_);
    for (const StridedView& view : addends_) {
      Attention::Addend addend{.scale = static_cast<float>(view.scale)};
      RETURN_IF_ERROR(Set(view, false, addend.operand));
      const bool is_constant = group_.value(view.source).is_constant();
      (is_constant ? made_.constants : made_.masks).push_back(std::move(addend));
    }
    if (fill_) RETURN_IF_ERROR(Set(*fill_, false, made_.fill->operand));
    std::vector<StridedLoops*> lists = {&made_.q.matrices, &made_.k.matrices, &made_.v.matrices,
                                        &made_.y.matrices};
    for (std::vector<Attention::Addend>* addends : {&made_.constants, &made_.masks}) {
      for (Attention::Addend& addend : *addends) lists.push_back(&addend.operand.matrices);
    }
    if (made_.fill) lists.push_back(&made_.fill->operand.matrices);
    return AlignLoops(lists);
  }

  const ir::Graph& group_;
  Attention made_;
  double scale_ = 1, scale_of_output_ = 1;
  std::vector<StridedView> addends_;  // under the shape of the scores
  std::optional<StridedView> fill_;   // likewise
  bool is_last_ = true;               // nothing changes the scores behind what is being read
};

}  // namespace

Result<Attention> ReadAttention(const ir::Graph& group) { return Reader(group).Read(); }

}  // namespace fettle::kernels
