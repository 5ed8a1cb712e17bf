// Which blocks of an arena live at a step, told to builds that mark memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensor/dtype.h"

namespace fettle::exec {

/// A block of an arena that holds something during steps [first, last].
struct ArenaBlock {
  int64_t offset = 0, bytes = 0;
  int first = 0, last = 0;
};

/// The image of `index` among those of its storage type is first written for a tensor by step
/// `first`.
struct ImageLife {
  DType storage = DType::kF32;
  int index = 0;
  int first = 0;
};

/// For one run after the other. Does nothing where memory is not marked (base/memory_marks.h).
class ArenaMarks {
 public:
  /// All of the arena holds nothing. `blocks` must outlive it.
  ArenaMarks(const std::vector<ArenaBlock>& blocks, std::byte* arena, int64_t arena_bytes);

  /// Bytes that step `index` is the first to write are fresh; bytes that step `index - 1` was the
  /// last to read hold nothing.
  void Begin(size_t index) {
    if (is_on_) Mark(static_cast<int>(index));
  }

 private:
  void Mark(int index);

  bool is_on_;
  std::byte* arena_;
  const std::vector<ArenaBlock>& blocks_;
};

}  // namespace fettle::exec
