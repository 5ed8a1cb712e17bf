// Memory of one operand between canaries.
#pragma once

#include <cstdint>
#include <memory>

#include "base/status.h"
#include "tensor/tensor.h"

namespace fettle::kernels {

/// The fill of memory that nobody has written: NaN in every float type, and a conspicuous value in
/// the integers.
inline constexpr std::byte kPoison{0xff};

/// Host memory as a planned tensor has it, 64-byte aligned with 64 readable bytes behind. Reading
/// the surroundings gives NaN, and writing there is noticed.
class GuardedBlock {
 public:
  /// Bytes of the canaries before the start (where nothing is shifted) and behind the end.
  static constexpr int64_t kGuardBytes = kTensorSlack;

  GuardedBlock() = default;

  /// Holds `bytes` of undefined contents and fresh canaries from now on; keeps the allocation where
  /// it is large enough. `shift` moves the start off its alignment, as that of a caller's tensor
  /// may be. Fails with kOutOfMemory.
  Status Resize(int64_t bytes, int64_t shift = 0);

  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  /// Until the next Resize all of the allocation may be used: kernels that take turns in it have
  /// operands of several sizes.
  void Share() const;
  void Fill(std::byte value) const;
  /// Whether nobody wrote next to it.
  bool Intact() const;

 private:
  std::shared_ptr<std::byte> owner_;
  int64_t capacity_ = -1;
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace fettle::kernels
