#include "runtime/bindings.h"

#include <algorithm>
#include <set>

#include "base/nearest.h"
#include "ir/value_text.h"

namespace fettle::runtime {

bool Bindings::on_device() const {
  const auto is_there = [](const TensorBuffer* buffer) {
    return buffer != nullptr && buffer->device() != nullptr;
  };
  return std::any_of(inputs.begin(), inputs.end(), is_there) ||
         std::any_of(outputs.begin(), outputs.end(), is_there);
}

bool Bindings::has_all_outputs() const {
  return !outputs.empty() && std::ranges::find(outputs, nullptr) == outputs.end();
}

std::map<std::string, Tensor> HostTensorsOf(const BufferMap& buffers) {
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, buffer] : buffers) tensors.emplace(name, buffer->host());
  return tensors;
}

Result<Bindings> BindingsOf(const ir::Graph& graph, const BufferMap& inputs,
                            const BufferMap& outputs) {
  Bindings bindings;
  for (ir::ValueId id : graph.inputs) {
    const auto found = inputs.find(graph.value(id).name);
    const bool is_bound = found != inputs.end() && found->second->device() != nullptr;
    bindings.inputs.push_back(is_bound ? found->second.get() : nullptr);
  }
  std::set<std::string_view> known;
  for (ir::ValueId id : graph.outputs) {
    const std::string& name = graph.value(id).name;
    const auto found = outputs.find(name);
    bindings.outputs.push_back(found == outputs.end() ? nullptr : found->second.get());
    known.insert(name);
  }
  for (const auto& output : outputs) {
    if (!known.contains(output.first))
      return Error(StatusCode::kNotFound, "the model has no output '{}'; it has {}", output.first,
                   NearestNames(output.first, ir::NamesOfValues(graph, graph.outputs)));
  }
  return bindings;
}

bool LastTensors::AreOf(const BufferMap& inputs, const BufferMap& outputs) const {
  if (inputs.size() != input_count_ || inputs.size() + outputs.size() != ids_.size()) return false;
  auto at = ids_.begin();
  for (const BufferMap* map : {&inputs, &outputs}) {
    for (const auto& [name, buffer] : *map) {
      if (at->second != buffer->id() || at->first != name) return false;
      ++at;
    }
  }
  return true;
}

void LastTensors::Set(const ir::Graph& graph, const BufferMap& inputs, const BufferMap& outputs,
                      Bindings bindings) {
  ids_.clear();
  for (const BufferMap* map : {&inputs, &outputs})
    for (const auto& [name, buffer] : *map) ids_.emplace_back(name, buffer->id());
  input_count_ = inputs.size();
  bindings_ = std::move(bindings);
  inputs_.clear();
  for (ir::ValueId id : graph.inputs) inputs_.push_back(inputs.at(graph.value(id).name).get());
}

void RunHolds::Release() {
  for (const auto& [buffer, writes] : held_) buffer->Release(writes);
  held_.clear();
}

Status RunHolds::Take(const BufferMap& inputs, const BufferMap& outputs) {
  RETURN_IF_ERROR(TakeAll(inputs, "input", false));
  return TakeAll(outputs, "output", true);
}

Status RunHolds::TakeAll(const BufferMap& buffers, std::string_view what, bool writes) {
  for (const auto& [name, buffer] : buffers) {
    const Status status = buffer->Acquire(writes);
    if (!status.ok()) return status.WithContext(fmt::format("{} '{}'", what, name));
    held_.emplace_back(buffer, writes);
  }
  return OkStatus();
}

Status CheckOutput(std::string_view name, const TensorBuffer& buffer, DType dtype,
                   const Shape& shape) {
  if (buffer.dtype() == dtype && buffer.shape() == shape) return OkStatus();
  return InvalidArgument("output '{}': the run gives {}[{}], the tensor set for it is {}[{}]", name,
                         DTypeName(dtype), shape.ToString(), DTypeName(buffer.dtype()),
                         buffer.shape().ToString());
}

}  // namespace fettle::runtime
