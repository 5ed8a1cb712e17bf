// Kernels and conversions made runnable, and timed as a network would run them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "device/cpu/cpu_device.h"
#include "device/gated_launches.h"
#include "kernels/check/bound_kernel.h"
#include "tuner/measure/interruptions.h"
#include "tuner/store/candidate.h"

namespace fettle::tuner {

/// Whether the device of `stream` works while the host does something else, so that its times
/// differ from the host's.
bool WorksApart(const Stream& stream);

/// Owns the memory that candidates run on, one problem after the other. Not synchronised.
class Workbench {
 public:
  /// `interruptions`, `await`: Patience's; `cold_constants`: MeasureOptions::cold_constants.
  Workbench(const DeviceSet& devices, std::function<int64_t()> now_ns,
            std::function<int64_t()> interruptions, std::function<void()> await,
            bool cold_constants);

  /// Prepares, packs, binds. Kernels that were bound for other operands must no longer exist.
  Result<kernels::BoundKernel> Bind(const Candidate& candidate);
  /// Kernels that were bound one after the other take turns from now on, until the next is bound.
  void TakeTurns(std::span<kernels::BoundKernel> bound);
  Result<kernels::BoundKernel> BindConversion(const kernels::Operand& from, const State& to);
  /// Whether external operands lie off their alignment, as a caller's may: while verifying. Keeps
  /// no contents.
  Status Misalign(kernels::BoundKernel& kernel, bool misaligned);

  /// The stream on which what was bound to `device` runs; of the CPU, with that many threads.
  Result<Stream*> StreamOf(DeviceKind device, int threads);

  /// Whether `device` still takes data. On some devices a kernel that wrote where it may not breaks
  /// the whole context: all later calls fail.
  Status CheckAlive(DeviceKind device);

  /// Microseconds of one launch. Right before it, the lanes that will run it are woken, constants
  /// are pushed out of the nearer caches (in a network, all other layers have run since their last
  /// use), or, where they are to be cold, out of all of them, and the inputs are written by the
  /// same lanes; where a lane loses its core meanwhile, all of it is done again (TimeUndisturbed).
  /// On another device: the share of one launch in the wall time of several, enqueued
  /// without waiting between them; behind a gate where they are so short that the host may need
  /// longer, unless the device is the host itself. What waiting costs belongs to the conversions
  /// that cross devices. There inputs are written before the first of a row of samples of one
  /// kernel alone: nothing that is timed changes them.
  Result<double> TimeUs(const kernels::BoundKernel& kernel,
                        std::span<const std::span<const std::byte>> inputs, Stream& stream);
  /// How long the host took to enqueue a launch on a device that works meanwhile: the least since
  /// the last call, because other work of the machine after a candidate was built and verified only
  /// adds to it. 0: none was timed.
  double TakeHostUs();

 private:
  void MakeReady(const kernels::BoundKernel& kernel,
                 std::span<const std::span<const std::byte>> inputs, CpuStream& stream);
  Result<double> TimeBesideCpuUs(const kernels::BoundKernel& kernel,
                                 std::span<const std::span<const std::byte>> inputs,
                                 Stream& stream);
  /// Leaves nothing of the constants in the caches of lane `lane`, or of any lane if they are cold.
  void Evict(const kernels::BoundKernel& kernel, int64_t lane, int64_t lanes) const;
  Result<const Device*> DeviceOf(DeviceKind kind) const;

  DeviceSet devices_;
  const CpuDevice& cpu_;
  CpuStream cpu_stream_;
  std::map<DeviceKind, std::unique_ptr<Stream>> streams_;  // of devices beside the CPU
  std::function<int64_t()> now_ns_;
  Patience patience_;
  GatedLaunches gated_;
  std::vector<double> host_us_;  // since TakeHostUs
  bool cold_constants_;
  std::shared_ptr<kernels::OperandMemory> memory_;
  /// The kernel whose inputs lie in memory as they were given for the last sample; null: unknown.
  const kernels::BoundKernel* written_ = nullptr;
  std::vector<std::byte> evictor_, pages_;  // read to push other things out
};

}  // namespace fettle::tuner
