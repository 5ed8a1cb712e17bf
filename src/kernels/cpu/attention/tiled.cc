// compiled: small
// cpu.attention.tiled: Softmax between two products, with what moves the elements of their
// operands, in fp32. Keys are packed once; a block of queries meets them tile by tile, and results
// so far are rescaled where a tile has a greater score ("FlashAttention", Dao et al., 2022): scores
// never leave the caches. Keys before the first and behind the last that a block sees are left out.
#include <algorithm>

#include "kernels/cpu/attention/masked_scores.h"
#include "kernels/cpu/attention/score_rows.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/operands.h"
#include "kernels/family.h"
#include "kernels/match/attention.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

/// Rows of a block of queries, about, and keys of a tile.
constexpr int64_t kRows = 64, kKeys = 256;

class TiledAttention final : public CpuKernel {
 public:
  TiledAttention(const Problem& problem, const Attention& attention)
      : CpuKernel(problem.threads),
        a_(attention),
        masks_(problem.group, attention),
        kernels_(GetMicroKernels()),
        blocks_(CeilDiv(a_.queries, kRows)),
        rows_(RoundUp(CeilDiv(a_.queries, blocks_), kernels_.mr)),
        tile_(std::min(RoundUp(kKeys, kernels_.nr), RoundUp(a_.keys, kernels_.nr))),
        stride_(tile_ + kPadding) {
    blocks_ = CeilDiv(a_.queries, rows_);
    q_ = InputOf(*problem.group, a_.q.value);
    k_ = InputOf(*problem.group, a_.k.value);
    v_ = InputOf(*problem.group, a_.v.value);
    reads_values_ = a_.v.column_stride == 1 && a_.v_size % 16 == 0;
    packed_ = PerRun<float>(a_.matrices * (KeyFloats() + ValueFloats()));
  }

  std::vector<PackRequest> packs() const override { return masks_.packs(); }

  Status Run(const CpuLaunch& args) const override {
    const int64_t tiles = CeilDiv(a_.keys, tile_);
    args.stream.ParallelFor(a_.matrices * tiles, [&](int64_t task, int) {
      Pack(args, task / tiles, task % tiles * tile_);
    });
    args.stream.ParallelFor(a_.matrices * blocks_, [&](int64_t task, int lane) {
      RunBlockOf(args, task / blocks_, task % blocks_ * rows_, LaneOf(args, lane));
    });
    return OkStatus();
  }

 private:
  /// Packed keys of a matrix: panels of nr keys, [panel][qk_size][nr].
  int64_t KeyFloats() const { return RoundUp(a_.keys, kernels_.nr) * a_.qk_size; }
  /// Packed values of a matrix where they cannot be read as they lie: [tile][panel][keys][nr].
  int64_t ValueFloats() const {
    return reads_values_ ? 0 : CeilDiv(a_.keys, tile_) * tile_ * RoundUp(a_.v_size, kernels_.nr);
  }
  struct Lane {
    float *q, *y, *scores;
    TiledRow* known;
    const float** pointers;
  };
  Lane LaneOf(const CpuLaunch& args, int lane) const {
    return {args.At(queries_, lane), args.At(results_, lane), args.At(scores_, lane),
            args.At(known_, lane), args.At(pointers_, lane)};
  }

  float* Keys(const CpuLaunch& args, int64_t matrix) const {
    return args.At(packed_) + matrix * (KeyFloats() + ValueFloats());
  }

  /// A tile of keys and values.
  void Pack(const CpuLaunch& args, int64_t matrix, int64_t begin) const {
    const int64_t end = std::min(begin + tile_, a_.keys);
    for (int64_t n = begin; n < end; n += kernels_.nr) {
      PackPanel({RowsOf(args, k_, a_.k, matrix, n), a_.k.column_stride, a_.k.row_stride},
                a_.qk_size, std::min<int64_t>(kernels_.nr, end - n), kernels_.nr, 1,
                Keys(args, matrix) + n * a_.qk_size);
    }
    if (reads_values_) return;
    const float* values = RowsOf(args, v_, a_.v, matrix, begin);
    float* to = Values(args, matrix, begin);
    for (int64_t n = 0; n < a_.v_size; n += kernels_.nr) {
      PackPanel({values + n * a_.v.column_stride, a_.v.row_stride, a_.v.column_stride}, end - begin,
                std::min<int64_t>(kernels_.nr, a_.v_size - n), kernels_.nr, 1,
                to + n * (end - begin));
    }
  }
  /// Packed values of the tile from key `begin` on.
  float* Values(const CpuLaunch& args, int64_t matrix, int64_t begin) const {
    return Keys(args, matrix) + KeyFloats() + begin * RoundUp(a_.v_size, kernels_.nr);
  }

