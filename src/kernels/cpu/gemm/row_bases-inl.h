// What a step of a tile's depth reads and adds, where its rows lie evenly. Included once per SIMD
// target, inside no namespace.
#if defined(FETTLE_KERNELS_CPU_GEMM_ROW_BASES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FETTLE_KERNELS_CPU_GEMM_ROW_BASES_INL_H_
#undef FETTLE_KERNELS_CPU_GEMM_ROW_BASES_INL_H_
#else
#define FETTLE_KERNELS_CPU_GEMM_ROW_BASES_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using FloatVector = hn::Vec<hn::ScalableTag<float>>;

/// Rows `step` elements apart. Few bases and multiples of the step fit into the address registers,
/// where a pointer for each row does not.
template <size_t kRows, size_t kBases>
class RowBases {
 public:
  HWY_INLINE RowBases(const float* a, int64_t step)
      : one_(step * static_cast<int64_t>(sizeof(float))), three_(3 * one_), five_(5 * one_) {
    for (size_t i = 0; i < kBases; ++i)
      bases_[i] = reinterpret_cast<const char*>(a + static_cast<int64_t>(i * kSpan) * step);
  }
  /// Else g++ keeps an offset for each row and step of the depth, most of them in memory.
  HWY_INLINE void Hold() {
    for (const char*& base : bases_) asm("" : "+r"(base));
  }
  HWY_INLINE void HoldSteps() { asm("" : "+r"(one_), "+r"(three_), "+r"(five_)); }
  HWY_INLINE void Advance(int64_t steps) {
    for (const char*& base : bases_) base += steps * static_cast<int64_t>(sizeof(float));
  }

#if HWY_TARGET == HWY_AVX2
  /// Element `kStep` of row `kAt`, in all lanes.
  template <size_t kAt, int64_t kStep>
  HWY_INLINE FloatVector Broadcast() const {
    static_assert(kSpan <= 3);
    constexpr int64_t kOffset = kStep * static_cast<int64_t>(sizeof(float));
    constexpr int64_t kScale = kAt % kSpan;
    const char* row = bases_[kAt / kSpan];
    FloatVector x;
    // Left to itself g++ reckons addresses ahead, and keeps them in memory.
    if constexpr (kScale == 0) {
      asm volatile("vbroadcastss %c2(%1), %0" : "=x"(x.raw) : "r"(row), "i"(kOffset));
    } else {
      asm volatile("vbroadcastss %c3(%1,%2,%c4), %0"
                   : "=x"(x.raw)
                   : "r"(row), "r"(one_), "i"(kOffset), "i"(kScale));
    }
    return x;
  }
#else
  template <size_t kAt, int64_t kStep>
  HWY_INLINE FloatVector Broadcast() const {
    static_assert(kSpan <= 7);
    constexpr size_t kInSpan = kAt % kSpan;
    const char* row = bases_[kAt / kSpan];
    if constexpr (kInSpan == 3 || kInSpan == 6) {
      row += three_ * static_cast<int64_t>(kInSpan / 3);
    } else if constexpr (kInSpan == 5) {
      row += five_;
    } else {
      row += one_ * static_cast<int64_t>(kInSpan);
    }
    return hn::Set(hn::ScalableTag<float>(), reinterpret_cast<const float*>(row)[kStep]);
  }
#endif

 private:
  static constexpr size_t kSpan = (kRows + kBases - 1) / kBases;
  const char* bases_[kBases];
  int64_t one_, three_, five_;  // bytes of so many steps; addresses scale them by 1, 2 or 4
};

#if HWY_TARGET == HWY_AVX2
// Sixteen registers hold a tile's sums, one row of B and what multiplies it. g++ 12 mixes the steps
// of the depth and makes a tenth of the time moves and waits of it, so the instructions are named,
// in their order (docs/laboratory/cpu.md).
HWY_INLINE FloatVector LoadInOrder(const float* p) {
  FloatVector x;
  asm volatile("vmovups %1, %0" : "=x"(x.raw) : "m"(*reinterpret_cast<const __m256_u*>(p)));
  return x;
}
HWY_INLINE void MultiplyAddInOrder(FloatVector x, FloatVector y, FloatVector& sum) {
  asm volatile("vfmadd231ps %2, %1, %0" : "+x"(sum.raw) : "x"(x.raw), "x"(y.raw));
}
/// Element k + kStep of `row`, in all lanes.
template <int64_t kStep>
HWY_INLINE FloatVector BroadcastInOrder(const float* row, int64_t k) {
  FloatVector x;
  asm volatile("vbroadcastss %c3(%1,%2,4), %0"
               : "=x"(x.raw)
               : "r"(row), "r"(k), "i"(kStep * static_cast<int64_t>(sizeof(float))));
  return x;
}
/// Has `p` be added to where it is used, not for all uses before.
HWY_INLINE void AddInOrder(const float*& p, int64_t step) {
  p += step;
  asm volatile("" : "+r"(p));
}
#else
HWY_INLINE FloatVector LoadInOrder(const float* p) {
  return hn::LoadU(hn::ScalableTag<float>(), p);
}
template <int64_t kStep>
HWY_INLINE FloatVector BroadcastInOrder(const float* row, int64_t k) {
  return hn::Set(hn::ScalableTag<float>(), row[k + kStep]);
}
HWY_INLINE void MultiplyAddInOrder(FloatVector x, FloatVector y, FloatVector& sum) {
  sum = hn::MulAdd(x, y, sum);
}
HWY_INLINE void AddInOrder(const float*& p, int64_t step) { p += step; }
#endif

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
