// compiled: by hand
#include "kernels/cpu/weight_only/tile.h"

#include <algorithm>
#include <utility>

#include "kernels/cpu/ask_ahead.h"
#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/weight_only/tile.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/simd/clamp-inl.h"
#include "kernels/cpu/simd/load-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using DI = hn::ScalableTag<int32_t>;
using V = hn::Vec<D>;
constexpr int64_t kLanes = HWY_LANES(float);
constexpr int64_t kNr = 2 * kLanes;
/// Rows whose sums fit into the register file.
constexpr int kRows = HWY_TARGET == HWY_AVX3 ? 8 : HWY_TARGET == HWY_SCALAR ? 1 : 4;

/// Of codes of 2 bits.
constexpr int kPairRows = kRows < 2 ? kRows : 2;

/// A step of 2-bit or 4-bit codes.
template <int kBitsOfCode>
struct Words {
  static constexpr int kBits = kBitsOfCode;
  hn::Vec<DI> words[2];
#if HWY_TARGET == HWY_AVX3
  // A permutation of 16 floats reads the low 4 bits of each index: it is a table of all codes.
  V table;
  HWY_INLINE Words() {
    alignas(64) static constexpr float kNibbles[16] = {0,  1,  2,  3,  4,  5,  6,  7,
                                                       -8, -7, -6, -5, -4, -3, -2, -1};
    alignas(64) static constexpr float kPairs[16] = {0, 1, -2, -1, 0, 1, -2, -1,
                                                     0, 1, -2, -1, 0, 1, -2, -1};
    table = hn::Load(D(), kBits == 4 ? kNibbles : kPairs);
  }
  template <int kRow>
  HWY_INLINE V Get(int v) const {
    return V{_mm512_permutexvar_ps(hn::ShiftRight<kBits * kRow>(words[v]).raw, table.raw)};
  }
#else
  HWY_INLINE Words() {}
  template <int kRow>
  HWY_INLINE V Get(int v) const {
    constexpr int kAbove = 32 - kBits;
    return hn::ConvertTo(D(),
                         hn::ShiftRight<kAbove>(hn::ShiftLeft<kAbove - kBits * kRow>(words[v])));
  }
#endif
  HWY_INLINE void Load(const std::byte* step) {
    for (int v = 0; v < 2; ++v) {
      if constexpr (kBits == 4) {
        words[v] = hn::Load(DI(), reinterpret_cast<const int32_t*>(step) + v * kLanes);
      } else {
        const hn::Rebind<int16_t, DI> narrow;
        words[v] = hn::PromoteTo(
            DI(), hn::Load(narrow, reinterpret_cast<const int16_t*>(step) + v * kLanes));
      }
    }
  }
};

/// A step of 8-bit codes.
struct Bytes {
  static constexpr int kBits = 8;
  const int8_t* codes = nullptr;
  HWY_INLINE Bytes() {}
  HWY_INLINE void Load(const std::byte* step) { codes = reinterpret_cast<const int8_t*>(step); }
  template <int kRow>
  HWY_INLINE V Get(int v) const {
    return LoadFloats(D(), codes + kRow * kNr + v * kLanes);
  }
};

/// The zero points of a block, where there are any.
template <bool kZeros>
struct ZeroPoints {
  V points[2];
  HWY_INLINE ZeroPoints() {}
  HWY_INLINE void Load(const int8_t* zeros) {
    for (int v = 0; kZeros && v < 2; ++v) points[v] = LoadFloats(D(), zeros + v * kLanes);
  }
  HWY_INLINE V Shift(V code, int v) const {
    if constexpr (kZeros) {
      return hn::Sub(code, points[v]);
    } else {
      return code;
    }
  }
};

/// The sums of a block. Tiles of one and two rows keep two partial sums, or the latency of one
/// would bind them.
template <typename Codes, bool kZeros, typename Rows>
struct Tile;
template <typename Codes, bool kZeros, size_t... kRow>
struct Tile<Codes, kZeros, std::index_sequence<kRow...>> {
  static constexpr size_t kHeight = sizeof...(kRow), kSums = kHeight <= 2 ? 2 : 1;
  V sums[kSums][kHeight][2];
  Codes codes;
  ZeroPoints<kZeros> zeros;

  // An implicit constructor would be compiled without the target's options.
  HWY_INLINE Tile() {}

  HWY_INLINE void ClearRow(size_t r) {
    for (size_t s = 0; s < kSums; ++s) sums[s][r][0] = sums[s][r][1] = hn::Zero(D());
  }
  HWY_INLINE void Clear() { (ClearRow(kRow), ...); }

