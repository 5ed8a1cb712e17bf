// compiled: unfused
// Each step of a scaled result is rounded, so that this file is compiled without contraction.
#include "kernels/cpu/quantised/requantise.h"

#include "kernels/cpu/quantised/microkernel.h"

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

/// What the columns n .. n + lanes need.
struct Columns {
  hn::Vec<I> init, w_zero;
  hn::Vec<F> scale, add;
};
HWY_INLINE Columns LoadColumns(const RequantiseArgs& args, int64_t n) {
  return {args.init == nullptr ? hn::Zero(I()) : hn::LoadU(I(), args.init + n),
          hn::LoadU(I(), args.w_zero + n), hn::LoadU(F(), args.scale + n),
          hn::LoadU(F(), args.add + n)};
}

/// Their corrected sums in row r.
HWY_INLINE hn::Vec<I> Sum(const RequantiseArgs& args, const Columns& columns, int64_t r,
                          int64_t n) {
  const auto sum = hn::Add(hn::LoadU(I(), args.sums + r * args.sums_stride + n), columns.init);
  if (args.row_sums == nullptr) return sum;
  return hn::Sub(sum, hn::Mul(hn::Set(I(), args.row_sums[r]), columns.w_zero));
}

/// Calls f(r, n, columns, sums) for vectors of columns, and for all rows of each.
template <typename Function>
HWY_INLINE void ForEachVector(const RequantiseArgs& args, const Function& f) {
  for (int64_t n = 0; n < args.columns; n += kLanes) {
    const Columns columns = LoadColumns(args, n);
    for (int64_t r = 0; r < args.rows; ++r) f(r, n, columns, Sum(args, columns, r, n));
  }
}

/// Stores the lanes of `x` that are columns.
template <typename D>
HWY_INLINE void StoreColumns(D d, hn::Vec<D> x, const RequantiseArgs& args, int64_t n,
                             hn::TFromD<D>* out) {
  if (n + kLanes <= args.columns) {
    hn::StoreU(x, d, out);
  } else {
    StoreFirst(d, x, args.columns - n, out);
  }
}

template <typename T>
void StoreBytes(const RequantiseArgs& args) {
  const hn::Rebind<T, F> bytes;
  const auto low = hn::Set(F(), static_cast<float>(args.low - args.zero));
  const auto high = hn::Set(F(), static_cast<float>(args.high - args.zero));
  const auto zero = hn::Set(I(), args.zero);
  ForEachVector(args, [&](int64_t r, int64_t n, const Columns& columns, hn::Vec<I> sum) HWY_ATTR {
    const auto y = hn::MulAdd(hn::ConvertTo(F(), sum), columns.scale, columns.add);
    // Whole bounds: clamping before rounding equals clamping after it, and nothing overflows. NaN,
    // which a scale that overflows makes of a sum of 0, gives the least value.
    const auto x = hn::Min(high, hn::Max(low, hn::IfThenElse(hn::IsNaN(y), low, y)));
    const auto q = hn::DemoteTo(bytes, hn::Add(hn::NearestInt(x), zero));
    StoreColumns(bytes, q, args, n, reinterpret_cast<T*>(args.bytes) + r * args.out_stride + n);
  });
}

void StoreFloats(const RequantiseArgs& args) {
  ForEachVector(args, [&](int64_t r, int64_t n, const Columns& columns, hn::Vec<I> sum) HWY_ATTR {
    const auto y = hn::MulAdd(hn::ConvertTo(F(), sum), columns.scale, columns.add);
    StoreColumns(F(), y, args, n, args.floats + r * args.out_stride + n);
  });
}

/// Element n of a row and those behind it, of which `count` are columns; or the only one.
HWY_INLINE hn::Vec<F> LoadRow(const float* row, int64_t step, int64_t n, int64_t count) {
  if (step == 0) return hn::Set(F(), *row);
  return count >= kLanes ? hn::LoadU(F(), row + n) : LoadFirst(F(), count, row + n);
}

