// A ring of pinned memory by which bytes of the host's other memory go to a device and come back,
// piece by piece: the host copies one while others travel.
#pragma once

#include <array>
#include <memory>

#include "device/opencl/opencl_device.h"

namespace fettle {

/// Of one queue, which works in order; belongs to its thread.
class OpenClStaging {
 public:
  /// `device` and `queue` outlive it; `share_out` may be null (StreamOptions).
  OpenClStaging(const OpenClDevice& device, cl_command_queue queue, ShareOut share_out)
      : device_(device), queue_(queue), share_out_(std::move(share_out)) {}
  ~OpenClStaging();
  OpenClStaging(const OpenClStaging&) = delete;
  OpenClStaging& operator=(const OpenClStaging&) = delete;

  /// Makes room for a transfer of so many bytes; false where there is no pinned memory.
  bool Reserve(int64_t bytes);
  /// Enqueues what writes `bytes` of the host, which it has read when it returns; the driver's
  /// code.
  cl_int Write(cl_mem to, int64_t offset, const std::byte* from, int64_t bytes);
  /// The reverse; waits until the bytes are there.
  cl_int Read(std::byte* to, cl_mem from, int64_t offset, int64_t bytes);

  static constexpr int64_t kPiece = int64_t{2} << 20;
  static constexpr int64_t kSlots = 4;

 private:
  struct Slot {
    std::shared_ptr<std::byte> memory;
    int64_t bytes = 0;
    cl_event under_way = nullptr;  // of the last piece; null: it has arrived
  };
  Slot& SlotOf(int64_t begin) { return slots_[begin / kPiece % kSlots]; }
  cl_int WaitFor(Slot& slot) const;
  void Copy(std::byte* to, const std::byte* from, int64_t bytes) const;

  const OpenClDevice& device_;
  cl_command_queue queue_;
  ShareOut share_out_;
  std::array<Slot, kSlots> slots_;  // each transfer begins at the first
  bool has_pinned_ = true;          // as far as is known
};

}  // namespace fettle
