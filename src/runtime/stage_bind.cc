// Stage: the caller's tensors in place of those of the run.
#include <algorithm>
#include <cstring>

#include "base/log.h"
#include "exec/bind_plan.h"
#include "runtime/stage.h"

namespace fettle::runtime {
namespace {

/// How many programs for bound memory a stage keeps: callers bind the same forms again and again.
constexpr size_t kMaxBoundPrograms = 4;

std::optional<State> StateOf(const TensorBuffer* buffer) {
  if (buffer == nullptr || buffer->device() == nullptr) return std::nullopt;
  return buffer->state();
}

std::string KeyOf(const Bindings& bindings, std::span<const size_t> copies) {
  std::string key;
  for (const auto* list : {&bindings.inputs, &bindings.outputs}) {
    for (const TensorBuffer* buffer : *list) {
      const std::optional<State> state = StateOf(buffer);
      key += (state ? StateName(*state, buffer->shape().rank()) : "-") + ";";
    }
  }
  for (const size_t copy : copies) key += fmt::format("{};", copy);
  return key;
}

/// Whether `output` lies in memory at `begin`, of the host or of a device.
bool LiesIn(const TensorBuffer* output, const std::byte* begin, int64_t bytes) {
  if (output == nullptr) return false;
  if (output->device() != nullptr) return output->base() == begin;
  const int64_t own = StorageBytes(output->dtype(), output->shape().elements());
  return output->base() < begin + bytes && begin < output->base() + own;
}

}  // namespace

void Stage::BoundOutputs(const Bindings& bindings, std::vector<const TensorBuffer*>& bound) const {
  bound.assign(program_output_types_.size(), nullptr);
  for (size_t i = 0; i < bindings.outputs.size(); ++i)
    if (IsWritten(bindings, i)) bound[outputs_[i].index] = bindings.outputs[i];
}

bool Stage::IsWritten(const Bindings& bindings, size_t index) const {
  const Source& source = outputs_[index];
  if (bindings.outputs[index] == nullptr || source.kind != Source::Kind::kProgram) return false;
  // Of several with the same value, the first that is bound; what is not bound is the session's.
  for (size_t i = 0; source.is_shared && i < outputs_.size(); ++i) {
    const bool is_same = outputs_[i].is_shared && outputs_[i].index == source.index;
    if (is_same && (bindings.outputs[i] == nullptr || i < index)) return false;
  }
  return true;
}

std::pair<DType, Shape> Stage::TypeOf(const Source& source, std::span<const Tensor> inputs) const {
  if (source.kind == Source::Kind::kProgram) return program_output_types_[source.index];
  if (source.kind == Source::Kind::kConstant)
    return {source.constant->dtype(), source.constant->shape()};
  return {inputs[source.index].dtype(), inputs[source.index].shape()};
}

bool Stage::FindCopies(std::span<const Tensor> inputs, const Bindings& bindings) {
  auto& [bound, outputs, in, out, device_copies, host_copies] = operands_;
  BoundOutputs(bindings, bound);
  device_copies.clear();
  host_copies.clear();
  for (size_t i = 0; i < bindings.outputs.size(); ++i) {
    const TensorBuffer* const to = bindings.outputs[i];
    const Source& source = outputs_[i];
    const bool is_input = source.kind == Source::Kind::kInput;
    const TensorBuffer* from = is_input ? bindings.inputs[source.index] : nullptr;
    if (to == nullptr && from != nullptr) return false;  // the host has no such bytes
    if (to == nullptr || IsWritten(bindings, i)) continue;
    // Others name what does not fit.
    if (TypeOf(source, inputs) != std::pair(to->dtype(), to->shape())) return false;
    if (is_input) {
      const Tensor& input = inputs[source.index];
      const std::byte* const begin = from == nullptr ? input.data() : from->base();
      const int64_t bytes = StorageBytes(input.dtype(), input.elements());
      // What is copied behind the run is what it was before it.
      if (std::ranges::any_of(bindings.outputs, [&](const TensorBuffer* output) {
            return LiesIn(output, begin, bytes);
          }))
        return false;
    }
    if (source.kind == Source::Kind::kProgram) from = bound[source.index];
    const bool on_device =
        to->device() != nullptr || (from != nullptr && from->device() != nullptr);
    (on_device ? device_copies : host_copies).push_back(i);
  }
  return true;
}

void Stage::CopyOnHost(const Bindings& bindings) const {
  if (bindings.outputs.empty()) return;
  for (const size_t copy : operands_.host_copies) {
    const Source& source = outputs_[copy];
    const TensorBuffer& to = *bindings.outputs[copy];
    const int64_t elements = to.shape().elements();
    if (elements == 0) continue;
    if (source.kind == Source::Kind::kConstant) {
      source.constant->CopyTo(0, elements, to.base());
    } else {
      const std::byte* const from = source.kind == Source::Kind::kInput
                                        ? operands_.in[source.index]
                                        : operands_.out[source.index];
      std::memcpy(to.base(), from, StorageBytes(to.dtype(), elements));
    }
  }
}

Status Stage::CheckWritten(const Bindings& bindings) const {
  for (size_t i = 0; i < bindings.outputs.size(); ++i) {
    if (!IsWritten(bindings, i)) continue;
    const auto& [dtype, shape] = program_output_types_[outputs_[i].index];
    const std::string& name = segment_->value(segment_->outputs[outputs_[i].index]).name;
    RETURN_IF_ERROR(CheckOutput(name, *bindings.outputs[i], dtype, shape));
  }
  return OkStatus();
}

Result<bool> Stage::Bind(std::span<const Tensor> inputs, const Bindings& bindings,
                         Context& context) {
  bound_ = nullptr;
  if (program_ == nullptr || control_ != nullptr || next_ != nullptr ||
      !FindCopies(inputs, bindings))
    return false;
  RETURN_IF_ERROR(CheckWritten(bindings));
  if (!bindings.on_device()) return true;
  const auto is_there = [&](const TensorBuffer* buffer) {
    return buffer == nullptr || buffer->device() == nullptr ||
           devices_.Find(buffer->device()->kind()) == buffer->device();
  };
  if (!std::all_of(bindings.inputs.begin(), bindings.inputs.end(), is_there) ||
      !std::all_of(bindings.outputs.begin(), bindings.outputs.end(), is_there))
    return false;
  const std::string key = KeyOf(bindings, operands_.device_copies);
  if (!bound_programs_.contains(key) && bound_programs_.size() == kMaxBoundPrograms)
    bound_programs_.clear();
  const auto [entry, is_new] = bound_programs_.try_emplace(key);
  if (is_new) {
    Result<BoundProgram> built = BuildBound(bindings, context);
    if (built.ok()) {
      entry->second = std::move(*built);
    } else {
      Log(LogLevel::kInfo, "bound tensors go through the host: {}", built.status().message());
    }
  }
  if (entry->second.program != nullptr) bound_ = &entry->second;
  return bound_ != nullptr;
}

exec::BoundCopy Stage::CopyOf(const Bindings& bindings, size_t index) const {
  const Source& source = outputs_[index];
  const TensorBuffer& to = *bindings.outputs[index];
  const auto of = source.kind == Source::Kind::kInput     ? exec::BoundCopy::Of::kInput
                  : source.kind == Source::Kind::kProgram ? exec::BoundCopy::Of::kOutput
                                                          : exec::BoundCopy::Of::kConstant;
  return {of, source.index, to.state(), to.shape(), to.dtype()};
}

Result<Stage::BoundProgram> Stage::BuildBound(const Bindings& bindings, Context& context) {
  exec::BoundStates states;
  BoundProgram made;
  for (const TensorBuffer* buffer : bindings.inputs) states.inputs.push_back(StateOf(buffer));
  std::vector<const TensorBuffer*> bound;
  BoundOutputs(bindings, bound);
  for (const TensorBuffer* buffer : bound) states.outputs.push_back(StateOf(buffer));
  states.copied.assign(states.outputs.size(), false);
  for (const size_t copy : operands_.device_copies) {
    states.copies.push_back(CopyOf(bindings, copy));
    if (outputs_[copy].kind != Source::Kind::kConstant) continue;
    ASSIGN_OR_RETURN(const Tensor constant, outputs_[copy].constant->ToTensor());
    ASSIGN_OR_RETURN(
        made.constants.emplace_back(),
        bindings.outputs[copy]->device()->Upload(constant.storage(), std::ssize(constant.bytes())));
  }
  ASSIGN_OR_RETURN(made.program, BuildBound(std::move(states), context));
  return made;
}

Result<std::unique_ptr<exec::Program>> Stage::BuildBound(exec::BoundStates states,
                                                         Context& context) {
  while (true) {
    ASSIGN_OR_RETURN(exec::Plan plan, exec::BindPlan(program_->plan(), states));
    ASSIGN_OR_RETURN(auto program, exec::Program::Build(std::move(plan), devices_, context.packed));
    // What shares its bytes with other tensors cannot be the caller's memory: it is copied there.
    bool is_whole = true;
    for (const int output : program->memory_plan().copied_outputs) {
      const size_t at = output;
      if (at >= states.outputs.size() || !states.outputs[at] || states.copied[at]) continue;
      states.copied[at] = true;
      is_whole = false;
    }
    if (is_whole) return program;
  }
}

}  // namespace fettle::runtime
