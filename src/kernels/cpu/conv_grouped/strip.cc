#include "kernels/cpu/conv_grouped/strip.h"

#include <algorithm>
#include <utility>

#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/conv_grouped/strip.cc"
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

/// Sums that leave registers for three weights and a column.
constexpr int kMostOutputs = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON ? 14 : 10;

/// Columns of `args` that lie inside of the line, from the first one wanted.
struct Inside {
  int64_t begin, end;
};
Inside InsideOf(const SpreadArgs& args) {
  if (args.line == nullptr) return {0, 0};
  const int64_t begin = std::clamp<int64_t>(-args.first, 0, args.columns);
  return {begin, std::clamp<int64_t>(args.width - args.first, begin, args.columns)};
}

void ZeroOutside(const Inside& inside, int64_t columns, float* out) {
  std::fill_n(out, inside.begin * kLanes, 0.0f);
  std::fill_n(out + inside.end * kLanes, (columns - inside.end) * kLanes, 0.0f);
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
    (ZeroOutside(inside, args.columns, args.out + static_cast<int64_t>(kInput) * step), ...);
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
    ZeroOutside(inside, args.columns, out);
    const float* in = args.line + (args.first + inside.begin) * args.pixel + i;
    for (int64_t j = inside.begin; j < inside.end; ++j, in += args.pixel)
      hn::Store(hn::LoadU(D(), in), D(), out + j * kLanes);
  }
}

/// Sums of kOutputs pixels. A column is loaded once and meets every tap that it has; fold
/// expressions over columns keep all of it in registers.
template <GroupedForm kForm, int kStride, int kOutputs, typename Outputs, typename Columns>
struct Strip;
template <GroupedForm kForm, int kStride, int kOutputs, size_t... kOut, size_t... kColumn>
struct Strip<kForm, kStride, kOutputs, std::index_sequence<kOut...>,
             std::index_sequence<kColumn...>> {
  template <int kAt, int kTap>
  static HWY_INLINE void Tap(V* acc, V x, V w) {
    constexpr int kOffset = kAt - kTap;
    if constexpr (kOffset >= 0 && kOffset % kStride == 0 && kOffset / kStride < kOutputs)
      acc[kOffset / kStride] = hn::MulAdd(x, w, acc[kOffset / kStride]);
  }
  template <int kAt>
  static HWY_INLINE void Column(V* acc, const float* x, V w0, V w1, V w2) {
    V column;
    if constexpr (kForm == GroupedForm::kGroupsInVector) {
      column = hn::Load(D(), x + kAt * kLanes);
    } else {
      column = hn::Set(D(), x[kAt * kLanes]);
    }
    Tap<kAt, 0>(acc, column, w0);
    Tap<kAt, 1>(acc, column, w1);
    Tap<kAt, 2>(acc, column, w2);
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
    const float* w = args.weights;
    for (int64_t line = 0; line < args.num_lines; ++line) {
      for (int64_t i = 0; i < args.inputs; ++i, w += kStripTaps * kLanes) {
        const float* x = args.lines[line];
        if constexpr (kForm == GroupedForm::kGroupsInVector) {
          x += i * args.columns * kLanes;
        } else {
          x += i / kLanes * args.columns * kLanes + i % kLanes;
        }
        const V w0 = hn::LoadU(D(), w), w1 = hn::LoadU(D(), w + kLanes),
                w2 = hn::LoadU(D(), w + 2 * kLanes);
        (Column<static_cast<int>(kColumn)>(acc, x, w0, w1, w2), ...);
      }
    }
    (Finish(args, acc[kOut], kOut), ...);
  }
};

template <GroupedForm kForm, int kStride, size_t... kOut>
void FillStrips(GroupedKernels& kernels, std::index_sequence<kOut...>) {
  constexpr auto kIndex = static_cast<size_t>(kForm);
  ((kernels.strip[kIndex][kStride - 1][kOut + 1] =
        Strip<kForm, kStride, static_cast<int>(kOut + 1), std::make_index_sequence<kOut + 1>,
              std::make_index_sequence<kOut * kStride + kStripTaps>>::Run),
   ...);
}

template <GroupedForm kForm>
void Fill(GroupedKernels& kernels) {
  FillStrips<kForm, 1>(kernels, std::make_index_sequence<kMostOutputs>());
  FillStrips<kForm, 2>(kernels, std::make_index_sequence<kMostOutputs>());
}

const GroupedKernels* GroupedTable() {
  static const GroupedKernels table = [] {
    GroupedKernels made;
    made.lanes = kLanes;
    made.most_outputs = kMostOutputs;
    made.spread[0] = SpreadGroups;
    made.spread[1] = SpreadVectors;
    Fill<GroupedForm::kGroupsInVector>(made);
    Fill<GroupedForm::kVectorsInGroup>(made);
    return made;
  }();
  return &table;
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(GroupedTable);

const GroupedKernels& GetGroupedKernels() {
  ApplyIsaCap();
  return *HWY_DYNAMIC_DISPATCH(GroupedTable)();
}

}  // namespace fettle::kernels
#endif
