// What one step of a program did and how long it took. Always recorded.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "device/launch_chain.h"
#include "kernels/kernel.h"

namespace fettle::exec {

struct StepProfile {
  std::string node;  // names of the nodes it computed, joined by '+'
  std::string op;    // their operators, joined by '+'; "Convert" for conversions
  std::string kernel;
  std::string layout_in, layout_out;  // of the first operand and result
  std::string dtype;                  // storage type of the first result
  std::string device;
  int64_t runs = 1;  // in bodies of loops; what follows is of all of them
  double ms = 0;
  int64_t macs = 0;
  int64_t bytes = 0;  // operands, constants and results, read and written once
  /// The least work of the kernel: fewer operations than two for each of `macs` where the algorithm
  /// saves some, fewer bytes where it does not read a whole operand.
  kernels::Work work;
  /// How it was launched, where a run waits for steps of devices beside the CPU; else null.
  std::shared_ptr<const LaunchForm> form;
};

/// Numbers that profiles of the steps of a program lack until somebody asks for them.
class StepNumbers {
 public:
  virtual ~StepNumbers() = default;
  virtual void Set(size_t step, StepProfile& profile) const = 0;
};

/// One step of a run: what it is (`ms` unset) and how long it took. Cheap to record.
struct StepTime {
  std::shared_ptr<const StepProfile> step;
  int64_t ns = 0;
  std::shared_ptr<const LaunchForm> form;                // as StepProfile's
  int64_t runs = 1;                                      // `ns` is of all of them
  std::shared_ptr<const StepNumbers> numbers = nullptr;  // that `step` lacks; null: none
  size_t index = 0;                                      // of the step among those of `numbers`
};

/// How long the parts of making programs took, in nanoseconds.
struct PreparationTimes {
  int64_t plan_ns = 0;     // choosing kernels
  int64_t kernels_ns = 0;  // preparing them, programs of devices included
  int64_t weights_ns = 0;  // packing constants, and bringing them to devices
  void Add(const PreparationTimes& more) {
    plan_ns += more.plan_ns;
    kernels_ns += more.kernels_ns;
    weights_ns += more.weights_ns;
  }
};

}  // namespace fettle::exec
