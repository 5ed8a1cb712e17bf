// The choices for one group: kernels that can compute it, in which states, with reasons for those
// that cannot.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "passes/groups.h"

namespace fettle::planner {

/// How f32 values may be stored and computed: as f32; beside the CPU stored as f16 too, and factors
/// of products rounded to bf16; computed in f16 too, where the device can.
enum class Precision : uint8_t { kHigh, kNormal, kLow };
/// "high", "normal" or "low".
std::string_view PrecisionName(Precision precision);
/// The first precision that allows kernels that compute so.
Precision LeastPrecision(kernels::Arithmetic arithmetic);

/// What may be chosen from.
struct Limits {
  int threads = 1;
  /// Only scalar references (and conversions, should they need any).
  bool reference_only = false;
  /// The device whose kernels are taken before anything is measured, wherever it has one.
  DeviceKind preferred = DeviceKind::kCpu;
  /// No kernel of the CPU.
  bool accelerator_only = false;
  Precision precision = Precision::kHigh;
  /// The memory of tensors beside the CPU, where kernels support several; kHost: any.
  MemoryKind memory = MemoryKind::kHost;

  bool operator==(const Limits&) const = default;

  /// Why the precision forbids kernels of this arithmetic; empty: it allows them.
  std::string RefusalOf(kernels::Arithmetic arithmetic) const;
  /// The limits that plans depend on besides threads, as text for keys; empty where there is the
  /// CPU alone and precision is high.
  std::string policy(const DeviceSet& devices) const;
};

/// One way to compute a group.
struct Choice {
  const kernels::KernelDesc* kernel = nullptr;
  /// What the kernel makes of the group; shared by its choices.
  std::shared_ptr<const kernels::Match> match;
  int states_index = 0;  // of match->states()
  int taste = 0;         // of the kernel, for this group on its device

  const kernels::StateAssignment& states() const { return match->states()[states_index]; }
};

/// Why a kernel of `device` may not have its operands in `states`; empty: it may.
std::string RefusalOf(const kernels::StateAssignment& states, const ir::Graph& group,
                      const Device& device, const Limits& limits);

struct Rejection {
  std::string_view kernel;
  std::string reason;
};

/// A group cut out of its graph, with what can compute it: most preferred kernel first, its best
/// states first.
struct GroupChoices {
  std::vector<ir::NodeId> nodes;  // of the parent graph
  passes::Fragment fragment;
  std::vector<Choice> choices;
  /// Whether equally good kernels in several layouts are among them (kernels::kBesideBest).
  bool differ_in_layouts = false;
  std::vector<Rejection> rejected;
  /// kOutOfMemory where memory cannot hold the operands of the group; no kernel was matched then.
  Status fits;
};

/// Of all devices, those of limits.preferred first.
GroupChoices ListChoices(const ir::Graph& graph, const passes::Group& group,
                         const DeviceSet& devices, const Limits& limits);

using kernels::FindKernel;

}  // namespace fettle::planner
