#include "kernels/cpu/quantised/requantise.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/quantised/requantise.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/simd/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F = hn::ScalableTag<float>;
using I = hn::RebindToSigned<F>;
constexpr int64_t kLanes = HWY_LANES(float);

/// The corrected sums and the results of columns n .. n + lanes of row r.
HWY_INLINE hn::Vec<I> Sum(const RequantiseArgs& args, int64_t r, int64_t n) {
  const auto sum =
      hn::Add(hn::LoadU(I(), args.sums + r * args.sums_stride + n), hn::LoadU(I(), args.init + n));
  if (args.row_sums == nullptr) return sum;
  return hn::Sub(sum, hn::Mul(hn::Set(I(), args.row_sums[r]), hn::LoadU(I(), args.w_zero + n)));
}
HWY_INLINE hn::Vec<F> Load(const RequantiseArgs& args, int64_t r, int64_t n) {
  return hn::MulAdd(hn::ConvertTo(F(), Sum(args, r, n)), hn::LoadU(F(), args.scale + n),
                    hn::LoadU(F(), args.add + n));
}

template <typename T>
void StoreBytes(const RequantiseArgs& args) {
  const hn::Rebind<T, F> bytes;
  const auto low = hn::Set(F(), static_cast<float>(args.low - args.zero));
  const auto high = hn::Set(F(), static_cast<float>(args.high - args.zero));
  const auto zero = hn::Set(I(), args.zero);
  for (int64_t r = 0; r < args.rows; ++r) {
    T* out = reinterpret_cast<T*>(args.bytes) + r * args.out_stride;
    for (int64_t n = 0; n < args.columns; n += kLanes) {
      // Whole bounds: clamping before rounding equals clamping after it, and nothing overflows.
      const auto x = hn::Min(high, hn::Max(low, Load(args, r, n)));
      const auto q = hn::DemoteTo(bytes, hn::Add(hn::NearestInt(x), zero));
      if (n + kLanes <= args.columns) {
        hn::StoreU(q, bytes, out + n);
      } else {
        T tail[HWY_LANES(float)];
        hn::StoreU(q, bytes, tail);
        std::memcpy(out + n, tail, static_cast<size_t>(args.columns - n));
      }
    }
  }
}

void StoreFloats(const RequantiseArgs& args) {
  for (int64_t r = 0; r < args.rows; ++r) {
    float* out = args.floats + r * args.out_stride;
    for (int64_t n = 0; n < args.columns; n += kLanes) {
      const auto x = Load(args, r, n);
      if (n + kLanes <= args.columns) {
        hn::StoreU(x, F(), out + n);
      } else {
        StoreFirst(F(), x, args.columns - n, out + n);
      }
    }
  }
}

void StoreInts(const RequantiseArgs& args) {
  for (int64_t r = 0; r < args.rows; ++r) {
    int32_t* out = args.ints + r * args.out_stride;
    for (int64_t n = 0; n < args.columns; n += kLanes) {
      const auto x = Sum(args, r, n);
      if (n + kLanes <= args.columns) {
        hn::StoreU(x, I(), out + n);
      } else {
        StoreFirst(I(), x, args.columns - n, out + n);
      }
    }
  }
}

void Run(const RequantiseArgs& args) {
  if (args.ints != nullptr) {
    StoreInts(args);
  } else if (args.floats != nullptr) {
    StoreFloats(args);
  } else if (args.is_signed) {
    StoreBytes<int8_t>(args);
  } else {
    StoreBytes<uint8_t>(args);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(Run);

void RunRequantise(const RequantiseArgs& args) { HWY_DYNAMIC_DISPATCH(Run)(args); }

}  // namespace fettle::kernels
#endif
