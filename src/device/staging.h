// A ring of pinned memory, by which the host's other memory is copied to and from a device piece by
// piece: the host copies one piece while others travel.
#pragma once

#include <array>
#include <memory>

#include "device/device.h"

namespace fettle {

/// The copies of a queue that nobody waits for, from and to pinned memory.
class PinnedCopies {
 public:
  /// Of a copy that may be under way.
  using Event = std::shared_ptr<void>;

  virtual ~PinnedCopies() = default;
  /// Null where there is no more.
  virtual std::shared_ptr<std::byte> Allocate(int64_t bytes) const = 0;
  virtual Result<Event> Write(const Location& to, const std::byte* from, int64_t bytes) = 0;
  virtual Result<Event> Read(std::byte* to, const Location& from, int64_t bytes) = 0;
  virtual Status Wait(const Event& event) = 0;
};

/// Of one queue, which works in order; belongs to its thread.
class Staging {
 public:
  /// `share_out` may be null (StreamOptions).
  Staging(std::unique_ptr<PinnedCopies> copies, ShareOut share_out)
      : copies_(std::move(copies)), share_out_(std::move(share_out)) {}
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Makes room for a transfer of so many bytes; false where there is no pinned memory.
  bool Reserve(int64_t bytes);
  /// Enqueues what writes `bytes` of the host, which it has read when it returns.
  Status Write(const Location& to, const std::byte* from, int64_t bytes);
  /// The reverse; waits until the bytes are there.
  Status Read(std::byte* to, const Location& from, int64_t bytes);

  static constexpr int64_t kPiece = int64_t{2} << 20;
  static constexpr int64_t kSlots = 4;

 private:
  struct Slot {
    std::shared_ptr<std::byte> memory;
    int64_t bytes = 0;
    PinnedCopies::Event under_way;  // of the last piece; null: it has arrived
  };
  Slot& SlotOf(int64_t begin) { return slots_[begin / kPiece % kSlots]; }
  Status WaitFor(Slot& slot);
  void Copy(std::byte* to, const std::byte* from, int64_t bytes) const;

  std::unique_ptr<PinnedCopies> copies_;
  ShareOut share_out_;
  std::array<Slot, kSlots> slots_;  // each transfer begins at the first
  bool has_pinned_ = true;          // as far as is known
};

}  // namespace fettle
