// Elements as integers of the same order, and the search for small ones.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace fettle::kernels {

/// How the bits of elements become keys, signed integers: the least key comes first, NaN is the
/// largest value, both zeros are one. Elements of up to 4 bytes get int32, others int64.
struct KeyOrder {
  int64_t bytes = 4;     // of an element
  uint64_t turn = 0;     // bits of an integer that are turned over: the sign of unsigned ones
  int64_t infinity = 0;  // of floats: a magnitude beyond it is NaN; 0: integers
  bool largest = false;  // the largest value comes first

  KeyOrder(DType dtype, bool largest);
};

/// Columns of keys that FirstRowBelow looks at.
inline constexpr int64_t kKeyColumns = 16;

/// The keys of `columns` elements of each of `rows`, which lie `step` elements apart; rows of keys
/// lie `key_step` apart. Returns false where integers of 8 bytes have no keys of 4.
template <typename Key>
bool MakeKeys(const KeyOrder& order, const std::byte* x, int64_t rows, int64_t columns,
              int64_t step, int64_t key_step, Key* keys);

/// The first of the keys [begin, end) that is below `limit`; `end` where there is none.
template <typename Key>
int64_t FirstBelow(const Key* keys, int64_t begin, int64_t end, Key limit);

/// The least key of each of `groups` groups of the n keys, of which those beyond n / groups *
/// groups are in none. `groups` is a multiple of kKeyColumns.
template <typename Key>
void LeastOfGroups(const Key* keys, int64_t n, int64_t groups, Key* least);

/// The first of the rows [begin, end) of kKeyColumns keys of which one is below the limit of its
/// column; `end` where there is none.
template <typename Key>
int64_t FirstRowBelow(const Key* keys, int64_t begin, int64_t end, const Key* limits);

}  // namespace fettle::kernels
