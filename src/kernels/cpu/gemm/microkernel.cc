#include "kernels/cpu/gemm/microkernel.h"

#include <utility>

#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gemm/microkernel.cc"
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
constexpr size_t kLanes = HWY_LANES(float);

/// Rows that fill the register file with 2 vectors each, less what B and the broadcasts need.
#if HWY_TARGET == HWY_AVX3
constexpr int kMr = 14;
#elif HWY_TARGET == HWY_NEON
constexpr int kMr = 8;  // with 12, g++ loads ahead and spills
#elif HWY_TARGET == HWY_SCALAR
constexpr int kMr = 4;  // what hardly any processor runs is short
#else
constexpr int kMr = 6;
#endif

/// The B of a later pass on its way into the second-level cache. Two streams have more requests
/// under way than prefetchers make, which also end at each page.
struct Ahead {
  const float* first;
  const float* second;
  int64_t step;

  explicit HWY_INLINE Ahead(const TileArgs& args)
      : first(args.next_b),
        second(args.next_b + args.taps * args.depth * args.next_step),
        step(args.next_step) {}

  /// What belongs to `steps` steps of the depth, or nothing where their step is 0.
  HWY_INLINE void Fetch(int64_t steps) {
    // Else g++ makes two loops: half of the code of all tiles.
    asm("" : "+rm"(step));
    if (step == 0) return;
    constexpr int64_t kLine = 64 / sizeof(float);
    const int64_t share = steps * step;
    for (int64_t at = 0; at < share; at += kLine) {
      __builtin_prefetch(first + at, 0, 2);
      __builtin_prefetch(second + at, 0, 2);
    }
    first += share;
    second += share;
  }
};

/// Ends a tile that lacks columns or adds to its sums [row][vector] what lies elsewhere.
#if HWY_TARGET == HWY_SCALAR && HWY_COMPILER_GCC_ACTUAL
[[gnu::noclone]]  // five of 5 KB
#endif
HWY_NOINLINE void
FinishSums(const TileArgs& tile, int rows, int vectors, const float* sums) {
  const TileArgs args = tile;  // stores could change another's
  const V low = hn::Set(D(), args.low), high = hn::Set(D(), args.high);
  for (int r = 0; r < rows; ++r, sums += vectors * kLanes) {
    int64_t at = r * args.c_stride, left = args.columns;
    for (int v = 0; v < vectors && left > 0; ++v, at += args.c_half, left -= kLanes) {
      V x = hn::Load(D(), sums + v * kLanes);
      if (args.accumulate) x = hn::Add(x, LoadUpTo(D(), left, args.c + at));
      if (args.addend != nullptr) x = hn::Add(x, LoadUpTo(D(), left, args.addend + at));
      StoreUpTo(D(), ClampOrNan(x, low, high), left, args.c + at);
    }
  }
}

/// Tiles of few rows keep two partial sums, or the latency of one would bind them. Sixteen
/// registers have no room for those of four rows.
constexpr bool TwoSums(int rows) { return rows < (kMr > 6 ? 5 : 4); }

/// They are bound by reading B. Where `far`, they prefetch a panel 2 KiB ahead, past the end of a
/// page, where the processor's prefetchers stop.
constexpr int64_t kStepsAhead = 512 / (2 * kLanes);
template <int kVectors>
HWY_INLINE void FetchTwoSteps(bool far, const float* b, int64_t step) {
  asm("" : "+r"(far));  // as in Ahead
  if (!far) return;
  constexpr int64_t kLine = 64 / sizeof(float);
  for (int64_t at = 0; at < kVectors * static_cast<int64_t>(kLanes); at += kLine) {
    __builtin_prefetch(b + at, 0, 3);
    __builtin_prefetch(b + step + at, 0, 3);
  }
}

/// Sums of a tile, and steps on them, unrolled by fold expressions: these stay in registers.
template <int kRows, int kVectors, typename Rows>
struct Tile;
template <int kRows, int kVectors, size_t... kRow>
struct Tile<kRows, kVectors, std::index_sequence<kRow...>> {
  static_assert(kVectors <= 2);
  V acc[kRows][kVectors];

  // An implicit constructor would be compiled without the target's options.
  HWY_INLINE Tile() {}

  HWY_INLINE void StartRow(size_t r, const V* first) {
    for (int v = 0; v < kVectors; ++v) acc[r][v] = first[v];
  }
  HWY_INLINE void Start(const float* bias) {
    V first[kVectors];
    for (int v = 0; v < kVectors; ++v)
      first[v] = bias == nullptr ? hn::Zero(D()) : hn::LoadU(D(), bias + v * kLanes);
    (StartRow(kRow, first), ...);
  }

