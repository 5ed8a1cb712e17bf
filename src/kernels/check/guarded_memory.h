// Memory of one operand between canaries, on the host or on a device.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "device/device.h"
#include "kernels/check/guarded_block.h"

namespace fettle::kernels {

/// The bytes of a device are seen through a copy on the host, which Fill and Write send there and
/// Fetch brings back. Host memory is its own copy: nothing is moved. Images have no canaries.
class GuardedMemory {
 public:
  /// Where the bytes of a device's buffer start: operands behind a canary, as in an arena, so that
  /// kernels that forget their offset are noticed; packed constants at the buffer's own start.
  enum class Start { kBehindCanary, kAtZero };

  /// Holds what `request` asks `device` for from now on, with undefined contents; keeps what it has
  /// where that is large enough. `shift`: as in GuardedBlock, of host memory. Fails with
  /// kOutOfMemory, or kUnsupported where the device has no such image.
  Status Resize(const MemoryRequest& request, const Device& device, Start start, int64_t shift = 0);

  /// As GuardedBlock's.
  void Share() const { block_.Share(); }
  /// What kernels take.
  Location location() const;
  /// The host's bytes, or the copy of the device's.
  std::byte* host() const { return block_.data(); }
  int64_t bytes() const { return block_.bytes(); }

  Status Fill(std::byte value, Stream& stream) const;
  Status Write(std::span<const std::byte> contents, Stream& stream) const;
  /// Sends the copy, with fresh canaries.
  Status Send(Stream& stream) const;
  /// Brings contents and canaries to the copy; waits for them.
  Status Fetch(Stream& stream) const;
  /// Brings the canaries alone.
  Status FetchCanaries(Stream& stream) const;
  /// Whether nobody wrote next to it, as of the last fetch.
  bool Intact() const { return block_.Intact(); }

 private:
  /// Bytes of the device's buffer before the operand's.
  int64_t front() const { return start_ == Start::kBehindCanary ? GuardedBlock::kGuardBytes : 0; }
  bool IsImage() const;

  GuardedBlock block_;
  std::shared_ptr<DeviceMemory> memory_;  // null: the host's
  const Device* device_ = nullptr;        // whose memory_ is
  Start start_ = Start::kBehindCanary;
};

}  // namespace fettle::kernels
