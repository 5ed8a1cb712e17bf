#include "importers/onnx/raise_opset.h"

#include <algorithm>
#include <array>
#include <optional>

#include "importers/onnx/attribute.h"
#include "importers/onnx/order.h"
#include "importers/onnx/tensor_file.h"

namespace fettle::onnx {
namespace {

constexpr int64_t kOldestRaised = 7;  // broadcasting

/// Operators whose nodes are nodes of opset 13 as they stand, or after the rows of kMoved and
/// kDropped. Source: the change log of ONNX's operators.
constexpr std::string_view kCarried =
    " "
    "Abs Acos Add And ArgMax ArgMin Asin Atan AveragePool BatchNormalization Cast Ceil Clip "
    "Concat Constant ConstantOfShape Conv ConvTranspose Cos CumSum DepthToSpace Div Dropout "
    "Elu Equal Erf Exp Expand EyeLike Flatten Floor GRU Gather GatherElements GatherND Gemm "
    "GlobalAveragePool GlobalMaxPool Greater GreaterOrEqual HardSigmoid Hardmax Identity "
    "InstanceNormalization IsInf IsNaN LRN LSTM LeakyRelu Less LessOrEqual Log LogSoftmax "
    "LpNormalization MatMul Max MaxPool Mean MeanVarianceNormalization Min Mod Mul Neg "
    "NonMaxSuppression NonZero Not OneHot Or PRelu Pad Pow RNN Range Reciprocal ReduceL1 "
    "ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd "
    "ReduceSum ReduceSumSquare Relu Reshape Resize Round ScatterElements ScatterND Selu Shape "
    "Shrink Sigmoid Sign Sin Size Slice Softmax Softplus Softsign SpaceToDepth Split Sqrt "
    "Squeeze Sub Sum Tan Tanh ThresholdedRelu Tile TopK Transpose Unsqueeze Where Xor ";

/// Those of them of which that holds from an opset on.
struct Since {
  std::string_view op;
  int64_t opset;
};
constexpr Since kSince[] = {
    {"MeanVarianceNormalization", 9}, {"NonMaxSuppression", 11}, {"Resize", 11}};

bool IsCarried(std::string_view op, int64_t opset) {
  const auto since = std::ranges::find(kSince, op, &Since::op);
  return kCarried.find(fmt::format(" {} ", op)) != std::string_view::npos &&
         (since == std::end(kSince) || opset >= since->opset);
}

/// An attribute that became the operand at `position` in opset `since`; one that is left out leaves
/// the operand out.
struct Moved {
  std::string_view op, attribute;
  int64_t since;
  size_t position;
};
constexpr Moved kMoved[] = {
    {"Clip", "min", 11, 1},    {"Clip", "max", 11, 2},     {"Pad", "pads", 11, 1},
    {"Pad", "value", 11, 2},   {"Slice", "starts", 10, 1}, {"Slice", "ends", 10, 2},
    {"Slice", "axes", 10, 3},  {"TopK", "k", 10, 1},       {"ReduceSum", "axes", 13, 1},
    {"Split", "split", 13, 1}, {"Squeeze", "axes", 13, 1}, {"Unsqueeze", "axes", 13, 1},
};

/// Attributes that mean nothing in an inference; `refused` is a value that does.
struct Dropped {
  std::string_view op, attribute;
  int64_t since;
  std::optional<int64_t> refused;
};
constexpr Dropped kDropped[] = {{"Dropout", "ratio", 12, std::nullopt},
                                {"BatchNormalization", "spatial", 9, 0}};

/// Their axis began a range of axes, and is one axis from opset 13 on.
constexpr std::string_view kFlattening[] = {"Hardmax", "LogSoftmax", "Softmax"};

bool Flattens(const NodeRecord& node) {
  return node.domain.empty() && !node.inputs.empty() &&
         std::ranges::find(kFlattening, node.op_type) != std::end(kFlattening);
}

Result<ir::Attribute> Decode(const NodeRecord& node, std::string_view name, bool* found) {
  for (const AttributeRecord& attribute : node.attributes) {
    if (attribute.name != name) continue;
    *found = true;
    return DecodeAttribute(attribute, nullptr, nullptr);
  }
  *found = false;
  return ir::Attribute();
}

/// A number as a tensor of f32 where it is one of floats, rank 0 but for TopK's k; lists have rank
/// 1.
Result<Tensor> AsOperand(const ir::Attribute& value) {
  if (const auto* real = std::get_if<double>(&value))
    return Tensor::FromVector<float>(Shape(), {static_cast<float>(*real)});
  if (const auto* one = std::get_if<int64_t>(&value))
    return Tensor::FromVector<int64_t>(Shape{1}, {*one});
  if (const auto* list = std::get_if<std::vector<int64_t>>(&value))
    return Tensor::FromVector<int64_t>(Shape{static_cast<int64_t>(list->size())}, *list);
  return InvalidModel("has another type than the operator's");
}

class Raiser {
 public:
  Raiser(int64_t opset, const RankOf& rank,
         const std::function<std::string(std::string)>& fresh_name, ModelEdit& edit)
      : opset_(opset), rank_(rank), fresh_name_(fresh_name), edit_(edit) {}

