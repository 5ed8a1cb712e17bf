// The base of the CPU's kernels: scratch memory that is declared once, and a launch that finds it.
#pragma once

#include <cstdint>

#include "device/cpu/cpu_device.h"
#include "kernels/kernel.h"

namespace fettle::kernels {

/// Scratch memory of a launch: elements that all lanes share, or that each lane has of its own.
/// A piece begins at a cache line.
template <typename T>
struct RunScratch {
  int64_t offset = 0;
};
template <typename T>
struct LaneScratch {
  int64_t offset = 0;
};

/// A launch on the CPU.
struct CpuLaunch : LaunchArgs {
  CpuStream& stream;
  int64_t lanes_at = 0, lane_bytes = 0;  // of the scratch that each lane has of its own

  template <typename T>
  T* At(RunScratch<T> piece) const {
    return reinterpret_cast<T*>(workspace.host<std::byte>() + piece.offset);
  }
  template <typename T>
  T* At(LaneScratch<T> piece, int lane) const {
    return reinterpret_cast<T*>(workspace.host<std::byte>() + lanes_at + lane * lane_bytes +
                                piece.offset);
  }
};

/// A kernel declares its scratch when it is made, as a rule where the member that keeps the piece
/// is declared:
///
///   LaneScratch<float> row_ = PerLane<float>(columns_);
///
/// and finds it with CpuLaunch::At while it runs.
class CpuKernel : public PreparedKernel {
 public:
  int64_t workspace_bytes() const final { return shared_bytes_ + lanes_ * lane_bytes_; }
  Status Launch(const LaunchArgs& args) const final;

 protected:
  /// Without scratch for each lane, or with it for as many: those of the problem, as a rule.
  CpuKernel() = default;
  explicit CpuKernel(int lanes) : lanes_(lanes) {}

  /// Drops all scratch, so that scratch for other extents can be declared.
  void ForgetScratch(int lanes) {
    lanes_ = lanes;
    zero_bytes_ = shared_bytes_ = lane_bytes_ = 0;
  }

  /// PreparedKernel::Launch.
  virtual Status Run(const CpuLaunch& args) const = 0;

  /// The most lanes that a launch has.
  int lanes() const { return lanes_; }

  /// Room for `count` elements with undefined contents.
  template <typename T>
  RunScratch<T> PerRun(int64_t count) {
    return {Add(shared_bytes_, count * static_cast<int64_t>(sizeof(T)))};
  }
  template <typename T>
  LaneScratch<T> PerLane(int64_t count) {
    return {Add(lane_bytes_, count * static_cast<int64_t>(sizeof(T)))};
  }
  /// As PerRun, zero when a launch begins. Once in a kernel, before its other pieces.
  template <typename T>
  RunScratch<T> Zeroed(int64_t count) {
    const RunScratch<T> piece = PerRun<T>(count);
    zero_bytes_ = shared_bytes_;
    return piece;
  }

 private:
  static int64_t Add(int64_t& bytes, int64_t more);

  int lanes_ = 0;
  int64_t zero_bytes_ = 0, shared_bytes_ = 0, lane_bytes_ = 0;
};

}  // namespace fettle::kernels
