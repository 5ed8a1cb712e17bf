#include "runtime/run_inputs.h"

#include <algorithm>
#include <cstring>

#include "base/nearest.h"
#include "ir/value_text.h"
#include "runtime/model.h"

namespace fettle::runtime {
namespace {

std::string GivenNames(const TensorMap& inputs) {
  std::vector<std::string> names;
  for (const auto& input : inputs) names.push_back(input.first);
  return NearestNames("", std::move(names));
}

}  // namespace

Result<std::vector<Tensor>> RunInputs::InOrder(const TensorMap& inputs) {
  std::vector<Tensor> ordered;
  ordered.reserve(graph_->inputs.size());
  for (ir::ValueId id : graph_->inputs) {
    const auto found = inputs.find(graph_->value(id).name);
    if (found == inputs.end())
      return InvalidArgument("input '{}' is missing; given: {}", graph_->value(id).name,
                             GivenNames(inputs));
    ordered.push_back(found->second);
  }
  if (inputs.size() == ordered.size() && SameTypes(ordered, checked_)) return ordered;
  RETURN_IF_ERROR(Check(inputs, ordered));
  checked_ = TypesOf(ordered);
  return ordered;
}

Status RunInputs::Check(const TensorMap& inputs, std::span<const Tensor> ordered) const {
  std::vector<Shape> shapes;
  for (size_t i = 0; i < ordered.size(); ++i) {
    const ir::Value& input = graph_->value(graph_->inputs[i]);
    if (input.dtype != DType::kUndefined && ordered[i].dtype() != input.dtype) {
      return InvalidArgument("input '{}': expected type {}, got {}", input.name,
                             DTypeName(input.dtype), DTypeName(ordered[i].dtype()));
    }
    RETURN_IF_ERROR(ir::CheckInputShape(input, ordered[i].shape()));
    shapes.push_back(ordered[i].shape());
  }
  for (const auto& input : inputs) {
    if (!IsInput(input.first))
      return InvalidArgument("the model has no input '{}'; it has {}", input.first,
                             NearestNames(input.first, Names()));
  }
  return CheckSymbols(*graph_, shapes);
}

bool RunInputs::IsInput(const std::string& name) const {
  return std::any_of(graph_->inputs.begin(), graph_->inputs.end(),
                     [&](ir::ValueId id) { return graph_->value(id).name == name; });
}

std::vector<std::string> RunInputs::Names() const {
  return ir::NamesOfValues(*graph_, graph_->inputs);
}

std::map<std::string, Shape> ShapesOf(const TensorMap& tensors) {
  std::map<std::string, Shape> shapes;
  for (const auto& [name, tensor] : tensors) shapes.emplace(name, tensor.shape());
  return shapes;
}

Result<TensorMap> CopiesOf(const TensorMap& tensors) {
  TensorMap copies;
  for (const auto& [name, tensor] : tensors) {
    ASSIGN_OR_RETURN(Tensor copy, Tensor::Create(tensor.dtype(), tensor.shape()));
    if (!tensor.bytes().empty()) std::memcpy(copy.data(), tensor.data(), tensor.bytes().size());
    copies.emplace(name, std::move(copy));
  }
  return copies;
}

Result<TensorMap> CopiesOf(const BufferMap& buffers) {
  TensorMap tensors;
  for (const auto& [name, buffer] : buffers) {
    ASSIGN_OR_RETURN(Tensor tensor, buffer->ReadToHost());
    tensors.emplace(name, std::move(tensor));
  }
  return CopiesOf(tensors);
}

}  // namespace fettle::runtime
