#include "exec/choose_windows.h"

#include <algorithm>

#include "kernels/join_windows.h"

namespace fettle::exec {
namespace {

class Chooser {
 public:
  Chooser(const Plan& plan, std::span<std::shared_ptr<kernels::PreparedKernel>* const> kernels)
      : plan_(plan),
        kernels_(kernels),
        maker_(plan.tensors.size(), -1),
        readers_(plan.tensors.size(), 0),
        has_windows_(plan.tensors.size(), false) {
    for (size_t i = 0; i < plan.steps.size(); ++i) {
      for (int tensor : plan.steps[i].outputs) maker_[tensor] = static_cast<int>(i);
      for (int tensor : plan.steps[i].inputs) ++readers_[tensor];
    }
    for (int tensor : plan.outputs) {
      if (tensor >= 0) ++readers_[tensor];
    }
    for (const PlannedTensor& tensor : plan.tensors) {
      if (tensor.same_bytes_as >= 0) ++readers_[tensor.same_bytes_as];
    }
  }

  std::vector<TensorWindow> Run() {
    for (size_t i = 0; i < plan_.steps.size(); ++i) Join(i);
    return std::move(chosen_);
  }

 private:
  /// The inputs of a step that joins what others made.
  void Join(size_t joining) {
    const kernels::PreparedKernel* const kernel = kernels_[joining]->get();
    const kernels::JoinsWindows* const joins = kernel == nullptr ? nullptr : kernel->joins();
    if (joins == nullptr) return;
    const PlannedStep& step = plan_.steps[joining];
    const size_t before = chosen_.size();
    const std::vector<kernels::Window> windows = joins->windows();
    for (const kernels::Window& window : windows) {
      const int tensor = step.inputs[window.input];
      if (!Redirect(tensor, window.rows)) continue;
      chosen_.push_back({tensor, step.outputs[0], window.byte_offset});
      has_windows_[step.outputs[0]] = true;
    }
    if (chosen_.size() - before == windows.size() && joins->writes_nothing_else())
      kernels_[joining]->reset();
  }

  /// Whether the maker of `tensor` writes its rows so from now on.
  bool Redirect(int tensor, const kernels::WindowRows& rows) {
    if (maker_[tensor] < 0 || readers_[tensor] != 1 || has_windows_[tensor] ||
        plan_.tensors[tensor].same_bytes_as >= 0)
      return false;
    const auto maker = static_cast<size_t>(maker_[tensor]);
    kernels::PreparedKernel* const kernel = kernels_[maker]->get();
    if (kernel == nullptr || IsView(*kernel, plan_.steps[maker], tensor)) return false;
    if (rows.pitch == 0) return true;
    auto* const writer = dynamic_cast<kernels::WritesWindow*>(kernel);
    return writer != nullptr && writer->WriteApart(rows).ok();
  }

  static bool IsView(const kernels::PreparedKernel& kernel, const PlannedStep& step, int tensor) {
    const std::vector<kernels::Alias> aliases = kernel.aliases();
    return std::any_of(aliases.begin(), aliases.end(), [&](const kernels::Alias& alias) {
      return alias.is_view && step.outputs[alias.output] == tensor;
    });
  }

  const Plan& plan_;
  std::span<std::shared_ptr<kernels::PreparedKernel>* const> kernels_;
  std::vector<int> maker_;    // the step that writes a tensor; -1: none
  std::vector<int> readers_;  // how often a tensor is read, or known by another name
  std::vector<bool> has_windows_;
  std::vector<TensorWindow> chosen_;
};

}  // namespace

std::vector<TensorWindow> ChooseWindows(
    const Plan& plan, std::span<std::shared_ptr<kernels::PreparedKernel>* const> kernels) {
  return Chooser(plan, kernels).Run();
}

}  // namespace fettle::exec
