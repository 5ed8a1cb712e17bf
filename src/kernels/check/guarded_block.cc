#include "kernels/check/guarded_block.h"

#include <algorithm>
#include <cstring>

#include "base/memory_marks.h"

namespace fettle::kernels {
namespace {

constexpr int64_t kFront = GuardedBlock::kGuardBytes, kBack = GuardedBlock::kGuardBytes;
static_assert(kFront % kTensorAlignment == 0, "keeps the alignment");
constexpr std::byte kFrontCanary{0xa5};

bool AllEqual(const std::byte* bytes, int64_t count, std::byte value) {
  return std::all_of(bytes, bytes + count, [value](std::byte b) { return b == value; });
}

}  // namespace

Status GuardedBlock::Resize(int64_t bytes, int64_t shift) {
  const int64_t needed = kFront + shift + bytes;  // AllocateHost adds what is behind
  if (needed > capacity_) {
    ASSIGN_OR_RETURN(owner_, AllocateHost(needed));
    capacity_ = needed;
  }
  data_ = owner_.get() + kFront + shift;
  bytes_ = bytes;
  // What an earlier, larger operand held is nobody's.
  std::byte* const end = owner_.get() + capacity_ + kBack;
  marks::Alive(owner_.get(), end - owner_.get());
  marks::Dead(data_ + bytes + kBack, end - data_ - bytes - kBack);
  std::memset(data_ - kFront, static_cast<int>(kFrontCanary), kFront);
  std::memset(data_ + bytes, static_cast<int>(kPoison), kBack);
  return OkStatus();
}

void GuardedBlock::Share() const {
  if (owner_ != nullptr) marks::Alive(owner_.get(), capacity_ + kBack);
}

void GuardedBlock::Fill(std::byte value) const {
  if (bytes_ > 0) std::memset(data_, static_cast<int>(value), bytes_);
}

bool GuardedBlock::Intact() const {
  return data_ == nullptr || (AllEqual(data_ - kFront, kFront, kFrontCanary) &&
                              AllEqual(data_ + bytes_, kBack, kPoison));
}

}  // namespace fettle::kernels
