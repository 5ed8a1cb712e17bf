#include "kernels/cpu/conv_strips/strip.h"

#include <algorithm>
#include <utility>

#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/conv_strips/strip.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/gemm/row_bases-inl.h"
#include "kernels/cpu/simd/clamp-inl.h"
#include "kernels/cpu/simd/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr int64_t kLanes = HWY_LANES(float);

/// Sums that leave registers for the weights of a kernel row and a column.
constexpr int kRegisters = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON ? 32
                           : HWY_TARGET == HWY_SCALAR                       ? 6  // few and short
                                                                            : 16;
constexpr int kMostOutputs = std::min<int>(kMostStripOutputs, kRegisters - kStripTaps - 1);

/// Columns of `args` that lie inside of the line, from the first one wanted.
struct Inside {
  int64_t begin, end;
};
Inside InsideOf(const SpreadArgs& args) {
  const int64_t begin = std::clamp<int64_t>(-args.first, 0, args.columns);
  return {begin, std::clamp<int64_t>(args.width - args.first, begin, args.columns)};
}

/// Columns are `pitch` elements apart.
void ZeroOutside(const Inside& inside, int64_t columns, int64_t pitch, float* out) {
  std::fill_n(out, inside.begin * pitch, 0.0f);
  std::fill_n(out + inside.end * pitch, (columns - inside.end) * pitch, 0.0f);
}

void SpreadVectors(const SpreadArgs& args) {
  const Inside inside = InsideOf(args);
  for (int64_t i = 0; i < args.inputs; i += kLanes) {
    float* out = args.out + i * args.columns;
    ZeroOutside(inside, args.columns, kLanes, out);
    const float* in = args.line + (args.first + inside.begin) * args.pixel + i;
    for (int64_t j = inside.begin; j < inside.end; ++j, in += args.pixel) {
      __builtin_prefetch(in + args.next);
      hn::Store(hn::LoadU(D(), in), D(), out + j * kLanes);
    }
  }
}

/// Reads nothing outside of the line.
void SpreadPlanes(const SpreadArgs& args) {
  const Inside inside = InsideOf(args);
  const int64_t count = inside.end - inside.begin;
  for (int64_t i = 0; i < args.inputs; ++i) {
    float* out = args.out + i * args.columns;
    ZeroOutside(inside, args.columns, 1, out);
    const float* in = args.line + i * args.plane + args.first + inside.begin;
    out += inside.begin;
    if (count < kLanes) {
      for (int64_t j = 0; j < count; ++j) out[j] = in[j];
      continue;
    }
    // The last vector overlaps the one before.
    for (int64_t j = 0; j < count; j += kLanes) {
      const int64_t at = std::min(j, count - kLanes);
      hn::StoreU(hn::LoadU(D(), in + at), D(), out + at);
    }
  }
}

using Lanes = decltype(hn::IndicesFromVec(D(), hn::Iota(hn::RebindToSigned<D>(), 0)));

/// Input i of each group of `inputs`, a power of two, for all lanes of its group.
HWY_INLINE Lanes GroupLanes(int64_t inputs, int64_t i) {
  const hn::RebindToSigned<D> di;
  const auto first = hn::AndNot(hn::Set(di, static_cast<int32_t>(inputs - 1)), hn::Iota(di, 0));
  return hn::IndicesFromVec(D(), hn::Add(first, hn::Set(di, static_cast<int32_t>(i))));
}

