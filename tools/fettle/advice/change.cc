#include "advice/change.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "importers/onnx/tensor_file.h"

namespace fettle::tools {
namespace {

double Deviation(const Constant& constant) {
  double sum = 0;
  for (int64_t i = 0; i < constant.elements(); ++i)
    sum += constant.GetDouble(i) * constant.GetDouble(i);
  return std::sqrt(sum / static_cast<double>(std::max<int64_t>(1, constant.elements())));
}

/// The constant with what its growths add.
Result<Tensor> Grow(const Constant& from, const std::map<int, Growth>& growths, uint64_t seed) {
  Shape shape = from.shape();
  for (const auto& [axis, growth] : growths) shape[axis] = growth.size;
  ASSIGN_OR_RETURN(Tensor grown, Tensor::Create(DType::kF32, shape));
  std::mt19937_64 random(seed);
  const auto deviation = static_cast<float>(Deviation(from));
  std::normal_distribution<float> noise(0, deviation);
  const Dims strides = RowMajorStrides(from.shape());
  Dims at(static_cast<size_t>(shape.rank()));
  for (int64_t i = 0; i < shape.elements(); ++i) {
    Unravel(i, shape, at);
    int64_t index = 0;
    bool is_new = false, is_zero = false, is_one = false;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const int64_t place = at[static_cast<size_t>(axis)];
      index += place * strides[static_cast<size_t>(axis)];
      if (place < from.shape()[axis]) continue;
      is_new = true;
      is_zero |= growths.at(axis).fill == Growth::Fill::kZero;
      is_one |= growths.at(axis).fill == Growth::Fill::kOne;
    }
    float& value = grown.as<float>()[i];
    if (!is_new)
      value = static_cast<float>(from.GetDouble(index));
    else
      value = is_zero ? 0.0F : is_one ? 1.0F : noise(random);
  }
  return grown;
}

/// The kept part of a constant.
Result<Tensor> Cut(const Constant& from, const std::map<int, std::vector<int64_t>>& kept) {
  Shape shape = from.shape();
  for (const auto& [axis, indices] : kept) shape[axis] = std::ssize(indices);
  ASSIGN_OR_RETURN(Tensor part, Tensor::Create(DType::kF32, shape));
  const Dims strides = RowMajorStrides(from.shape());
  Dims at(static_cast<size_t>(shape.rank()));
  for (int64_t i = 0; i < shape.elements(); ++i) {
    Unravel(i, shape, at);
    for (const auto& [axis, indices] : kept) {
      int64_t& place = at[static_cast<size_t>(axis)];
      place = indices[static_cast<size_t>(place)];
    }
    int64_t index = 0;
    for (size_t axis = 0; axis < at.size(); ++axis) index += at[axis] * strides[axis];
    part.as<float>()[i] = static_cast<float>(from.GetDouble(index));
  }
  return part;
}

/// Adds an edit of one node to what others do to it.
Status Merge(const onnx::NodeEdit& edit, onnx::NodeEdit& all) {
  const bool is_first = !all.dropped && all.before.empty() && all.inputs.empty() &&
                        all.outputs.empty() && all.attributes.empty();
  if (!is_first && (edit.dropped || all.dropped))
    return InvalidArgument("two changes of one node exclude each other");
  if (is_first) {
    all = edit;
    return OkStatus();
  }
  all.inputs.insert(edit.inputs.begin(), edit.inputs.end());
  for (const auto& [name, value] : edit.attributes)
    all.attributes[name] = std::max(all.attributes[name], value);
  return OkStatus();
}

const Constant& ConstantOf(const Subject& subject, const Operand& operand) {
  return *subject.network.constant(subject.network.node(operand.first).inputs[operand.second]);
}

/// Gives a node another constant for one of its own.
Status ReplaceOperand(Subject& subject, const Operand& operand, const Tensor& constant,
                      std::string_view suffix, onnx::ModelEdit& edit) {
  const auto& [node, position] = operand;
  const std::string name(subject.network.node(node).inputs[position]);
  const std::string fresh = subject.names(name + std::string(suffix));
  edit.initializers.push_back(onnx::WriteTensorProto(constant, fresh));
  onnx::NodeEdit& of_node = edit.nodes[node];
  if (of_node.dropped) return InvalidArgument("two changes of one node exclude each other");
  of_node.inputs[position] = fresh;
  return OkStatus();
}

/// Drops constants that none of their readers reads any more.
void DropReplaced(const quantise::Network& network, const std::set<Operand>& replaced,
                  onnx::ModelEdit& edit) {
  for (const Operand& operand : replaced) {
    const std::string_view name = network.node(operand.first).inputs[operand.second];
    const quantise::ValueUses& uses = network.uses(name);
    const bool all = std::ranges::all_of(uses.readers, [&](size_t reader) {
      const auto& inputs = network.node(reader).inputs;
      for (size_t i = 0; i < inputs.size(); ++i)
        if (inputs[i] == name && !replaced.contains({reader, i})) return false;
      return true;
    });
    if (all && !uses.read_elsewhere) edit.dropped_initializers.emplace(name);
  }
}

}  // namespace

Result<std::string> ApplyChanges(Subject& subject, std::span<const Change* const> changes) {
  onnx::ModelEdit edit{.drops_value_infos = true};
  std::map<Operand, std::map<int, Growth>> growths;
  std::set<Operand> replaced;
  for (const Change* change : changes) {
    for (const auto& [node, of_node] : change->edits)
      RETURN_IF_ERROR(Merge(of_node, edit.nodes[node]));
    for (const auto& [operand, axes] : change->growths)
      for (const auto& [axis, growth] : axes)
        if (growths[operand][axis].size < growth.size) growths[operand][axis] = growth;
    edit.initializers.insert(edit.initializers.end(), change->initializers.begin(),
                             change->initializers.end());
    edit.dropped_initializers.insert(change->dropped_constants.begin(),
                                     change->dropped_constants.end());
  }
  for (const auto& [operand, axes] : growths) {
    ASSIGN_OR_RETURN(const Tensor grown,
                     Grow(ConstantOf(subject, operand), axes, subject.seed + operand.first));
    RETURN_IF_ERROR(ReplaceOperand(subject, operand, grown, "_wider", edit));
    replaced.insert(operand);
  }
  for (const Change* change : changes) {
    for (const auto& [operand, axes] : change->cuts) {
      if (!replaced.insert(operand).second)
        return InvalidArgument("two changes of one node exclude each other");
      ASSIGN_OR_RETURN(const Tensor part, Cut(ConstantOf(subject, operand), axes));
      RETURN_IF_ERROR(ReplaceOperand(subject, operand, part, "_trimmed", edit));
    }
  }
  DropReplaced(subject.network, replaced, edit);
  return onnx::ApplyEdit(subject.network.bytes(), edit);
}

Result<Tensor> SeededWeights(const Shape& shape, int64_t inputs, uint64_t seed) {
  ASSIGN_OR_RETURN(Tensor weights, Tensor::Create(DType::kF32, shape));
  std::mt19937_64 random(seed);
  std::normal_distribution<float> noise(0, std::sqrt(1.0F / static_cast<float>(inputs)));
  for (int64_t i = 0; i < shape.elements(); ++i) weights.as<float>()[i] = noise(random);
  return weights;
}

}  // namespace fettle::tools
