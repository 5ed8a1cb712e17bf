// A kernel that keeps a device busy until the host has enqueued what is to be timed behind it.
#pragma once

#include <memory>

#include "device/opencl/opencl_device.h"

namespace fettle {

class OpenClStream;

/// One work-item that computes a chain of integers. Belongs to its stream, and to one thread.
class OpenClGate {
 public:
  /// Builds the kernel and finds out, waiting, how long its steps take on the device of `stream`.
  static Result<std::unique_ptr<OpenClGate>> Create(OpenClStream& stream);

  /// Enqueues a launch of about `us` microseconds.
  Status Enqueue(double us, OpenClStream& stream) const;

 private:
  OpenClGate() = default;
  Status EnqueueSteps(double steps, OpenClStream& stream) const;
  Status Calibrate(OpenClStream& stream);

  std::shared_ptr<OpenClKernel> kernel_;
  std::shared_ptr<DeviceMemory> memory_;
  double steps_per_us_ = 0;
};

}  // namespace fettle