  Status Node(const NodeRecord& node, size_t index) {
    if (!IsCarried(node.op_type, opset_))
      return Unsupported("the operator is another one in opset {}", kRaisedOpset);
    for (const AttributeRecord& attribute : node.attributes)
      if (attribute.graph != nullptr) return Unsupported("has a sub-graph");
    RETURN_IF_ERROR(CheckAxis(node));
    for (const Moved& row : kMoved)
      if (row.op == node.op_type && opset_ < row.since) RETURN_IF_ERROR(Move(node, index, row));
    for (const Dropped& row : kDropped)
      if (row.op == node.op_type && opset_ < row.since) RETURN_IF_ERROR(Drop(node, index, row));
    return OkStatus();
  }

 private:
  Status CheckAxis(const NodeRecord& node) {
    if (!Flattens(node)) return OkStatus();
    bool found = false;
    ASSIGN_OR_RETURN(const ir::Attribute value, Decode(node, "axis", &found));
    const int64_t axis =
        found && std::holds_alternative<int64_t>(value) ? std::get<int64_t>(value) : 1;
    const int rank = rank_(node.inputs[0]);
    if (rank > 0 && (axis == rank - 1 || axis == -1)) return OkStatus();
    return Unsupported("covers several axes; from opset {} on it is one", kRaisedOpset);
  }

  Status Move(const NodeRecord& node, size_t index, const Moved& row) {
    bool found = false;
    ASSIGN_OR_RETURN(const ir::Attribute value, Decode(node, row.attribute, &found));
    if (!found) return OkStatus();
    const auto operand = AsOperand(value);
    if (!operand.ok())
      return operand.status().WithContext(fmt::format("attribute '{}'", row.attribute));
    // An empty list leaves nothing to say, as no list does.
    if (operand->elements() > 0) {
      const std::string name =
          fresh_name_(fmt::format("{}_{}", LabelOf(node, index), row.attribute));
      edit_.initializers.push_back(WriteTensorProto(*operand, name));
      edit_.nodes[index].inputs[row.position] = name;
    }
    edit_.nodes[index].dropped_attributes.emplace(row.attribute);
    return OkStatus();
  }

  Status Drop(const NodeRecord& node, size_t index, const Dropped& row) {
    bool found = false;
    ASSIGN_OR_RETURN(const ir::Attribute value, Decode(node, row.attribute, &found));
    if (!found) return OkStatus();
    const auto* one = std::get_if<int64_t>(&value);
    if (row.refused && one != nullptr && *one == *row.refused)
      return Unsupported("attribute '{}': opset {} has no {}", row.attribute, kRaisedOpset, *one);
    edit_.nodes[index].dropped_attributes.emplace(row.attribute);
    return OkStatus();
  }

  int64_t opset_;
  const RankOf& rank_;
  const std::function<std::string(std::string)>& fresh_name_;
  ModelEdit& edit_;
};

}  // namespace

int64_t OpsetOf(const ModelRecord& model) {
  for (const OpsetImport& import : model.opsets)
    if (import.domain.empty()) return import.version;
  return 1;
}

std::vector<std::string_view> RanksFor(const ModelRecord& model) {
  std::vector<std::string_view> values;
  if (OpsetOf(model) >= kRaisedOpset) return values;
  for (const NodeRecord& node : model.graph.nodes)
    if (Flattens(node)) values.push_back(node.inputs[0]);
  return values;
}

Status RaiseOpset(const ModelRecord& model, const RankOf& rank,
                  const std::function<std::string(std::string)>& fresh_name, ModelEdit& edit) {
  const int64_t opset = OpsetOf(model);
  if (opset >= kRaisedOpset) return OkStatus();
  if (opset < kOldestRaised)
    return Unsupported("opset {} cannot be raised to {}: it is older than {}", opset, kRaisedOpset,
                       kOldestRaised);
  Raiser raiser(opset, rank, fresh_name, edit);
  for (size_t i = 0; i < model.graph.nodes.size(); ++i) {
    const NodeRecord& node = model.graph.nodes[i];
    if (!node.domain.empty()) continue;
    const Status status = raiser.Node(node, i);
    if (!status.ok())
      return status.WithContext(fmt::format("opset {} cannot be raised to {}: {}", opset,
                                            kRaisedOpset, DescribeRecord(node, i, opset)));
  }
  edit.opset = kRaisedOpset;
  edit.ir_version = std::max(model.ir_version, kRaisedIr);
  edit.drops_initialised_inputs = model.ir_version < 4;
  return OkStatus();
}

}  // namespace fettle::onnx