  HWY_INLINE void AddRow(size_t s, size_t r, const float* a, const V* w) {
    const V x = hn::Set(D(), *a);
    sums[s][r][0] = hn::MulAdd(x, w[0], sums[s][r][0]);
    sums[s][r][1] = hn::MulAdd(x, w[1], sums[s][r][1]);
  }
  template <int kDepth>
  HWY_INLINE void AddDepth(const float* const* rows, int64_t k) {
    const V w[2] = {zeros.Shift(codes.template Get<kDepth>(0), 0),
                    zeros.Shift(codes.template Get<kDepth>(1), 1)};
    (AddRow(kDepth % kSums, kRow, rows[kRow] + k + kDepth, w), ...);
  }
  HWY_INLINE void Step(const std::byte* step, const float* const* rows, int64_t k) {
    codes.Load(step);
    AddDepth<0>(rows, k);
    AddDepth<1>(rows, k);
    AddDepth<2>(rows, k);
    AddDepth<3>(rows, k);
    AddDepth<4>(rows, k);
    AddDepth<5>(rows, k);
    AddDepth<6>(rows, k);
    AddDepth<7>(rows, k);
  }
  HWY_INLINE V Sum(size_t r, int v) const {
    return kSums == 1 ? sums[0][r][v] : hn::Add(sums[0][r][v], sums[kSums - 1][r][v]);
  }
  HWY_INLINE void ScaleRow(size_t r, const V* scale, V (*totals)[2]) const {
    totals[r][0] = hn::MulAdd(Sum(r, 0), scale[0], totals[r][0]);
    totals[r][1] = hn::MulAdd(Sum(r, 1), scale[1], totals[r][1]);
  }
  HWY_INLINE void Scale(const float* scales, V (*totals)[2]) const {
    const V scale[2] = {hn::LoadU(D(), scales), hn::LoadU(D(), scales + kLanes)};
    (ScaleRow(kRow, scale, totals), ...);
  }
};

HWY_INLINE void StoreColumns(V x, const PanelTile& tile, float* at, int64_t left) {
  if (left <= 0) return;
  x = ClampOrNan(x, hn::Set(D(), tile.low), hn::Set(D(), tile.high));
  if (left >= kLanes) {
    hn::StoreU(x, D(), at);
  } else {
    StoreFirst(D(), x, left, at);
  }
}

/// Rows whose block ends in a step: copies with zeros behind them.
template <int kHeight>
HWY_INLINE void TakeRest(const float* (&rows)[kHeight], int64_t count,
                         float (&rest)[kHeight][kPanelStep]) {
  for (int r = 0; r < kHeight; ++r) {
    for (int64_t i = 0; i < kPanelStep; ++i) rest[r][i] = i < count ? rows[r][i] : 0;
    rows[r] = rest[r];
  }
}

/// Height of the code that takes a tile of `rows`. Five and seven rows have none of their own, for
/// the size of the code: their last row is computed twice.
constexpr int HeightOf(int rows) { return rows == 5 || rows == 7 ? rows + 1 : rows; }
HWY_INLINE int64_t RowOf(int64_t r, const PanelTile& tile) { return std::min(r, tile.rows - 1); }

template <int kHeight, typename Codes, bool kZeros>
void RunTile(const PanelTile& tile) {
  const Panel& panel = tile.panel;
  Tile<Codes, kZeros, std::make_index_sequence<kHeight>> sums;
  V totals[kHeight][2];
  const float* rows[kHeight];
  for (int r = 0; r < kHeight; ++r) {
    for (int v = 0; v < 2; ++v) {
      totals[r][v] = tile.bias == nullptr ? hn::Zero(D()) : hn::LoadU(D(), tile.bias + v * kLanes);
    }
  }
  const std::byte* block = panel.codes;
  const float* scales = panel.scales;
  const int8_t* zeros = panel.zeros;
  for (int64_t begin = 0; begin < panel.k; begin += panel.block) {
    const int64_t end = std::min(begin + panel.block, panel.k);
    const std::byte* step = block;
    sums.Clear();
    sums.zeros.Load(zeros);
    for (int r = 0; r < kHeight; ++r) rows[r] = tile.a + RowOf(r, tile) * tile.a_stride + begin;
    // One step for whole and partial ones: code for each would be twice as long.
    for (int64_t k = begin; k < end; k += kPanelStep, step += kNr * Codes::kBits) {
      float rest[kHeight][kPanelStep];
      AskAhead<kNr * Codes::kBits>(step);
      if (k + kPanelStep > end) TakeRest(rows, end - k, rest);
      sums.Step(step, rows, 0);
      for (int r = 0; r < kHeight; ++r) rows[r] += kPanelStep;
    }
    sums.Scale(scales, totals);
    block += panel.block_bytes;
    scales += kNr;
    if (kZeros) zeros += kNr;
  }
  for (int r = 0; r < kHeight; ++r) {
    float* c = tile.c + RowOf(r, tile) * tile.c_stride;
    StoreColumns(totals[r][0], tile, c, tile.columns);
    StoreColumns(totals[r][1], tile, c + kLanes, tile.columns - kLanes);
  }
}

