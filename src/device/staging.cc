#include "device/staging.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace fettle {
namespace {

/// What a thread copies at least, and how many copy: with four the host is as fast as a bus of 54
/// GB/s, and others want to compute.
constexpr int64_t kLeastShare = int64_t{1} << 17;
constexpr int64_t kMostThreads = 4;

Location Behind(const Location& at, int64_t bytes) { return {at.base, at.offset + bytes}; }

}  // namespace

Staging::~Staging() {
  for (Slot& slot : slots_) (void)WaitFor(slot);
}

bool Staging::Reserve(int64_t bytes) {
  const int64_t size = std::min(bytes, kPiece);
  for (int64_t begin = 0; has_pinned_ && begin < std::min(bytes, kPiece * kSlots);
       begin += kPiece) {
    Slot& slot = SlotOf(begin);
    if (slot.bytes >= size) continue;
    (void)WaitFor(slot);
    slot = {.memory = copies_->Allocate(size), .bytes = size, .under_way = nullptr};
    has_pinned_ = slot.memory != nullptr;
  }
  return has_pinned_;
}

Status Staging::WaitFor(Slot& slot) {
  const PinnedCopies::Event event = std::exchange(slot.under_way, nullptr);
  return event == nullptr ? OkStatus() : copies_->Wait(event);
}

void Staging::Copy(std::byte* to, const std::byte* from, int64_t bytes) const {
  const int64_t shares = std::min(bytes / kLeastShare, kMostThreads);
  if (share_out_ == nullptr || shares < 2) {
    std::memcpy(to, from, bytes);
    return;
  }
  share_out_(shares, [&](int64_t share) {
    const int64_t begin = bytes * share / shares, end = bytes * (share + 1) / shares;
    std::memcpy(to + begin, from + begin, end - begin);
  });
}

Status Staging::Write(const Location& to, const std::byte* from, int64_t bytes) {
  for (int64_t begin = 0; begin < bytes; begin += kPiece) {
    const int64_t size = std::min(kPiece, bytes - begin);
    Slot& slot = SlotOf(begin);
    RETURN_IF_ERROR(WaitFor(slot));
    Copy(slot.memory.get(), from + begin, size);
    ASSIGN_OR_RETURN(slot.under_way, copies_->Write(Behind(to, begin), slot.memory.get(), size));
  }
  return OkStatus();
}

Status Staging::Read(std::byte* to, const Location& from, int64_t bytes) {
  int64_t asked = 0;
  for (int64_t begin = 0; begin < bytes; begin += kPiece) {
    for (; asked < bytes && asked < begin + kPiece * kSlots; asked += kPiece) {
      Slot& slot = SlotOf(asked);
      RETURN_IF_ERROR(WaitFor(slot));
      ASSIGN_OR_RETURN(slot.under_way, copies_->Read(slot.memory.get(), Behind(from, asked),
                                                     std::min(kPiece, bytes - asked)));
    }
    Slot& slot = SlotOf(begin);
    RETURN_IF_ERROR(WaitFor(slot));
    Copy(to + begin, slot.memory.get(), std::min(kPiece, bytes - begin));
  }
  return OkStatus();
}

}  // namespace fettle