/// Sums of kOutputs pixels. A column is loaded once and meets every tap that it has; fold
/// expressions over columns keep all of it in registers.
template <StripForm kForm, int kStride, typename Outputs, typename Taps, typename Columns>
struct Strip;
template <StripForm kForm, int kStride, size_t... kOut, size_t... kTap, size_t... kColumn>
struct Strip<kForm, kStride, std::index_sequence<kOut...>, std::index_sequence<kTap...>,
             std::index_sequence<kColumn...>> {
  static constexpr int kOutputs = sizeof...(kOut);
  static constexpr int64_t kTaps = sizeof...(kTap);
  template <int kAt, int kT>
  static HWY_INLINE void Tap(V* acc, V x, V w) {
    constexpr int kOffset = kAt - kT;
    if constexpr (kOffset >= 0 && kOffset % kStride == 0 && kOffset / kStride < kOutputs)
      MultiplyAddInOrder(x, w, acc[kOffset / kStride]);
  }
  template <int kAt>
  static HWY_INLINE void Column(V* acc, const float* x, Lanes lanes, const V* w) {
    V column;
    if constexpr (kForm == StripForm::kGroupsInVector) {
      column = hn::TableLookupLanes(hn::Load(D(), x + kAt * kLanes), lanes);
    } else {
      column = hn::Set(D(), x[kAt * kLanes]);
    }
    (Tap<kAt, static_cast<int>(kTap)>(acc, column, w[kTap]), ...);
  }
  /// Input i of a spread line.
  static HWY_INLINE const float* InputOf(const StripArgs& args, const float* line, int64_t i) {
    if constexpr (kForm == StripForm::kVectorsInGroup)
      return line + i / kLanes * args.input_step + i % kLanes;
    return line;
  }
  template <bool kWhole>
  static HWY_INLINE void Finish(V sum, V low, V high, int64_t left, float* out) {
    const V y = ClampOrNan(sum, low, high);
    if constexpr (kWhole) {
      hn::StoreU(y, D(), out);
    } else {
      StoreFirst(D(), y, left, out);
    }
  }

  static void Run(const StripArgs& args) {
    const V bias = hn::LoadU(D(), args.bias);
    V acc[kOutputs] = {((void)kOut, bias)...};
    const float* weights = args.weights;
    for (int64_t line = 0; line < args.num_lines; ++line) {
      for (int64_t i = 0; i < args.inputs; ++i, weights += kTaps * kLanes) {
        const V w[kTaps] = {hn::LoadU(D(), weights + static_cast<int64_t>(kTap) * kLanes)...};
        const float* x = InputOf(args, args.lines[line], i);
        // Else g++ keeps columns from input to input, and spills sums for them.
        asm("" : "+r"(x));
        // Inputs of other forms are more than a vector has lanes.
        const Lanes lanes =
            kForm == StripForm::kGroupsInVector ? GroupLanes(args.inputs, i) : GroupLanes(1, 0);
        (Column<static_cast<int>(kColumn)>(acc, x, lanes, w), ...);
      }
    }
    const V low = hn::Set(D(), args.low), high = hn::Set(D(), args.high);
    const int64_t left = args.channels, pixel = args.out_pixel;
    float* out = args.out;
    if (left >= kLanes) {
      ((Finish<true>(acc[kOut], low, high, left, out), out += pixel), ...);
    } else {
      ((Finish<false>(acc[kOut], low, high, left, out), out += pixel), ...);
    }
  }
};

/// Sums of kOutputs pixels and one or two vectors of channels: a pixel of a plane is read once for
/// both, from an address that is a constant away from the strip's first one.
template <int kStride, int kVectors, typename Outputs>
struct PlaneStrip;
template <int kStride, int kVectors, size_t... kOut>
struct PlaneStrip<kStride, kVectors, std::index_sequence<kOut...>> {
  static constexpr int kOutputs = sizeof...(kOut);

  static HWY_INLINE void Step(V* acc, const float* x, const V* w) {
    const V pixel = hn::Set(D(), *x);
    for (int v = 0; v < kVectors; ++v) acc[v] = hn::MulAdd(pixel, w[v], acc[v]);
  }
  static HWY_INLINE void Start(V* acc, const float* bias) {
    for (int v = 0; v < kVectors; ++v) acc[v] = hn::LoadU(D(), bias + v * kLanes);
  }
  template <bool kWhole>
  static HWY_INLINE void Store(V sum, V low, V high, int64_t left, float* out) {
    const V y = ClampOrNan(sum, low, high);
    if (kWhole || left >= kLanes) {
      hn::StoreU(y, D(), out);
    } else {
      StoreFirst(D(), y, left, out);
    }
  }
  template <bool kWhole>
  static HWY_INLINE void Finish(const V* acc, V low, V high, int64_t left, float* out) {
    Store<kWhole>(acc[0], low, high, left, out);
    if constexpr (kVectors > 1) Store<kWhole>(acc[1], low, high, left - kLanes, out + kLanes);
  }