template <int kHeight, typename Codes>
void RunTileOf(const PanelTile& tile) {
  (tile.panel.zeros == nullptr ? RunTile<kHeight, Codes, false>
                               : RunTile<kHeight, Codes, true>)(tile);
}

template <int kRow, bool kZeros, typename Codes>
HWY_INLINE void DecodeRow(const Codes& codes, const ZeroPoints<kZeros>& zeros, const V* scale,
                          int64_t count, float* out) {
  if (kRow >= count) return;
  for (int v = 0; v < 2; ++v) {
    const V w = zeros.Shift(codes.template Get<kRow>(v), v);
    hn::StoreU(hn::Mul(w, scale[v]), D(), out + kRow * kNr + v * kLanes);
  }
}
template <bool kZeros, typename Codes, size_t... kRow>
HWY_INLINE void DecodeStep(const Codes& codes, const ZeroPoints<kZeros>& zeros, const V* scale,
                           int64_t count, float* out, std::index_sequence<kRow...>) {
  (DecodeRow<kRow>(codes, zeros, scale, count, out), ...);
}

template <typename Codes, bool kZeros>
void Decode(const Panel& panel, int64_t begin, int64_t end, float* out) {
  Codes codes;
  ZeroPoints<kZeros> zeros;
  while (begin < end) {
    const int64_t block = begin / panel.block, first = begin - block * panel.block;
    const int64_t stop = std::min(end, (block + 1) * panel.block);
    const float* scales = panel.scales + block * kNr;
    const V scale[2] = {hn::LoadU(D(), scales), hn::LoadU(D(), scales + kLanes)};
    if (kZeros) zeros.Load(panel.zeros + block * kNr);
    const std::byte* step =
        panel.codes + block * panel.block_bytes + first / kPanelStep * kNr * Codes::kBits;
    for (; begin < stop; begin += kPanelStep, step += kNr * Codes::kBits) {
      codes.Load(step);
      const int64_t count = std::min(kPanelStep, stop - begin);
      DecodeStep<kZeros>(codes, zeros, scale, count, out, std::make_index_sequence<kPanelStep>());
      out += count * kNr;
    }
    begin = stop;
  }
}

template <typename Codes>
void DecodeRows(const Panel& panel, int64_t begin, int64_t end, float* out) {
  (panel.zeros == nullptr ? Decode<Codes, false> : Decode<Codes, true>)(panel, begin, end, out);
}

template <typename Codes, size_t... kRow>
constexpr PanelKernels MakeTable(std::index_sequence<kRow...>) {
  PanelKernels table;
  table.nr = kNr;
  table.rows = sizeof...(kRow);
  // With AVX2 four tiles of four rows take less than decoding, too.
  table.direct_rows = table.rows * (HWY_TARGET == HWY_AVX2 && table.rows == 4 ? 4 : 2);
  ((table.tile[kRow + 1] = RunTileOf<HeightOf(kRow + 1), Codes>), ...);
  table.decode = DecodeRows<Codes>;
  return table;
}

const PanelKernels* TableOf(int bits) {
  // Few rows alone, for the size of the code: from then on decoding a panel once is cheap.
  static constexpr PanelKernels pairs = MakeTable<Words<2>>(std::make_index_sequence<kPairRows>());
  static constexpr PanelKernels nibbles = MakeTable<Words<4>>(std::make_index_sequence<kRows>());
  static constexpr PanelKernels bytes = MakeTable<Bytes>(std::make_index_sequence<kRows>());
  return bits == 2 ? &pairs : bits == 4 ? &nibbles : &bytes;
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels {

HWY_EXPORT(TableOf);

const PanelKernels& GetPanelKernels(int bits) {
  ApplyIsaCap();
  return *HWY_DYNAMIC_DISPATCH(TableOf)(bits);
}

}  // namespace fettle::kernels
#endif
