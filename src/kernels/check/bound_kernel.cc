#include "kernels/check/bound_kernel.h"

#include <algorithm>
#include <cstring>

#include "kernels/check/state_map.h"

namespace fettle::kernels {
namespace {

std::vector<Operand> OperandList(const ir::Graph& group, const std::vector<ir::ValueId>& ids,
                                 const std::vector<State>& states) {
  std::vector<Operand> operands;
  for (size_t i = 0; i < ids.size(); ++i) {
    const ir::Value& value = group.value(ids[i]);
    operands.push_back({*value.shape, value.dtype, states[i]});
  }
  return operands;
}

Status AllocateAll(const std::vector<Operand>& operands, bool misaligned,
                   std::vector<GuardedBlock>& blocks) {
  blocks.resize(operands.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    const State& state = operands[i].state;
    const int64_t shift = misaligned && state.external ? ByteSize(state.storage) : 0;
    RETURN_IF_ERROR(blocks[i].Resize(StateBytes(operands[i].shape, state), shift));
  }
  return OkStatus();
}

}  // namespace

Operands OperandsOf(const Problem& problem) {
  const ir::Graph& group = *problem.group;
  return {OperandList(group, group.inputs, problem.states.inputs),
          OperandList(group, group.outputs, problem.states.outputs)};
}

Status Allocate(const Operands& operands, bool misaligned, OperandMemory& memory) {
  RETURN_IF_ERROR(AllocateAll(operands.inputs, misaligned, memory.inputs));
  return AllocateAll(operands.outputs, misaligned, memory.outputs);
}

Result<BoundKernel> BoundKernel::Bind(std::unique_ptr<PreparedKernel> kernel, Operands operands,
                                      const ir::Graph* group,
                                      std::shared_ptr<OperandMemory> memory) {
  BoundKernel bound;
  bound.kernel_ = std::move(kernel);
  bound.operands_ = std::move(operands);
  bound.memory_ = std::move(memory);
  if (group != nullptr) RETURN_IF_ERROR(bound.Pack(*group));
  RETURN_IF_ERROR(bound.workspace_.Resize(bound.kernel_->workspace_bytes()));
  bound.PutInPlace(nullptr);
  return bound;
}

Status BoundKernel::Pack(const ir::Graph& group) {
  for (const PackRequest& request : kernel_->packs()) {
    std::vector<const Constant*> constants;
    for (ir::ValueId id : request.constants) constants.push_back(group.value(id).constant.get());
    GuardedBlock block;
    RETURN_IF_ERROR(block.Resize(request.bytes));
    block.Fill(kPoison);
    RETURN_IF_ERROR(request.pack(constants, block.data()));
    if (!block.Intact())
      return Error(StatusCode::kInternal, "packing '{}' wrote next to its memory", request.recipe);
    packed_.push_back(std::move(block));
  }
  return OkStatus();
}

int64_t BoundKernel::packed_bytes() const {
  int64_t bytes = 0;
  for (const GuardedBlock& block : packed_) bytes += block.bytes();
  return bytes;
}

bool BoundKernel::LaunchesNothing() const {
  std::vector<bool> written(operands_.outputs.size(), true);
  for (const Alias& alias : kernel_->aliases()) {
    if (alias.is_view) written[static_cast<size_t>(alias.output)] = false;
  }
  for (size_t o = 0; o < written.size(); ++o) {
    if (written[o] && operands_.outputs[o].shape.elements() > 0) return false;
  }
  return true;
}

bool BoundKernel::PutInPlace(const Alias* in_place) {
  const size_t outputs = operands_.outputs.size();
  input_locations_.clear();
  output_locations_.clear();
  packed_locations_.clear();
  shares_.assign(outputs, false);
  for (const GuardedBlock& block : memory_->inputs) input_locations_.push_back({block.data()});
  for (const GuardedBlock& block : memory_->outputs) output_locations_.push_back({block.data()});
  for (const GuardedBlock& block : packed_) packed_locations_.push_back({block.data()});
  const auto share = [&](const Alias& alias) {
    const auto output = static_cast<size_t>(alias.output);
    output_locations_[output] = {memory_->inputs[static_cast<size_t>(alias.input)].data(),
                                 alias.byte_offset};
    shares_[output] = true;
  };
  for (const Alias& alias : kernel_->aliases()) {
    if (alias.is_view) share(alias);
  }
  if (in_place == nullptr) return true;
  if (memory_->outputs[static_cast<size_t>(in_place->output)].bytes() >
      memory_->inputs[static_cast<size_t>(in_place->input)].bytes()) {
    return false;
  }
  share(*in_place);
  return true;
}

void BoundKernel::Poison(std::byte value) const {
  for (size_t o = 0; o < memory_->outputs.size(); ++o) {
    if (!shares_[o]) memory_->outputs[o].Fill(value);
  }
  workspace_.Fill(value);
}

void BoundKernel::WriteInputs(std::span<const std::span<const std::byte>> contents,
                              CpuStream& stream) const {
  constexpr int64_t kPiece = 32 * 1024;
  for (size_t i = 0; i < contents.size(); ++i) {
    const auto bytes = static_cast<int64_t>(contents[i].size());
    stream.ParallelFor((bytes + kPiece - 1) / kPiece, [&](int64_t task, int) {
      const int64_t begin = task * kPiece;
      std::memcpy(memory_->inputs[i].data() + begin, contents[i].data() + begin,
                  static_cast<size_t>(std::min(kPiece, bytes - begin)));
    });
  }
}

Status BoundKernel::Launch(CpuStream& stream) const {
  return kernel_->Launch(
      {input_locations_, output_locations_, packed_locations_, {workspace_.data()}, stream});
}

Status BoundKernel::CheckMemory() const {
  const auto intact = [](const std::vector<GuardedBlock>& blocks, std::string_view what) {
    for (size_t i = 0; i < blocks.size(); ++i) {
      if (!blocks[i].Intact())
        return Error(StatusCode::kInternal, "wrote next to the memory of {} {}", what, i);
    }
    return OkStatus();
  };
  RETURN_IF_ERROR(intact(memory_->outputs, "output"));
  RETURN_IF_ERROR(intact(memory_->inputs, "input"));
  RETURN_IF_ERROR(intact(packed_, "packed constant"));
  if (!workspace_.Intact()) return Error(StatusCode::kInternal, "wrote next to the workspace");
  for (size_t o = 0; o < operands_.outputs.size(); ++o) {
    const Operand& operand = operands_.outputs[o];
    if (operand.state.layout.blocks.empty() || !operand.state.layout.IsDense()) continue;
    const int64_t dirty = StateMap(operand.shape, operand.state).FindDirtyPad(output(o));
    if (dirty >= 0)
      return Error(StatusCode::kInternal,
                   "pad lanes of output {} are not zero, first at element {}", o, dirty);
  }
  return OkStatus();
}

}  // namespace fettle::kernels
