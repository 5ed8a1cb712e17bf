#include "kernels/check/bound_kernel.h"

#include <algorithm>
#include <cstring>

#include "base/subnormals.h"
#include "kernels/check/state_map.h"
#include "kernels/packed_images.h"

namespace fettle::kernels {
namespace {

Status AllocateAll(const std::vector<Operand>& operands, bool misaligned, const Device& device,
                   std::vector<GuardedMemory>& memory) {
  memory.resize(operands.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    const State& state = operands[i].state;
    const int64_t shift = misaligned && state.external ? StorageBytes(state.storage, 1) : 0;
    RETURN_IF_ERROR(memory[i].Resize(RequestFor(operands[i].shape, state), device,
                                     GuardedMemory::Start::kBehindCanary, shift));
  }
  return OkStatus();
}

/// The memory of `device` that is none of an operand's.
MemoryKind PlainKind(const Device& device) {
  return device.kind() == DeviceKind::kCpu ? MemoryKind::kHost : MemoryKind::kBuffer;
}

}  // namespace

Status Allocate(const Operands& operands, bool misaligned, const Device& device,
                OperandMemory& memory) {
  RETURN_IF_ERROR(AllocateAll(operands.inputs, misaligned, device, memory.inputs));
  return AllocateAll(operands.outputs, misaligned, device, memory.outputs);
}

Result<BoundKernel> BoundKernel::Bind(std::unique_ptr<PreparedKernel> kernel, Operands operands,
                                      const ir::Graph* group, std::shared_ptr<OperandMemory> memory,
                                      const Device& device) {
  BoundKernel bound;
  bound.kernel_ = std::move(kernel);
  bound.operands_ = std::move(operands);
  bound.memory_ = std::move(memory);
  if (group != nullptr) {
    ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, device.NewStream({}));
    RETURN_IF_ERROR(bound.Pack(*group, device, *stream));
  }
  RETURN_IF_ERROR(bound.workspace_.Resize(
      {.kind = PlainKind(device), .bytes = bound.kernel_->workspace_bytes()}, device,
      GuardedMemory::Start::kBehindCanary));
  bound.PutInPlace(nullptr);
  return bound;
}

Status BoundKernel::Pack(const ir::Graph& group, const Device& device, Stream& stream) {
  for (const PackRequest& request : kernel_->packs()) {
    std::vector<const Constant*> constants;
    for (ir::ValueId id : request.constants) constants.push_back(group.value(id).constant.get());
    const MemoryRequest plain{.kind = PlainKind(device), .bytes = request.bytes};
    const MemoryRequest* image = PackedImageOf(*kernel_, packed_.size());
    GuardedMemory packed;
    RETURN_IF_ERROR(
        packed.Resize(image == nullptr ? plain : *image, device, GuardedMemory::Start::kAtZero));
    RETURN_IF_ERROR(packed.Fill(kPoison, stream));
    RETURN_IF_ERROR(request.pack(constants, packed.host()));
    if (!packed.Intact())
      return Error(StatusCode::kInternal, "packing '{}' wrote next to its memory", request.recipe);
    RETURN_IF_ERROR(packed.Send(stream));
    packed_.push_back(std::move(packed));
  }
  return stream.Synchronise();
}

int64_t BoundKernel::packed_bytes() const {
  int64_t bytes = 0;
  for (const GuardedMemory& packed : packed_) bytes += packed.bytes();
  return bytes;
}

std::vector<std::span<const std::byte>> BoundKernel::packed() const {
  std::vector<std::span<const std::byte>> all;
  for (const GuardedMemory& packed : packed_)
    all.emplace_back(packed.host(), static_cast<size_t>(packed.bytes()));
  return all;
}

bool BoundKernel::LaunchesNothing() const {
  std::vector<bool> written(operands_.outputs.size(), true);
  for (const Alias& alias : kernel_->aliases()) {
    if (alias.is_view) written[alias.output] = false;
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
  output_bytes_.clear();
  shares_.assign(outputs, false);
  for (const GuardedMemory& input : memory_->inputs) input_locations_.push_back(input.location());
  for (const GuardedMemory& output : memory_->outputs) {
    output_locations_.push_back(output.location());
    output_bytes_.push_back(output.host());
  }
  for (const GuardedMemory& packed : packed_) packed_locations_.push_back(packed.location());
  const auto share = [&](const Alias& alias) {
    const size_t output = alias.output;
    const GuardedMemory& input = memory_->inputs[alias.input];
    output_locations_[output] = input.location();
    output_locations_[output].offset += alias.byte_offset;
    output_bytes_[output] = input.host() + alias.byte_offset;
    shares_[output] = true;
  };
  for (const Alias& alias : kernel_->aliases()) {
    if (alias.is_view) share(alias);
  }
  if (in_place == nullptr) return true;
  if (memory_->outputs[in_place->output].bytes() > memory_->inputs[in_place->input].bytes()) {
    return false;
  }
  share(*in_place);
  return true;
}

Status BoundKernel::Poison(std::byte value, Stream& stream) const {
  for (size_t o = 0; o < memory_->outputs.size(); ++o) {
    if (!shares_[o]) RETURN_IF_ERROR(memory_->outputs[o].Fill(value, stream));
  }
  return workspace_.Fill(value, stream);
}

Status BoundKernel::WriteInputs(std::span<const std::span<const std::byte>> contents,
                                Stream& stream) const {
  for (size_t i = 0; i < contents.size(); ++i)
    RETURN_IF_ERROR(memory_->inputs[i].Write(contents[i], stream));
  return OkStatus();
}

Status BoundKernel::Launch(Stream& stream) const {
  const SubnormalScope scope(stream.subnormals());
  return kernel_->Launch(
      {input_locations_, output_locations_, packed_locations_, workspace_.location(), stream});
}

Status BoundKernel::Fetch(Stream& stream) const {
  RETURN_IF_ERROR(stream.Synchronise());
  const bool shares = std::find(shares_.begin(), shares_.end(), true) != shares_.end();
  for (const GuardedMemory& input : memory_->inputs)
    RETURN_IF_ERROR(shares ? input.Fetch(stream) : input.FetchCanaries(stream));
  for (size_t o = 0; o < memory_->outputs.size(); ++o) {
    // What lies in an input leaves its own memory alone, whatever that holds.
    if (!shares_[o]) RETURN_IF_ERROR(memory_->outputs[o].Fetch(stream));
  }
  for (const GuardedMemory& packed : packed_) RETURN_IF_ERROR(packed.FetchCanaries(stream));
  return workspace_.FetchCanaries(stream);
}

Status BoundKernel::CheckMemory() const {
  const auto intact = [](const std::vector<GuardedMemory>& memory, std::string_view what) {
    for (size_t i = 0; i < memory.size(); ++i) {
      if (!memory[i].Intact())
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