/// Each step is rounded, and NaN passes, as in element-wise programs.
void StoreScaled(const RequantiseArgs& args) {
  const ScaledFloats& by = *args.scaled;
  const auto least = hn::Set(F(), by.least), greatest = hn::Set(F(), by.greatest);
  for (int64_t n = 0; n < args.columns; n += kLanes) {
    const Columns columns = LoadColumns(args, n);
    const auto factor = LoadRow(by.factor, by.factor_step, n, args.columns - n);
    const auto addend = LoadRow(by.addend, by.addend_step, n, args.columns - n);
    for (int64_t r = 0; r < args.rows; ++r) {
      const auto sum = hn::ConvertTo(F(), Sum(args, columns, r, n));
      const auto result = hn::MulAdd(sum, columns.scale, columns.add);
      const auto y = hn::Add(hn::Mul(result, factor), addend);
      const auto low = hn::IfThenElse(hn::Lt(y, least), least, y);
      const auto x = hn::IfThenElse(hn::Lt(greatest, low), greatest, low);
      StoreColumns(F(), x, args, n, args.floats + r * args.out_stride + n);
    }
  }
}

void StoreScaledSums(const RequantiseArgs& args) {
  ForEachVector(args, [&](int64_t r, int64_t n, const Columns& columns, hn::Vec<I> sum) HWY_ATTR {
    const auto y = hn::Add(hn::Mul(hn::ConvertTo(F(), sum), columns.scale), columns.add);
    StoreColumns(F(), y, args, n, args.floats + r * args.out_stride + n);
  });
}

void StoreInts(const RequantiseArgs& args) {
  ForEachVector(args, [&](int64_t r, int64_t n, const Columns&, hn::Vec<I> sum) HWY_ATTR {
    StoreColumns(I(), sum, args, n, args.ints + r * args.out_stride + n);
  });
}

void Run(const RequantiseArgs& args) {
  if (args.ints != nullptr) {
    StoreInts(args);
  } else if (args.scaled != nullptr) {
    StoreScaled(args);
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
HWY_EXPORT(StoreScaledSums);

void RunRequantise(const RequantiseArgs& args) { HWY_DYNAMIC_DISPATCH(Run)(args); }

void RunScaledSums(const RequantiseArgs& args) { HWY_DYNAMIC_DISPATCH(StoreScaledSums)(args); }

void RunSum(const RequantiseArgs& args) {
  alignas(64) uint8_t bytes[kMaxTileSums];
  RequantiseArgs product = args;
  product.is_signed = args.sum->a_type.flip != 0;
  product.bytes = bytes;
  product.out_stride = args.columns;
  RunRequantise(product);
  const PairRowFunction add = FindPairRow(PairOp::kAdd);
  PairRowArgs row = *args.sum;
  row.n = args.columns;
  for (int64_t r = 0; r < args.rows; ++r) {
    row.a = bytes + r * args.columns;
    row.b = args.shortcut + r * args.out_stride;
    row.y = args.bytes + r * args.out_stride;
    add(row);
  }
}

Requantise RequantiseFor([[maybe_unused]] bool bounded) {
#if defined(__x86_64__)
  if (bounded && RunsAvx512Vnni()) return RequantiseBytesAvx512;
  if (bounded && RunsAvx2()) return RequantiseBytesAvx2;
#endif
  return RunRequantise;
}

Requantise SumFor([[maybe_unused]] const PairRowArgs& sum) {
#if defined(__x86_64__)
  const double most = 255.0 * (double{sum.a_type.scale} + sum.b_type.scale) / sum.y_type.scale;
  if (RunsAvx512Vnni() && most < 0x1p30) return RunSumAvx512;
  if (RunsAvx2() && most < 0x1p30) return RunSumAvx2;
#endif
  return RunSum;
}

}  // namespace fettle::kernels
#endif
