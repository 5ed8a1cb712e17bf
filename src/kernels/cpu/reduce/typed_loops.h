// Loops that fold rows of integers, double or floats; sums are kept in double or 64 bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/reduce/fold.h"
#include "tensor/dtype.h"

namespace fettle::kernels {

/// Results side by side that these loops hold at most.
inline constexpr int64_t kTypedColumns = 256;

/// The result of what `count` elements were folded to; null: that itself.
using TypedFinish = double (*)(double folded, double count);

/// The loops of one fold over elements of one type. `held` is memory of kTypedColumns doubles.
struct TypedLoops {
  void (*fill)(std::byte* held, int64_t columns);
  /// `n` rows of `columns` elements, `stride` of them apart, joined with what is held.
  void (*add)(const std::byte* x, int64_t n, int64_t stride, int64_t columns, std::byte* held);
  /// The second half of 2 * `columns`, joined with the first.
  void (*join)(std::byte* held, int64_t columns);
  void (*finish)(const std::byte* held, int64_t columns, TypedFinish finish, int64_t count,
                 std::byte* y);
  bool in_vectors;  // a single row, too
};

/// Of f32, f64, i32 or i64; i8 and u8 have extremes alone.
const TypedLoops* FindTypedLoops(DType storage, FoldKind fold);

}  // namespace fettle::kernels
