#include "kernels/cpu/half_weights/rows.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "kernels/cpu/ask_ahead.h"
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

/// Writes the sums [rows][vectors] of results.
#if HWY_COMPILER_GCC_ACTUAL
[[gnu::noclone]]
#endif
HWY_NOINLINE void
Finish(const HalfRowsArgs& tile, int64_t vectors, const float* sums) {
  const HalfRowsArgs args = tile;  // stores could change another's
  const V low = hn::Set(D(), args.low), high = hn::Set(D(), args.high);
  for (int64_t r = 0; r < args.rows; ++r, sums += vectors * kLanes) {
    for (int64_t column = 0; column < args.columns; column += kLanes) {
      const int64_t at = r * args.c_stride + column, left = args.columns - column;
      V x = hn::Load(D(), sums + column);
      if (args.addend != nullptr) x = hn::Add(x, LoadUpTo(D(), left, args.addend + at));
      StoreUpTo(D(), ClampOrNan(x, low, high), left, args.c + at);
    }
  }
}

/// Sums of kRows rows with kPanels panels. Each slice of the depth is summed by itself, in order,
/// as the micro-kernels do with slices that were made floats: a row's results do not depend on the
/// number of rows.
template <typename Half, size_t kPanels, typename Rows>
struct RowSums;
template <typename Half, size_t kPanels, size_t... kRow>
struct RowSums<Half, kPanels, std::index_sequence<kRow...>> {
  static constexpr size_t kRows = sizeof...(kRow), kVectors = 2 * kPanels;
  V sums[kRows][kVectors];
  const float* a[kRows];

  // An implicit constructor would be compiled without the target's options.
  HWY_INLINE explicit RowSums(const HalfRowsArgs& args)
      : a{args.a + std::min<int64_t>(kRow, args.rows - 1) * args.a_stride...} {}

  HWY_INLINE void StartRow(size_t r, const V* first) {
    for (size_t v = 0; v < kVectors; ++v) sums[r][v] = first[v];
  }
  HWY_INLINE void Start(const float* bias, bool next) {
    V first[kVectors];
    for (size_t v = 0; v < kVectors; ++v)
      first[v] =
          bias == nullptr ? hn::Zero(D()) : hn::LoadU(D(), bias + (next ? v : v % 2) * kLanes);
    (StartRow(kRow, first), ...);
  }
  HWY_INLINE void StepRow(size_t r, int64_t k, const V* b) {
    const V x = hn::Set(D(), a[r][k]);
    for (size_t v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(x, b[v], sums[r][v]);
  }
  HWY_INLINE void Step(const uint16_t* panel, int64_t panel_stride, int64_t k) {
    V b[kVectors];
    for (size_t v = 0; v < kVectors; ++v)
      b[v] = Load<Half>(panel + v / 2 * panel_stride + k * kNr + v % 2 * kLanes);
    (StepRow(kRow, k, b), ...);
  }
  HWY_INLINE void RunSlice(const uint16_t* panel, int64_t panel_stride, int64_t k, int64_t end) {
    for (; k + 2 <= end; k += 2) {
      for (size_t p = 0; p < kPanels; ++p) {
        AskAhead<2 * kNr * sizeof(uint16_t)>(panel + p * panel_stride + k * kNr);
      }
      Step(panel, panel_stride, k);
      Step(panel, panel_stride, k + 1);
    }
    if (k < end) Step(panel, panel_stride, k);
  }
  /// Adds what earlier slices left in `total`, or leaves the sums there.
  HWY_INLINE void AddRow(size_t r, const float* total) {
    for (size_t v = 0; v < kVectors; ++v)
      sums[r][v] = hn::Add(sums[r][v], hn::Load(D(), total + (r * kVectors + v) * kLanes));
  }
  HWY_INLINE void KeepRow(size_t r, float* total) {
    for (size_t v = 0; v < kVectors; ++v)
      hn::Store(sums[r][v], D(), total + (r * kVectors + v) * kLanes);
  }

  static void Run(const HalfRowsArgs& args) {
    HWY_ALIGN float total[kRows * kVectors * kLanes];
    const auto* panel = reinterpret_cast<const uint16_t*>(args.b);
    // The second panel is the first one again where it is missing.
    const int64_t panel_stride = args.columns > kNr ? args.depth * kNr : 0;
    RowSums rows(args);
    for (int64_t k = 0; k < args.depth; k += kHalfSlice) {
      rows.Start(k == 0 ? args.bias : nullptr, panel_stride != 0);
      rows.RunSlice(panel, panel_stride, k, std::min(k + kHalfSlice, args.depth));
      if (k > 0) (rows.AddRow(kRow, total), ...);
      (rows.KeepRow(kRow, total), ...);
    }
    Finish(args, kVectors, total);
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

/// The most rows whose sums with two vectors fit the registers. What hardly any processor runs is
/// short.
constexpr size_t kMost = HWY_TARGET == HWY_SCALAR                           ? 1
                         : HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON ? 8
                                                                            : 6;

template <typename Half, size_t kRows>
constexpr auto kRun = RowSums<Half, kRows == 1 ? 2 : 1, std::make_index_sequence<kRows>>::Run;

/// Fewer rows of a tile are its last one again.
template <typename Half>
constexpr HalfKernels kKernels = {
    .most_rows = kMost,
    .rows = {nullptr, kRun<Half, 1>, kRun<Half, std::min<size_t>(kMost, 2)>,
             kRun<Half, std::min<size_t>(kMost, 4)>, kRun<Half, std::min<size_t>(kMost, 4)>,
             kRun<Half, kMost>, kRun<Half, kMost>, kRun<Half, kMost>, kRun<Half, kMost>},
    .widen = Widen<Half>};

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
