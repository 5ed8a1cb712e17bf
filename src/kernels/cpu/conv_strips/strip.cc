#include "kernels/cpu/conv_strips/strip.h"

#include <algorithm>
#include <utility>

#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/conv_strips/strip.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/simd/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr int64_t kLanes = HWY_LANES(float);

/// Sums that leave registers for the weights of a kernel row and a column.
constexpr int kRegisters = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON ? 32 : 16;
constexpr int MostOutputs(int taps) { return std::min(kMostStripOutputs, kRegisters - taps - 3); }

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

/// Input i of each group of kInputs, repeated over the lanes of its group.
template <typename Inputs>
struct GroupSpread;
template <size_t... kInput>
struct GroupSpread<std::index_sequence<kInput...>> {
  static constexpr int64_t kInputs = sizeof...(kInput);

  static void Run(const SpreadArgs& args) {
    const Inside inside = InsideOf(args);
    const int64_t step = args.columns * kLanes;
    (ZeroOutside(inside, args.columns, kLanes, args.out + static_cast<int64_t>(kInput) * step),
     ...);
    const hn::RebindToSigned<D> di;
    const auto first = hn::AndNot(hn::Set(di, kInputs - 1), hn::Iota(di, 0));
    const decltype(hn::IndicesFromVec(D(), first)) lanes[kInputs] = {
        hn::IndicesFromVec(D(), hn::Add(first, hn::Set(di, static_cast<int32_t>(kInput))))...};
    const float* in = args.line + (args.first + inside.begin) * args.pixel;
    for (int64_t j = inside.begin; j < inside.end; ++j, in += args.pixel) {
      const V pixel = hn::LoadU(D(), in);
      (hn::Store(hn::TableLookupLanes(pixel, lanes[kInput]), D(),
                 args.out + static_cast<int64_t>(kInput) * step + j * kLanes),
       ...);
    }
  }
};

/// Groups are whole parts of a vector, so their width is a power of two.
void SpreadGroups(const SpreadArgs& args) {
  if constexpr (kLanes > 1) {
    switch (args.inputs) {
      case 2: return GroupSpread<std::make_index_sequence<2>>::Run(args);
      case 4: return GroupSpread<std::make_index_sequence<4>>::Run(args);
      case 8: return GroupSpread<std::make_index_sequence<8>>::Run(args);
      default: return;
    }
  }
}

void SpreadVectors(const SpreadArgs& args) {
  const Inside inside = InsideOf(args);
  for (int64_t i = 0; i < args.inputs; i += kLanes) {
    float* out = args.out + i * args.columns;
    ZeroOutside(inside, args.columns, kLanes, out);
    const float* in = args.line + (args.first + inside.begin) * args.pixel + i;
    for (int64_t j = inside.begin; j < inside.end; ++j, in += args.pixel)
      hn::Store(hn::LoadU(D(), in), D(), out + j * kLanes);
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

/// Sums of kOutputs pixels. A column is loaded once and meets every tap that it has; fold
/// expressions over columns keep all of it in registers.
template <StripForm kForm, int kStride, typename Outputs, typename Taps, typename Columns>
struct Strip;
template <StripForm kForm, int kStride, size_t... kOut, size_t... kTap, size_t... kColumn>
struct Strip<kForm, kStride, std::index_sequence<kOut...>, std::index_sequence<kTap...>,
             std::index_sequence<kColumn...>> {
  static constexpr int kOutputs = sizeof...(kOut);
  static constexpr int64_t kTaps = sizeof...(kTap);
  /// Elements between the columns of a spread line.
  static constexpr int64_t kPitch = kForm == StripForm::kPlanes ? 1 : kLanes;

  template <int kAt, int kT>
  static HWY_INLINE void Tap(V* acc, V x, V w) {
    constexpr int kOffset = kAt - kT;
    if constexpr (kOffset >= 0 && kOffset % kStride == 0 && kOffset / kStride < kOutputs)
      acc[kOffset / kStride] = hn::MulAdd(x, w, acc[kOffset / kStride]);
  }
  template <int kAt>
  static HWY_INLINE void Column(V* acc, const float* x, const V* w) {
    V column;
    if constexpr (kForm == StripForm::kGroupsInVector) {
      column = hn::Load(D(), x + kAt * kPitch);
    } else {
      column = hn::Set(D(), x[kAt * kPitch]);
    }
    (Tap<kAt, static_cast<int>(kTap)>(acc, column, w[kTap]), ...);
  }
  /// Input i of a spread line.
  static HWY_INLINE const float* InputOf(const StripArgs& args, const float* line, int64_t i) {
    if constexpr (kForm == StripForm::kVectorsInGroup)
      return line + i / kLanes * args.input_step + i % kLanes;
    return line + i * args.input_step;
  }
  static HWY_INLINE void Finish(const StripArgs& args, V sum, size_t o) {
    // This order of operands lets NaN through.
    const V y = hn::Min(hn::Set(D(), args.high), hn::Max(hn::Set(D(), args.low), sum));
    float* out = args.out + static_cast<int64_t>(o) * args.out_pixel;
    if (args.channels >= kLanes) {
      hn::StoreU(y, D(), out);
    } else {
      StoreFirst(D(), y, args.channels, out);
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
        (Column<static_cast<int>(kColumn)>(acc, x, w), ...);
      }
    }
    (Finish(args, acc[kOut], kOut), ...);
  }
};

template <StripForm kForm, int kStride, int kTaps, size_t... kOut>
void FillStrips(StripTable& table, std::index_sequence<kOut...>) {
  ((table.strip[static_cast<size_t>(kForm)][kStride - 1][kOut + 1] =
        Strip<kForm, kStride, std::make_index_sequence<kOut + 1>, std::make_index_sequence<kTaps>,
              std::make_index_sequence<kOut * kStride + kTaps>>::Run),
   ...);
}

template <StripForm kForm, int kTaps>
void Fill(StripKernels& kernels) {
  using Outputs = std::make_index_sequence<static_cast<size_t>(MostOutputs(kTaps))>;
  StripTable& table = kernels.taps[kTaps];
  table.most_outputs = MostOutputs(kTaps);
  FillStrips<kForm, 1, kTaps>(table, Outputs());
  FillStrips<kForm, 2, kTaps>(table, Outputs());
}

const StripKernels* StripKernelsOf() {
  static const StripKernels kernels = [] {
    StripKernels made;
    made.lanes = kLanes;
    made.spread[static_cast<size_t>(StripForm::kGroupsInVector)] = SpreadGroups;
    made.spread[static_cast<size_t>(StripForm::kVectorsInGroup)] = SpreadVectors;
    made.spread[static_cast<size_t>(StripForm::kPlanes)] = SpreadPlanes;
    Fill<StripForm::kGroupsInVector, 3>(made);
    Fill<StripForm::kVectorsInGroup, 3>(made);
    Fill<StripForm::kPlanes, 3>(made);
    Fill<StripForm::kPlanes, 5>(made);
    Fill<StripForm::kPlanes, 7>(made);
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