  /// The keys that some of the queries see, from a whole panel on.
  KeyRange SeenBy(const CpuLaunch& args, int64_t matrix, int64_t query, int64_t rows) const {
    KeyRange seen = masks_.SeenBy(args, matrix, query, rows);
    seen.begin -= seen.begin % kernels_.nr;
    return seen;
  }

  void RunBlockOf(const CpuLaunch& args, int64_t matrix, int64_t query, const Lane& lane) const {
    const int64_t rows = std::min(rows_, a_.queries - query);
    ScaleQueries(args, a_, q_, matrix, query, rows, lane.q);
    std::fill_n(lane.known, rows, TiledRow());
    const KeyRange seen = SeenBy(args, matrix, query, rows);
    for (int64_t tile = seen.begin / tile_ * tile_; tile < seen.end; tile += tile_) {
      const int64_t begin = std::max(tile, seen.begin), end = std::min(tile + tile_, seen.end);
      RunTile(args, matrix, query, rows, {begin, end}, begin == seen.begin, lane);
    }
    StoreRows(args, a_, matrix, query, rows, lane.known, lane.y);
  }

  /// Keys of one tile.
  void RunTile(const CpuLaunch& args, int64_t matrix, int64_t query, int64_t rows,
               const KeyRange& range, bool is_first, const Lane& lane) const {
    const int64_t begin = range.begin, keys = range.end - begin;
    BlockArgs scores;
    scores.depth = a_.qk_size;
    scores.b = Keys(args, matrix) + begin * a_.qk_size;
    scores.columns = keys;
    scores.c_stride = stride_, scores.far_b = false;
    Multiply(lane, {lane.q, a_.qk_size}, rows, scores, lane.scores);
    masks_.Apply(args, {matrix, query, rows, begin, keys, stride_, lane.scores});
    for (int64_t r = 0; r < rows; ++r) {
      const float factor = WeighTile(lane.scores + r * stride_, keys, lane.known[r]);
      if (is_first || factor == 1) continue;
      ScaleRow(lane.y + r * a_.v_size, a_.v_size, factor, lane.y + r * a_.v_size);
    }
    BlockArgs sums;
    sums.depth = keys;
    sums.columns = sums.c_stride = a_.v_size;
    sums.accumulate = !is_first;
    sums.far_b = false;
    if (reads_values_) {
      sums.b = RowsOf(args, v_, a_.v, matrix, begin);
      sums.b_step = a_.v.row_stride;
    } else {
      const int64_t tile = begin / tile_ * tile_;
      sums.b = Values(args, matrix, tile) + (begin - tile) * kernels_.nr;
      sums.panel_stride = std::min(tile_, a_.keys - tile) * kernels_.nr;
    }
    Multiply(lane, {lane.scores, stride_}, rows, sums, lane.y);
  }

  void Multiply(const Lane& lane, const EvenRows& a, int64_t rows, BlockArgs work, float* c) const {
    TileSpan tiles[2 * kRows];
    work.tiles = CutTiles(kernels_.mr, a, rows, c, work.c_stride, lane.pointers, tiles);
    RunBlock(kernels_, work);
  }

  Attention a_;
  MaskedScores masks_;
  const MicroKernels& kernels_;
  int64_t blocks_, rows_;  // of a matrix, and queries of a block
  int64_t tile_, stride_;  // keys, and floats between rows of scores
  int q_ = -1, k_ = -1, v_ = -1;
  bool reads_values_ = false;  // as they lie
  RunScratch<float> packed_;   // keys and values of each matrix
  LaneScratch<float> queries_ = PerLane<float>(rows_ * a_.qk_size);
  LaneScratch<float> results_ = PerLane<float>(rows_ * a_.v_size);
  LaneScratch<float> scores_ = PerLane<float>(rows_ * stride_);
  LaneScratch<TiledRow> known_ = PerLane<TiledRow>(rows_);
  LaneScratch<const float*> pointers_ = PerLane<const float*>(2 * rows_);
};

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Attention&,
                                            const Device&) {
  return std::vector<StateAssignment>{WidenedStates(group)};
}

/// Few queries, or few keys, gain nothing before it is measured.
int Taste(const Attention& attention, const Device&) {
  const bool is_large = attention.queries >= 32 && attention.queries * attention.keys >= 1 << 12;
  return is_large ? 10 : kOnlyMeasured;
}

constexpr Family<Attention> kFamily{
    .read = ReadFloatAttention, .states = States, .prepare = Make<TiledAttention>, .taste = Taste};

}  // namespace

extern const KernelDesc kCpuAttentionTiled;
const KernelDesc kCpuAttentionTiled = {.name = "cpu.attention.tiled", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
