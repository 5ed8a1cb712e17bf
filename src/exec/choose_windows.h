// Tensors that are written where a later step would only copy them to.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "exec/memory_plan.h"

namespace fettle::exec {

/// A tensor whose bytes are part of another tensor's, and how far behind its beginning they begin.
struct TensorWindow {
  int tensor = 0;
  int of = 0;
  int64_t byte_offset = 0;
};

/// Chooses which inputs of joining steps (kernels::JoinsWindows) are windows of those steps'
/// outputs, and tells the kernels that make them. Such a tensor is made by a step that can write a
/// window, and only the joining step reads it. `kernels` holds one kernel for each step, or null.
/// The kernel of a step that has nothing left to do becomes null.
std::vector<TensorWindow> ChooseWindows(
    const Plan& plan, std::span<std::shared_ptr<kernels::PreparedKernel>* const> kernels);

/// What memory is laid out for.
struct MemoryNeeds {
  std::span<const std::vector<kernels::Alias>> aliases;  // by step
  std::span<const int64_t> workspaces;                   // bytes, by step
  std::span<const TensorWindow> windows;
  std::span<const int64_t> bytes;  // by tensor
};
class MemoryOutline;
/// PlanMemory where windows lie in the tensors that they are windows of, and tensors of other
/// sizes. `outline`: receives the plan's outline; may be null.
MemoryPlan PlanMemory(const Plan& plan, std::span<const DeviceKind> devices,
                      const MemoryNeeds& needs, MemoryOutline* outline = nullptr);

/// Bytes of each tensor of `plan` in its state.
std::vector<int64_t> TensorBytes(const Plan& plan);

}  // namespace fettle::exec