  HWY_INLINE void StepRow(size_t r, V x, const V* b) {
    for (int v = 0; v < kVectors; ++v) MultiplyAddInOrder(x, b[v], acc[r][v]);
  }
  HWY_INLINE void LoadB(const float* b, V* bv) {
    for (int v = 0; v < kVectors; ++v) bv[v] = LoadInOrder(b + v * kLanes);
  }
  /// Step k + kStep of rows anywhere.
  template <int64_t kStep>
  HWY_INLINE void Step(const float* const* rows, int64_t k, const float* b) {
    V bv[kVectors];
    LoadB(b, bv);
    (StepRow(kRow, BroadcastInOrder<kStep>(rows[kRow], k), bv), ...);
  }
  static constexpr size_t kBases = sizeof...(kRow) > kMr ? 4 : 2;
  using Rows = RowBases<sizeof...(kRow), kBases>;
  template <int64_t kStep>
  HWY_INLINE void StepEvenly(const Rows& rows, const float* b) {
    V bv[kVectors];
    LoadB(b, bv);
    (StepRow(kRow, rows.template Broadcast<kRow, kStep>(), bv), ...);
  }
  /// Steps between looks at the depth. With more g++ spills sums of the widest tiles.
  static constexpr int64_t kUnroll =
      HWY_TARGET != HWY_AVX2 && 2 * sizeof...(kRow) * kVectors > 3 * kMr ? 2 : 4;
  /// One tap from its first row's `a`; the end of what it read of `b`.
  [[nodiscard]] HWY_INLINE const float* RunEvenly(const float* a, const TileArgs& args,
                                                  const float* b, Ahead& ahead) {
    Rows rows(a, args.a_step);
    const int64_t b_step = args.b_step;
    int64_t k = 0;
    for (; k + kUnroll <= args.depth; k += kUnroll) {
      ahead.Fetch(kUnroll);
      rows.Hold();
      if constexpr (kVectors == 1) rows.HoldSteps();
      StepEvenly<0>(rows, b);
      AddInOrder(b, b_step);
      StepEvenly<1>(rows, b);
      AddInOrder(b, b_step);
      if constexpr (kUnroll > 2) {
        StepEvenly<2>(rows, b);
        AddInOrder(b, b_step);
        StepEvenly<3>(rows, b);
        AddInOrder(b, b_step);
      }
      rows.Advance(kUnroll);
    }
    for (; k < args.depth; ++k, b += b_step) {
      rows.Hold();
      StepEvenly<0>(rows, b);
      rows.Advance(1);
    }
    return b;
  }
  static constexpr int64_t kUnrollAnywhere = HWY_TARGET == HWY_AVX2 ? 4 : 2;
  /// The same of `rows`.
  [[nodiscard]] HWY_INLINE const float* RunAnywhere(const float* const* rows, const TileArgs& args,
                                                    const float* b, Ahead& ahead) {
    const int64_t step = args.b_step;
    int64_t k = 0;
    for (; k + kUnrollAnywhere <= args.depth; k += kUnrollAnywhere) {
      ahead.Fetch(kUnrollAnywhere);
      Step<0>(rows, k, b);
      AddInOrder(b, step);
      Step<1>(rows, k, b);
      AddInOrder(b, step);
      if constexpr (kUnrollAnywhere > 2) {
        Step<2>(rows, k, b);
        AddInOrder(b, step);
        Step<3>(rows, k, b);
        AddInOrder(b, step);
      }
    }
    for (; k < args.depth; ++k, b += step) Step<0>(rows, k, b);
    return b;
  }
  /// The same; every second step to `odd`.
  [[nodiscard]] HWY_INLINE const float* RunInPairs(const float* const* rows, const TileArgs& args,
                                                   const float* b, Tile& odd) {
    const int64_t step = args.b_step;
    int64_t k = 0;
    for (; k + 2 <= args.depth; k += 2, b += 2 * step) {
      FetchTwoSteps<kVectors>(args.far_b, b + kStepsAhead * step, step);
      Step<0>(rows, k, b);
      odd.template Step<1>(rows, k, b + step);
    }
    for (; k < args.depth; ++k, b += step) Step<0>(rows, k, b);
    return b;
  }
  HWY_INLINE void AddRow(size_t r, const Tile& other) {
    for (int v = 0; v < kVectors; ++v) acc[r][v] = hn::Add(acc[r][v], other.acc[r][v]);
  }
  HWY_INLINE void Add(const Tile& other) { (AddRow(kRow, other), ...); }

  // A loop over vectors would keep the sums in memory on some targets.
  HWY_INLINE void StoreRow(size_t r, float* c, int64_t half, V low, V high) {
    hn::StoreU(ClampOrNan(acc[r][0], low, high), D(), c);
    if constexpr (kVectors > 1) hn::StoreU(ClampOrNan(acc[r][1], low, high), D(), c + half);
  }
  HWY_INLINE void KeepRow(size_t r, float* sums) {
    for (int v = 0; v < kVectors; ++v)
      hn::Store(acc[r][v], D(), sums + (r * kVectors + v) * kLanes);
  }
  HWY_INLINE void Finish(const TileArgs& args) {
    if (args.columns == kVectors * static_cast<int64_t>(kLanes) && !args.accumulate &&
        args.addend == nullptr) {
      const V low = hn::Set(D(), args.low), high = hn::Set(D(), args.high);
      float* c = args.c;
      const int64_t step = args.c_stride, half = args.c_half;  // read once: stores are in between
      ((StoreRow(kRow, c, half, low, high), c += step), ...);
    } else {
      HWY_ALIGN float sums[sizeof...(kRow) * kVectors * kLanes];
      (KeepRow(kRow, sums), ...);
      FinishSums(args, static_cast<int>(sizeof...(kRow)), kVectors, sums);
    }
  }
};

