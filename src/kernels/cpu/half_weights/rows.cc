#include "kernels/cpu/half_weights/rows.h"

#include <type_traits>
#include <utility>

#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/half_weights/rows.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/simd/clamp-inl.h"
#include "kernels/cpu/simd/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr int64_t kLanes = HWY_LANES(float);
constexpr int64_t kNr = 2 * kLanes;

/// How far ahead elements are fetched: past the end of a page, where the processor's own
/// prefetchers stop.
constexpr int64_t kAhead = 4096 / sizeof(uint16_t);

template <typename Half>
HWY_INLINE V Load(const uint16_t* at) {
  const hn::Rebind<uint16_t, D> bits;
  if constexpr (std::is_same_v<Half, hwy::float16_t>) {
    const hn::Rebind<hwy::float16_t, D> halves;
    return hn::PromoteTo(D(), hn::BitCast(halves, hn::LoadU(bits, at)));
  } else {
    const hn::RebindToUnsigned<D> wide;
    return hn::BitCast(D(), hn::ShiftLeft<16>(hn::PromoteTo(wide, hn::LoadU(bits, at))));
  }
}

/// Two sums of each row, or the latency of one would bind them.
template <typename Half, typename Rows>
struct RowSums;
template <typename Half, size_t... kRow>
struct RowSums<Half, std::index_sequence<kRow...>> {
  static HWY_INLINE void StepRow(V* sums, float a, V b0, V b1) {
    const V x = hn::Set(D(), a);
    sums[0] = hn::MulAdd(x, b0, sums[0]);
    sums[1] = hn::MulAdd(x, b1, sums[1]);
  }
  static HWY_INLINE void Step(V (*sums)[2], const HalfRowsArgs& args, int64_t k) {
    const auto* b = reinterpret_cast<const uint16_t*>(args.b) + k * kNr;
    const V b0 = Load<Half>(b), b1 = Load<Half>(b + kLanes);
    (StepRow(sums[kRow], args.a[static_cast<int64_t>(kRow) * args.a_stride + k], b0, b1), ...);
  }

  static HWY_INLINE void Finish(const HalfRowsArgs& args, V x, int64_t row, int64_t column) {
    const int64_t left = args.columns - column;
    if (left <= 0) return;
    const int64_t at = row * args.c_stride + column;
    const auto mask = hn::FirstN(D(), static_cast<size_t>(left));
    if (args.bias != nullptr) x = hn::Add(x, hn::LoadU(D(), args.bias + column));
    if (args.addend != nullptr) x = hn::Add(x, hn::MaskedLoad(mask, D(), args.addend + at));
    x = ClampOrNan(x, hn::Set(D(), args.low), hn::Set(D(), args.high));
    if (left >= kLanes) {
      hn::StoreU(x, D(), args.c + at);
    } else {
      StoreFirst(D(), x, left, args.c + at);
    }
  }

  static void Run(const HalfRowsArgs& args) {
    constexpr auto kRows = static_cast<int64_t>(sizeof...(kRow));
    V even[kRows][2], odd[kRows][2];
    for (int64_t r = 0; r < kRows; ++r)
      even[r][0] = even[r][1] = odd[r][0] = odd[r][1] = hn::Zero(D());
    const auto* b = reinterpret_cast<const uint16_t*>(args.b);
    int64_t k = 0;
    for (; k + 2 <= args.depth; k += 2) {
      __builtin_prefetch(b + k * kNr + kAhead, 0, 3);
      __builtin_prefetch(b + (k + 1) * kNr + kAhead, 0, 3);
      Step(even, args, k);
      Step(odd, args, k + 1);
    }
    if (k < args.depth) Step(even, args, k);
    for (int64_t r = 0; r < kRows; ++r) {
      Finish(args, hn::Add(even[r][0], odd[r][0]), r, 0);
      Finish(args, hn::Add(even[r][1], odd[r][1]), r, kLanes);
    }
  }
};

template <typename Half>
void Widen(const std::byte* from, int64_t count, float* out) {
  const auto* halves = reinterpret_cast<const uint16_t*>(from);
  for (int64_t i = 0; i < count; i += kNr) {
    hn::StoreU(Load<Half>(halves + i), D(), out + i);
    hn::StoreU(Load<Half>(halves + i + kLanes), D(), out + i + kLanes);
  }
}

template <typename Half>
constexpr HalfKernels kKernels = {{nullptr, RowSums<Half, std::make_index_sequence<1>>::Run,
                                   RowSums<Half, std::make_index_sequence<2>>::Run,
                                   RowSums<Half, std::make_index_sequence<3>>::Run,
                                   RowSums<Half, std::make_index_sequence<4>>::Run},
                                  Widen<Half>};

const HalfKernels* KernelsOf(bool f16) {
  return f16 ? &kKernels<hwy::float16_t> : &kKernels<hwy::bfloat16_t>;
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(KernelsOf);

const HalfKernels& GetHalfKernels(DType storage) {
  ApplyIsaCap();
  return *HWY_DYNAMIC_DISPATCH(KernelsOf)(storage == DType::kF16);
}

}  // namespace fettle::kernels
#endif