  static void Run(const StripArgs& args) {
    V acc[kOutputs][kVectors];
    (Start(acc[kOut], args.bias), ...);
    const float* weights = args.weights;
    const int64_t taps = args.taps, vector_step = args.vector_step;
    for (int64_t line = 0; line < args.num_lines; ++line) {
      const float* input = args.lines[line];
      for (int64_t i = 0; i < args.inputs; ++i, input += args.input_step) {
        for (int64_t t = 0; t < taps; ++t, weights += kLanes) {
          V w[kVectors];
          for (int v = 0; v < kVectors; ++v) w[v] = hn::LoadU(D(), weights + v * vector_step);
          const float* x = input + t;
          // Else g++ keeps pixels from tap to tap, and spills sums for them.
          asm("" : "+r"(x));
          (Step(acc[kOut], x + static_cast<int64_t>(kOut) * kStride, w), ...);
        }
      }
    }
    const V low = hn::Set(D(), args.low), high = hn::Set(D(), args.high);
    const int64_t left = args.channels, pixel = args.out_pixel;
    float* out = args.out;
    if (left >= kVectors * kLanes) {
      ((Finish<true>(acc[kOut], low, high, left, out), out += pixel), ...);
    } else {
      ((Finish<false>(acc[kOut], low, high, left, out), out += pixel), ...);
    }
  }
};

template <StripForm kForm, int kStride, size_t... kOut>
constexpr void FillStrips(StripKernels& kernels, std::index_sequence<kOut...>) {
  ((kernels.strip[static_cast<size_t>(kForm)][kStride - 1][kOut + 1] =
        Strip<kForm, kStride, std::make_index_sequence<kOut + 1>,
              std::make_index_sequence<static_cast<size_t>(kStripTaps)>,
              std::make_index_sequence<kOut * kStride + kStripTaps>>::Run),
   ...);
}

template <StripForm kForm>
constexpr void Fill(StripKernels& kernels) {
  using Outputs = std::make_index_sequence<static_cast<size_t>(kMostOutputs)>;
  FillStrips<kForm, 1>(kernels, Outputs());
  FillStrips<kForm, 2>(kernels, Outputs());
}

template <int kVectors, int kStride, size_t... kIndex>
constexpr void FillPlanes(StripKernels& kernels, std::index_sequence<kIndex...>) {
  const auto fill = [&](auto index) {
    constexpr int kOutputs = kPlaneStrips[index()];
    if constexpr ((kOutputs + 1) * kVectors + 1 < kRegisters) {
      kernels.planes[kVectors - 1][kStride - 1][index()] =
          PlaneStrip<kStride, kVectors, std::make_index_sequence<kOutputs>>::Run;
    }
  };
  (fill(std::integral_constant<size_t, kIndex>()), ...);
}

const StripKernels* StripKernelsOf() {
  static constexpr StripKernels kernels = [] {
    StripKernels made;
    made.lanes = kLanes;
    made.most_outputs = kMostOutputs;
    made.spread[static_cast<size_t>(StripForm::kGroupsInVector)] = SpreadVectors;
    made.spread[static_cast<size_t>(StripForm::kVectorsInGroup)] = SpreadVectors;
    made.spread[static_cast<size_t>(StripForm::kPlanes)] = SpreadPlanes;
    Fill<StripForm::kGroupsInVector>(made);
    Fill<StripForm::kVectorsInGroup>(made);
    using Widths = std::make_index_sequence<std::size(kPlaneStrips)>;
    FillPlanes<1, 1>(made, Widths());
    FillPlanes<1, 2>(made, Widths());
    FillPlanes<2, 1>(made, Widths());
    FillPlanes<2, 2>(made, Widths());
    return made;
  }();
  return &kernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(StripKernelsOf);

const StripKernels& GetStripKernels() {
  ApplyIsaCap();
  return *HWY_DYNAMIC_DISPATCH(StripKernelsOf)();
}

}  // namespace fettle::kernels
#endif
