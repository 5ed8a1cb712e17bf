#include "kernels/cpu/operands.h"

#include <algorithm>

#include "kernels/cpu/simd/storage.h"

namespace fettle::kernels {
namespace {

int IndexOf(const std::vector<ir::ValueId>& ids, ir::ValueId id) {
  const auto at = std::find(ids.begin(), ids.end(), id);
  return at == ids.end() ? -1 : static_cast<int>(at - ids.begin());
}

}  // namespace

NodeOperands::NodeOperands(const ir::Graph& group) {
  const ir::Node& node = group.nodes()[0];
  for (ir::ValueId id : node.inputs) {
    Source source;
    if (id != ir::kAbsent && group.value(id).is_constant()) {
      if (IndexOf(constants_, id) < 0) constants_.push_back(id);
      source.packed = IndexOf(constants_, id);
    } else if (id != ir::kAbsent) {
      source.bound = IndexOf(group.inputs, id);
    }
    inputs_.push_back(source);
  }
  for (ir::ValueId id : node.outputs)
    outputs_.push_back({id == ir::kAbsent ? -1 : IndexOf(group.outputs, id), -1});
}

std::vector<PackRequest> NodeOperands::packs(const ir::Graph& group, Pack* pack) const {
  std::vector<PackRequest> requests;
  for (ir::ValueId id : constants_) requests.push_back(pack(group, id));
  return requests;
}

const std::byte* NodeOperands::input(const LaunchArgs& args, size_t i) const {
  if (i >= inputs_.size()) return nullptr;
  const Source& source = inputs_[i];
  if (source.packed >= 0) return args.packed[source.packed].host<std::byte>();
  if (source.bound >= 0) return args.inputs[source.bound].host<std::byte>();
  return nullptr;
}

std::byte* NodeOperands::output(const LaunchArgs& args, size_t i) const {
  if (i >= outputs_.size() || outputs_[i].bound < 0) return nullptr;
  return args.outputs[outputs_[i].bound].host<std::byte>();
}

State InputState(const ir::Graph& group, const StateAssignment& states, size_t i) {
  const ir::ValueId id = group.nodes()[0].inputs[i];
  const int bound = IndexOf(group.inputs, id);
  if (bound >= 0) return states.inputs[bound];
  return {.storage = group.value(id).dtype};
}

State OutputState(const ir::Graph& group, const StateAssignment& states, size_t i) {
  const ir::ValueId id = group.nodes()[0].outputs[i];
  return states.outputs[IndexOf(group.outputs, id)];
}

PackRequest PackedAsIs(const ir::Graph& group, ir::ValueId id) {
  const Constant& constant = *group.value(id).constant;
  return {{id},
          "row",
          StorageBytes(constant.dtype(), constant.elements()),
          [](std::span<const Constant* const> constants, std::byte* out) {
            constants[0]->CopyTo(0, constants[0]->elements(), out);
            return OkStatus();
          }};
}

PackRequest PackedAsFloats(const ir::Graph& group, ir::ValueId id) {
  const Constant& constant = *group.value(id).constant;
  if (constant.dtype() != DType::kF16 && constant.dtype() != DType::kBF16)
    return PackedAsIs(group, id);
  return {{id},
          "row f32",
          StorageBytes(DType::kF32, constant.elements()),
          [](std::span<const Constant* const> constants, std::byte* out) {
            const Constant& from = *constants[0];
            std::vector<std::byte> halves(StorageBytes(from.dtype(), from.elements()));
            from.CopyTo(0, from.elements(), halves.data());
            ConvertRow(from.dtype(), halves.data(), DType::kF32, out, from.elements());
            return OkStatus();
          }};
}

Status CheckFloat(DType dtype) {
  if (dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16) return OkStatus();
  return Unsupported("{} is not computed in fp32", DTypeName(dtype));
}

StateAssignment WidenedStates(const ir::Graph& group) {
  StateAssignment states = RowMajorStates(group);
  for (std::vector<State>* some : {&states.inputs, &states.outputs}) {
    for (State& state : *some) {
      if (state.storage == DType::kF16 || state.storage == DType::kBF16)
        state.storage = DType::kF32;
    }
  }
  return states;
}

}  // namespace fettle::kernels
