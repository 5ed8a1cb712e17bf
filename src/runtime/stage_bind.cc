// Stage: the caller's tensors in place of those of the run.
#include <algorithm>

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

std::string KeyOf(const Bindings& bindings) {
  std::string key;
  for (const auto* list : {&bindings.inputs, &bindings.outputs}) {
    for (const TensorBuffer* buffer : *list) {
      const std::optional<State> state = StateOf(buffer);
      key += (state ? StateName(*state, buffer->shape().rank()) : "-") + ";";
    }
  }
  return key;
}

}  // namespace

void Stage::BoundOutputs(const Bindings& bindings, std::vector<const TensorBuffer*>& bound) const {
  bound.assign(program_outputs_.size(), nullptr);
  for (size_t i = 0; i < bindings.outputs.size(); ++i)
    if (bindings.outputs[i] != nullptr) bound[outputs_[i].index] = bindings.outputs[i];
}

bool Stage::OutputsAreOwn(const Bindings& bindings) const {
  for (size_t i = 0; i < bindings.outputs.size(); ++i) {
    if (bindings.outputs[i] == nullptr) continue;
    if (outputs_[i].kind != Source::Kind::kProgram) return false;
    const auto shares = [&](const Source& other) {
      return other.kind == Source::Kind::kProgram && other.index == outputs_[i].index;
    };
    if (std::count_if(outputs_.begin(), outputs_.end(), shares) > 1) return false;
  }
  return true;
}

Result<bool> Stage::Bind(const Bindings& bindings, Context& context) {
  bound_ = nullptr;
  if (program_ == nullptr || control_ != nullptr || next_ != nullptr || !OutputsAreOwn(bindings))
    return false;
  for (size_t i = 0; i < bindings.outputs.size(); ++i) {
    if (bindings.outputs[i] == nullptr) continue;
    const auto& [dtype, shape] = program_output_types_[outputs_[i].index];
    const std::string& name = segment_->value(segment_->outputs[outputs_[i].index]).name;
    RETURN_IF_ERROR(CheckOutput(name, *bindings.outputs[i], dtype, shape));
  }
  if (!bindings.on_device()) return true;
  const auto is_there = [&](const TensorBuffer* buffer) {
    return buffer == nullptr || buffer->device() == nullptr ||
           devices_.Find(buffer->device()->kind()) == buffer->device();
  };
  if (!std::all_of(bindings.inputs.begin(), bindings.inputs.end(), is_there) ||
      !std::all_of(bindings.outputs.begin(), bindings.outputs.end(), is_there))
    return false;
  const std::string key = KeyOf(bindings);
  if (!bound_programs_.contains(key) && bound_programs_.size() == kMaxBoundPrograms)
    bound_programs_.clear();
  const auto [entry, is_new] = bound_programs_.try_emplace(key);
  if (is_new) {
    Result<std::unique_ptr<exec::Program>> built = BuildBound(bindings, context);
    if (built.ok()) {
      entry->second = std::move(*built);
    } else {
      Log(LogLevel::kInfo, "bound tensors go through the host: {}", built.status().message());
    }
  }
  bound_ = entry->second.get();
  return bound_ != nullptr;
}

Result<std::unique_ptr<exec::Program>> Stage::BuildBound(const Bindings& bindings,
                                                         Context& context) {
  exec::BoundStates states;
  for (const TensorBuffer* buffer : bindings.inputs) states.inputs.push_back(StateOf(buffer));
  std::vector<const TensorBuffer*> bound;
  BoundOutputs(bindings, bound);
  for (const TensorBuffer* buffer : bound) states.outputs.push_back(StateOf(buffer));
  states.copied.assign(states.outputs.size(), false);
  while (true) {
    ASSIGN_OR_RETURN(exec::Plan plan, exec::BindPlan(program_->plan(), states));
    ASSIGN_OR_RETURN(auto program, exec::Program::Build(std::move(plan), devices_, context.packed));
    // What shares its bytes with other tensors cannot be the caller's memory: it is copied there.
    bool is_whole = true;
    for (const int output : program->memory_plan().copied_outputs) {
      const size_t at = output;
      if (!states.outputs[at] || states.copied[at]) continue;
      states.copied[at] = true;
      is_whole = false;
    }
    if (is_whole) return program;
  }
}

}  // namespace fettle::runtime