template <int kVectors>
void RunTiles(const TileArgs& first) {
  TileArgs args = first;
  const float* a = *args.a + args.a_offset;
  const bool across = args.repeat_b != 0;
  const int64_t columns = across ? kVectors * static_cast<int64_t>(kLanes) : 0;
  const int64_t rows_of_a = across ? 0 : kMr * args.a_step;
  const int64_t rows_of_c = across ? columns : kMr * args.c_stride;
  for (int64_t i = 0; i < first.repeat; ++i) {
    Tile<kMr, kVectors, std::make_index_sequence<kMr>> tile;
    tile.Start(args.accumulate ? nullptr : args.bias);
    Ahead ahead(args);
    (void)tile.RunEvenly(a, args, args.b, ahead);
    tile.Finish(args);
    a += rows_of_a;
    args.b += args.repeat_b;
    args.c += rows_of_c;
    if (args.bias != nullptr) args.bias += columns;
    if (args.addend != nullptr) args.addend += rows_of_c;
    if (args.next_step != 0) args.next_b += rows_of_a;
  }
}

/// The first row of tap `t` of tiles whose pointers are those of `rows` rows.
HWY_INLINE const float* FirstRow(const TileArgs& args, int64_t t, int64_t rows) {
  const float* first = args.tap_step != 0 ? *args.a + t * args.tap_step : args.a[t * rows];
  return first + args.a_offset;
}

/// All rows of tap `t`, of which `first` is the first.
template <int kRows>
HWY_INLINE void FindRows(const TileArgs& args, int64_t t, const float* first,
                         const float* (&rows)[kRows]) {
  for (int r = 0; r < kRows; ++r)
    rows[r] = args.a_step != 0 ? first + r * args.a_step : args.a[t * kRows + r] + args.a_offset;
}

template <int kRows, int kVectors>
void RunTile(const TileArgs& args) {
  if constexpr (kRows == kMr && !TwoSums(kMr)) {
    if (args.repeat > 1) return RunTiles<kVectors>(args);
  }
  Tile<kRows, kVectors, std::make_index_sequence<kRows>> even, odd;
  even.Start(args.accumulate ? nullptr : args.bias);
  odd.Start(nullptr);
  const float* b = args.b;
  Ahead ahead(args);
  for (int64_t t = 0; t < args.taps; ++t) {
    const float* first = FirstRow(args, t, kRows);
    if constexpr (!TwoSums(kRows)) {
      if (args.a_step != 0) {
        b = even.RunEvenly(first, args, b, ahead);
        continue;
      }
    }
    const float* rows[kRows];
    FindRows<kRows>(args, t, first, rows);
    if constexpr (TwoSums(kRows)) {
      b = even.RunInPairs(rows, args, b, odd);
    } else {
      b = even.RunAnywhere(rows, args, b, ahead);
    }
  }
  if constexpr (TwoSums(kRows)) even.Add(odd);
  even.Finish(args);
}

/// Narrow tiles have fewer sums than hide the latency of multiply-adds, and run in pairs.
constexpr bool kPairs = kMr <= 8 && kLanes > 1;

template <int kRows>
void RunNarrowPair(const TileArgs& args) {
  Tile<kRows, 1, std::make_index_sequence<kRows>> tile;
  tile.Start(args.accumulate ? nullptr : args.bias);
  const float* HWY_RESTRICT b = args.b;
  Ahead ahead(args);
  for (int64_t t = 0; t < args.taps; ++t)
    b = tile.RunEvenly(FirstRow(args, t, kMr), args, b, ahead);
  tile.Finish(args);
}

template <size_t... kRow>
constexpr MicroKernels MakeTable(std::index_sequence<kRow...>) {
  MicroKernels table;
  table.mr = kMr;
  table.nr = 2 * static_cast<int>(kLanes);
  ((table.tile[kRow + 1] = RunTile<kRow + 1, 2>), ...);
  ((table.narrow[kRow + 1] = RunTile<kRow + 1, 1>), ...);
  if constexpr (kPairs) ((table.narrow_pair[kMr + kRow + 1] = RunNarrowPair<kMr + kRow + 1>), ...);
  return table;
}

const MicroKernels* Table() {
  static constexpr MicroKernels table = MakeTable(std::make_index_sequence<kMr>());
  return &table;
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(Table);

const MicroKernels& GetMicroKernels() {
  ApplyIsaCap();
  return *HWY_DYNAMIC_DISPATCH(Table)();
}

}  // namespace fettle::kernels
#endif
