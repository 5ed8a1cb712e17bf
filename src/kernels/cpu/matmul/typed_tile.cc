#include "kernels/cpu/matmul/typed_tile.h"

#include <algorithm>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/matmul/typed_tile.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// The block's operands as T.
template <typename T>
struct Typed {
  const T *a, *b;
  T* c;
  const TypedBlock& block;
};

template <typename T, typename V>
HWY_INLINE V MulAdd(V a, V b, V sum) {
  if constexpr (std::is_floating_point_v<T>)
    return hn::MulAdd(a, b, sum);
  else
    return hn::Add(hn::Mul(a, b), sum);
}

/// kRows rows by kVectors vectors of columns; the sums stay in registers.
template <typename T, int kRows, int kVectors>
HWY_INLINE void Tile(const Typed<T>& of, int64_t row, int64_t column) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = HWY_LANES(T);
  const TypedBlock& block = of.block;
  const T* a = of.a + row * block.a_row;
  const T* b = of.b + column;
  T* c = of.c + row * block.c_row + column;
  hn::Vec<decltype(d)> sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v)
      sums[r][v] = block.adds ? hn::LoadU(d, c + r * block.c_row + v * kLanes) : hn::Zero(d);
  }
  for (int64_t k = 0; k < block.depth; ++k, a += block.a_step, b += block.b_row) {
    hn::Vec<decltype(d)> columns[kVectors];
    for (int v = 0; v < kVectors; ++v) columns[v] = hn::LoadU(d, b + v * kLanes);
    for (int r = 0; r < kRows; ++r) {
      const auto factor = hn::Set(d, a[r * block.a_row]);
      for (int v = 0; v < kVectors; ++v) sums[r][v] = MulAdd<T>(factor, columns[v], sums[r][v]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[r][v], d, c + r * block.c_row + v * kLanes);
  }
}

/// Columns that fill no vector.
template <typename T>
void Tail(const Typed<T>& of, int64_t row, int64_t rows, int64_t column) {
  const TypedBlock& block = of.block;
  for (int64_t r = row; r < row + rows; ++r) {
    for (int64_t j = column; j < block.columns; ++j) {
      T& c = of.c[r * block.c_row + j];
      T sum = block.adds ? c : T{0};
      const T* a = of.a + r * block.a_row;
      for (int64_t k = 0; k < block.depth; ++k)
        sum += a[k * block.a_step] * of.b[k * block.b_row + j];
      c = sum;
    }
  }
}

template <typename T, int kRows>
void Rows(const Typed<T>& of, int64_t row) {
  constexpr int64_t kLanes = HWY_LANES(T);
  // As many sums as there are registers for them.
  constexpr int kVectors = HWY_TARGET == HWY_AVX3 ? 4 : 2;
  const int64_t columns = of.block.columns;
  int64_t column = 0;
  for (; column + kVectors * kLanes <= columns; column += kVectors * kLanes)
    Tile<T, kRows, kVectors>(of, row, column);
  for (; column + kLanes <= columns; column += kLanes) Tile<T, kRows, 1>(of, row, column);
  if (column < columns) Tail(of, row, kRows, column);
}

template <typename T>
void Multiply(const TypedBlock& block) {
  const Typed<T> of{reinterpret_cast<const T*>(block.a), reinterpret_cast<const T*>(block.b),
                    reinterpret_cast<T*>(block.c), block};
  constexpr int kRows = HWY_TARGET == HWY_AVX3 ? 6 : 4;
  int64_t row = 0;
  for (; row + kRows <= block.rows; row += kRows) Rows<T, kRows>(of, row);
  for (; row < block.rows; ++row) Rows<T, 1>(of, row);
}

}  // namespace

TypedTile Find(DType dtype) {
  switch (dtype) {
    case DType::kF64: return Multiply<double>;
    // Of integers that wrap, the lower half of a product is the same with and without a sign.
    case DType::kI32:
    case DType::kU32: return Multiply<uint32_t>;
    case DType::kI64:
    case DType::kU64: return Multiply<uint64_t>;
    default: return nullptr;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(Find);

TypedTile FindTypedTile(DType dtype) { return HWY_DYNAMIC_DISPATCH(Find)(dtype); }

}  // namespace fettle::kernels
#endif
