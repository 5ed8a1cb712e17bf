// Finds which keys the rows of a mask leave, so that attention computes no others.
#pragma once

#include <cstdint>
#include <span>

namespace fettle::kernels {

/// An added or replacing score at or below this leaves nothing of a key after a softmax that has
/// another score.
inline constexpr float kHiddenScore = -1e30F;

/// Rows of a mask: keys whose element is `added`, at most `limit`, are hidden, or those whose
/// `condition`, 0 or 1, is `where`. One of the two is null.
struct MaskRows {
  const float* added = nullptr;
  float limit = kHiddenScore;
  const uint8_t* condition = nullptr;
  bool where = true;
  int64_t row_stride = 0, column_stride = 0;
};

struct KeyRange {
  int64_t begin = 0, end = 0;
};

/// The keys from the first to the last of `keys` that a row sees, of rows that share a few masks:
/// all, where a row may see none, whose scores count then.
KeyRange SeenKeys(std::span<const MaskRows> masks, int64_t rows, int64_t keys);

}  // namespace fettle::kernels
