// Launches that NVIDIA's CUDA driver replays: OpenCL has no command buffers there, and a launch
// costs the host 4 to 9 us.
#pragma once

#include <atomic>
#include <memory>
#include <span>

#include "device/cuda/copies.h"
#include "device/cuda/queue.h"
#include "device/opencl/shared_blocks.h"

namespace fettle {

class OpenClDevice;
struct ChainCall;

/// Of one OpenCL device. Thread-safe.
class LaunchGraphs {
 public:
  /// First sends values from one queue to the other and back as a test. kUnsupported or
  /// kDeviceUnavailable with the reason where the device has no such graphs: another vendor's, no
  /// CUDA driver, no memory in common, or FETTLE_LAUNCH_GRAPHS=off.
  static Result<std::shared_ptr<LaunchGraphs>> Open(const OpenClDevice& device);

  SharedBlocks& memory() const { return *memory_; }
  cuda::Copies& copies() const { return *copies_; }
  /// Whether the device worked for CUDA last rather than for OpenCL. A change from one to the other
  /// takes 0.2 ms, so transfers stay with the last one.
  bool was_last() const { return was_last_.load(std::memory_order_relaxed); }
  void set_last(bool graph) {
    if (was_last() != graph) was_last_.store(graph, std::memory_order_relaxed);
  }
  Result<std::unique_ptr<cuda::Queue>> NewQueue() const { return cuda::Queue::Create(modules_); }
  /// `calls` as CUDA launches them. They refer to the kernels. kUnsupported for launches that read
  /// memory of others than memory(), images among it.
  Result<std::vector<cuda::Launch>> LaunchesOf(std::span<const ChainCall> calls) const;
  Result<cuda::Launch> LaunchOf(const ChainCall& call) const;

 private:
  LaunchGraphs(const std::shared_ptr<cuda::PrimaryContext>& context,
               std::shared_ptr<SharedBlocks> memory)
      : modules_(std::make_shared<cuda::Modules>(context)),
        copies_(std::make_shared<cuda::Copies>(context)),
        memory_(std::move(memory)) {}
  /// Whether both queues see the same values.
  Status Try(const OpenClDevice& device) const;

  std::shared_ptr<cuda::Modules> modules_;
  std::shared_ptr<cuda::Copies> copies_;
  std::shared_ptr<SharedBlocks> memory_;
  std::atomic<bool> was_last_ = false;
};

}  // namespace fettle
