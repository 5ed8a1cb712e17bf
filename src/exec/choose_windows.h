// Tensors that are written where a later step would only copy them to.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "exec/memory_plan.h"

namespace fettle::exec {

/// A tensor that begins so far behind the beginning of another, and whose bytes are that one's.
struct TensorWindow {
  int tensor = 0;
  int of = 0;
  int64_t byte_offset = 0;
};

/// Chooses which inputs of joining steps (kernels::JoinsWindows) are windows of what those steps
/// write: tensors that a step makes which can write them so, that the joining step alone reads, and
/// that nobody else sees. Tells their makers. `kernels` holds one for each step, or null. The
/// kernel of a step that has nothing left to do becomes null.
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
/// PlanMemory with windows in the place of the tensors that they are, and tensors of other bytes.
/// `outline`: gets that of the plan; null: nobody wants it.
MemoryPlan PlanMemory(const Plan& plan, std::span<const DeviceKind> devices,
                      const MemoryNeeds& needs, MemoryOutline* outline = nullptr);

/// Bytes of each tensor of `plan` in its state.
std::vector<int64_t> TensorBytes(const Plan& plan);

}  // namespace fettle::exec
