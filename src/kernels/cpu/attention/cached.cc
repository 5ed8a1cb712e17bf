// compiled: small
// cpu.attention.cached: GroupQueryAttention with lengths that are known at launch alone, in fp32,
// with a cache of floats or halves.
// The queries that share a key head are rows of one product. Keys come in tiles, and results so far
// are rescaled where a tile has a greater score ("FlashAttention", Dao et al., 2022): no row of
// scores is longer than a tile. Few rows (a step that makes one word) read keys and values as they
// lie in the cache, each once, in chunks that are tasks of their own and joined afterwards; more of
// them multiply packed panels, and keys that no query of a block sees are left out.
#include <algorithm>
#include <cmath>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/attention/cached_keys.h"
#include "kernels/cpu/attention/score_rows.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/zeros.h"
#include "kernels/family.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

/// Keys of a chunk, and of a tile of few and of many rows. Chunks do not follow the threads: no sum
/// depends on them.
constexpr int64_t kChunkKeys = 512, kFewKeys = 64, kTileKeys = 256;

class CachedAttention final : public CpuKernel {
 public:
  CachedAttention(const Problem& problem, const CachedFacts& facts)
      : CpuKernel(problem.threads),
        group_(problem.group),
        cache_(problem, facts),
        f_(facts),
        kernels_(GetMicroKernels()),
        is_few_(facts.has_few_rows()),
        queries_(facts.block_queries()),
        rows_(queries_ * f_.group()),
        tile_(is_few_ ? kFewKeys : RoundUp(kTileKeys, kernels_.nr)),
        stride_(tile_ + kPadding) {}

  std::vector<PackRequest> packs() const override { return cache_.operands().packs(*group_); }

  Status Run(const CpuLaunch& args) const override {
    RETURN_IF_ERROR(cache_.Begin(args));
    ASSIGN_OR_RETURN(const int64_t most, cache_.MostKeys(args));
    const bool in_place = (cache_.IsInPlace(args, 1) || !cache_.IsWritten(1)) &&
                          (cache_.IsInPlace(args, 2) || !cache_.IsWritten(2));
    // What lies behind the last key is written where the new cache is other memory alone.
    const int64_t keys = in_place ? most : f_.keys;
    if (is_few_) return LaunchFew(args, CeilDiv(keys, kChunkKeys));
    const int64_t parts = CeilDiv(keys, tile_);
    args.stream.ParallelFor(heads() * parts, [&](int64_t task, int lane) {
      PackPart(args, task / parts, task % parts * tile_, lane);
    });
    const int64_t blocks = CeilDiv(f_.a.length, queries_);
    args.stream.ParallelFor(heads() * blocks, [&](int64_t task, int lane_index) {
      // Later blocks see more keys: they come first.
      const int64_t query = (blocks - 1 - task / heads()) * queries_;
      const Block block = BlockOf(args, task % heads(), query);
      const Lane lane = LaneOf(args, lane_index);
      Rows rows = Start(args, block, lane, lane.y);
      for (int64_t at = block.begin; at < block.end; at += tile_)
        RunTile(args, block, lane, at, std::min(block.end, at + tile_), rows);
      Finish(args, block, rows);
    });
    return OkStatus();
  }

 private:
  int64_t heads() const { return f_.a.batch * f_.a.kv_heads; }
  int64_t HeadPanelFloats() const { return RoundUp(f_.keys, kernels_.nr) * f_.a.size; }
  int64_t Chunks() const { return CeilDiv(f_.keys, kChunkKeys); }  // of few rows
  /// Results of a chunk: rows, and what is known of their scores.
  int64_t PartFloats() const { return rows_ * (f_.a.v_size + 2); }

  /// Where a lane's arrays lie.
  struct Lane {
    float *q, *y, *scores, *keys, *panel;
    TiledRow* known;
    float* factors;
    const float** pointers;
  };
  Lane LaneOf(const CpuLaunch& args, int lane) const {
    return {args.At(q_, lane),       args.At(y_, lane),       args.At(scores_, lane),
            args.At(keys_, lane),    args.At(panel_, lane),   args.At(known_, lane),
            args.At(factors_, lane), args.At(pointers_, lane)};
  }

  /// Queries of a key head: `first` of them in the sequence, keys [begin, end) that any of them
  /// sees.
  struct Block {
    int64_t head, query, queries;
    KeyLengths lengths;
    int64_t begin, end;
  };
  Block BlockOf(const CpuLaunch& args, int64_t head, int64_t query) const {
    Block block = {head,
                   query,
                   std::min(queries_, f_.a.length - query),
                   cache_.LengthsOf(args, head / f_.a.kv_heads),
                   0,
                   0};
    const int64_t position = block.lengths.first_new + query;
    // Panels begin at multiples.
    block.begin = f_.FirstSeen(position) / kernels_.nr * kernels_.nr;
    block.end = std::min(position + block.queries, block.lengths.valid);
    return block;
  }

  /// What is known of the rows of a block: results so far, and their scores.
  struct Rows {
    float* y;
    TiledRow* known;
    float* factors;
  };
  /// The scaled queries of a block, and rows that have seen nothing.
  Rows Start(const CpuLaunch& args, const Block& block, const Lane& lane, float* y) const {
    const int64_t width = f_.group() * f_.a.size, row = f_.a.kv_heads * width;
    const int64_t batch = block.head / f_.a.kv_heads, kv = block.head % f_.a.kv_heads;
    const float* q = Input(args, 0) + (batch * f_.a.length + block.query) * row + kv * width;
    const auto scale = static_cast<float>(f_.a.scale);
    for (int64_t i = 0; i < block.queries; ++i)
      ScaleRow(q + i * row, width, scale, lane.q + i * width);
    const int64_t rows = block.queries * f_.group();
    Rows started = {y, lane.known, lane.factors};
    FillZeros(y, rows * f_.a.v_size);
    std::fill_n(started.known, rows, TiledRow());
    return started;
  }

  /// Keys [begin, end), at most a tile, all of them stored.
  void RunTile(const CpuLaunch& args, const Block& block, const Lane& lane, int64_t begin,
               int64_t end, const Rows& rows) const {
    const int64_t count = block.queries * f_.group(), keys = end - begin;
    Score(args, block, lane, begin, keys, count);
    for (int64_t r = 0; r < count; ++r) {
      const int64_t position = block.lengths.first_new + block.query + r / f_.group();
      const int64_t first = std::clamp<int64_t>(f_.FirstSeen(position) - begin, 0, keys);
      const int64_t last =
          std::clamp<int64_t>(std::min(position + 1, block.lengths.valid) - begin, first, keys);
      float* s = lane.scores + r * stride_;
      FillZeros(s, first);
      FillZeros(s + last, keys - last);
      rows.factors[r] = 1;
      if (first == last) continue;
      if (f_.a.softcap != 0) CapScores(static_cast<float>(f_.a.softcap), last - first, s + first);
      if (!f_.bias_strides.empty()) AddBias(args, block, r, begin, first, last, s);
      rows.factors[r] = WeighTile(s + first, last - first, rows.known[r]);
    }
    Combine(args, block, lane, begin, keys, count, rows);
  }

  void AddBias(const CpuLaunch& args, const Block& block, int64_t row, int64_t begin, int64_t first,
               int64_t last, float* s) const {
    const Dims& strides = f_.bias_strides;
    const int64_t batch = block.head / f_.a.kv_heads, kv = block.head % f_.a.kv_heads;
    const float* bias = Input(args, 7) + batch * strides[0] +
                        (kv * f_.group() + row % f_.group()) * strides[1] +
                        (block.query + row / f_.group()) * strides[2] + begin * strides[3];
    for (int64_t i = first; i < last; ++i) s[i] += bias[i * strides[3]];
  }

  void Finish(const CpuLaunch& args, const Block& block, const Rows& rows) const {
    auto* out = reinterpret_cast<float*>(cache_.operands().output(args, 0));
    if (out == nullptr) return;
    const int64_t size = f_.a.v_size, batch = block.head / f_.a.kv_heads;
    const int64_t head = block.head % f_.a.kv_heads * f_.group();
    const float* sinks = f_.has_sinks ? Input(args, 8) + head : nullptr;
    for (int64_t r = 0; r < block.queries * f_.group(); ++r) {
      float* to = out + ((batch * f_.a.length + block.query + r / f_.group()) * f_.a.q_heads +
                         head + r % f_.group()) *
                            size;
      // A row that sees no key is zero; one whose scores are all -infinity has no value.
      const int64_t position = block.lengths.first_new + block.query + r / f_.group();
      const bool sees = f_.FirstSeen(position) < block.lengths.valid;
      const float own =
          sinks == nullptr ? 0.0F : std::exp(sinks[r % f_.group()] - rows.known[r].max);
      const float factor = sees ? 1 / (rows.known[r].sum + own) : 0.0F;
      ScaleRow(rows.y + r * size, size, factor, to);
    }
  }

  StoredRows Stored(const CpuLaunch& args, size_t operand, const Block& block, const Lane& lane,
                    int64_t begin, int64_t keys) const {
    return cache_.Stored(args, operand, block.head, begin, begin + keys, block.end, lane.keys);
  }

  void Score(const CpuLaunch& args, const Block& block, const Lane& lane, int64_t begin,
             int64_t keys, int64_t rows) const {
    const int64_t size = f_.a.size;
    if (is_few_)
      return ScoreRows(lane.q, rows, size, Stored(args, 1, block, lane, begin, keys), keys, stride_,
                       lane.scores);
    BlockArgs work;
    work.depth = size;
    work.b = args.At(shared_) + block.head * HeadPanelFloats() + begin * size;
    work.columns = keys;
    work.c_stride = stride_;
    Multiply(lane, {lane.q, size}, rows, work, lane.scores);
  }

  void Combine(const CpuLaunch& args, const Block& block, const Lane& lane, int64_t begin,
               int64_t keys, int64_t count, const Rows& rows) const {
    const int64_t size = f_.a.v_size;
    if (is_few_)
      return AddValues(lane.scores, count, stride_, Stored(args, 2, block, lane, begin, keys), size,
                       keys, rows.factors, rows.y);
    const float* values = cache_.Rows(args, 2, block.head, begin, begin + keys, lane.keys);
    for (int64_t r = 0; r < count; ++r) {
      for (int64_t d = 0; d < size; ++d) rows.y[r * size + d] *= rows.factors[r];
    }
    BlockArgs work;
    work.depth = keys;
    work.c_stride = size;
    work.b = values;
    work.b_step = size;
    work.columns = size;
    work.accumulate = true;
    if (size % 16 == 0) return Multiply(lane, {lane.scores, stride_}, count, work, rows.y);
    // Whole vectors would read behind the last row.
    work.b = lane.panel;
    work.b_step = 0;
    for (int64_t n = 0; n < size; n += kernels_.nr) {
      work.columns = std::min<int64_t>(kernels_.nr, size - n);
      PackPanel({values + n, size}, keys, work.columns, kernels_.nr, 1, lane.panel);
      Multiply(lane, {lane.scores, stride_}, count, work, rows.y + n);
    }
  }

  /// C [rows, columns] = A [rows, depth] * B, or what `work` says is added.
  void Multiply(const Lane& lane, const EvenRows& a, int64_t rows, BlockArgs work, float* c) const {
    TileSpan tiles[CachedFacts::kMostHeads];
    work.tiles = CutTiles(kernels_.mr, a, rows, c, work.c_stride, lane.pointers, tiles);
    RunBlock(kernels_, work);
  }

  /// Stores a tile of a head and packs its keys.
  void PackPart(const CpuLaunch& args, int64_t head, int64_t begin, int lane) const {
    const int64_t size = f_.a.size, end = std::min(begin + tile_, f_.keys);
    for (size_t operand : {1, 2}) cache_.Store(args, operand, head, begin, end);
    const KeyLengths lengths = cache_.LengthsOf(args, head / f_.a.kv_heads);
    const int64_t stop = std::min(end, lengths.valid);
    if (stop <= begin) return;
    const float* keys = cache_.Rows(args, 1, head, begin, stop, LaneOf(args, lane).keys);
    float* panels = args.At(shared_) + head * HeadPanelFloats();
    for (int64_t n = begin; n < stop; n += kernels_.nr)
      PackPanel({keys + (n - begin) * size, 1, size}, size,
                std::min<int64_t>(kernels_.nr, stop - n), kernels_.nr, 1, panels + n * size);
  }

  Status LaunchFew(const CpuLaunch& args, int64_t chunks) const {
    args.stream.ParallelFor(heads() * chunks, [&](int64_t task, int lane) {
      RunChunk(args, task / chunks, task % chunks, chunks, LaneOf(args, lane));
    });
    if (chunks == 1) return OkStatus();
    args.stream.ParallelFor(heads(), [&](int64_t head, int) { JoinChunks(args, head, chunks); });
    return OkStatus();
  }

  /// Where a chunk of a head leaves its results.
  Rows PartOf(const CpuLaunch& args, int64_t head, int64_t chunk, int64_t chunks) const {
    float* y = args.At(shared_) + (head * chunks + chunk) * PartFloats();
    return {y, reinterpret_cast<TiledRow*>(y + rows_ * f_.a.v_size), nullptr};
  }

  /// Stores a chunk of a head, and computes what it gives the rows.
  void RunChunk(const CpuLaunch& args, int64_t head, int64_t chunk, int64_t chunks,
                const Lane& lane) const {
    const Block block = BlockOf(args, head, 0);
    Rows rows = Start(args, block, lane, PartOf(args, head, chunk, chunks).y);
    const int64_t begin = chunk * kChunkKeys, end = std::min(f_.keys, begin + kChunkKeys);
    for (int64_t at = begin; at < end; at += tile_) {
      const int64_t stop = std::min(end, at + tile_);
      for (size_t operand : {1, 2}) cache_.Store(args, operand, head, at, stop);
      const int64_t first = std::max(at, block.begin), last = std::min(stop, block.end);
      if (first < last) RunTile(args, block, lane, first, last, rows);
    }
    if (chunks == 1) return Finish(args, block, rows);
    std::copy_n(rows.known, rows_, PartOf(args, head, chunk, chunks).known);
  }

  /// The results of all chunks become those of the first, and those the output.
  void JoinChunks(const CpuLaunch& args, int64_t head, int64_t chunks) const {
    const Rows sum = PartOf(args, head, 0, chunks);
    for (int64_t chunk = 1; chunk < chunks; ++chunk) {
      const Rows part = PartOf(args, head, chunk, chunks);
      JoinRows(part.y, part.known, rows_, f_.a.v_size, sum.y, sum.known);
    }
    Finish(args, BlockOf(args, head, 0), sum);
  }

  const float* Input(const CpuLaunch& args, size_t i) const {
    return reinterpret_cast<const float*>(cache_.operands().input(args, i));
  }

  std::shared_ptr<const ir::Graph> group_;
  CachedKeys cache_;
  CachedFacts f_;
  const MicroKernels& kernels_;
  bool is_few_;
  int64_t queries_, rows_;  // most of a block
  int64_t tile_, stride_;   // keys, and floats between rows of scores
  /// Parts of few rows, or packed keys.
  RunScratch<float> shared_ = PerRun<float>(heads() * (is_few_ ? Chunks() * PartFloats()  //
                                                               : HeadPanelFloats()));
  LaneScratch<float> q_ = PerLane<float>(rows_ * f_.a.size);
  LaneScratch<float> y_ = PerLane<float>(rows_ * f_.a.v_size);
  LaneScratch<float> scores_ = PerLane<float>(rows_ * stride_);
  /// Rows of the cache, and a panel of values.
  LaneScratch<float> keys_ = PerLane<float>(tile_ * std::max(f_.a.size, f_.a.v_size) + kPadding);
  LaneScratch<float> panel_ =
      PerLane<float>(is_few_ || f_.a.v_size % 16 == 0 ? 0 : tile_ * kernels_.nr);
  LaneScratch<TiledRow> known_ = PerLane<TiledRow>(rows_);
  LaneScratch<float> factors_ = PerLane<float>(rows_);
  LaneScratch<const float*> pointers_ = PerLane<const float*>(rows_);
};

constexpr Family<CachedFacts> kFamily{.read = ReadCached,
                                      .states = CachedStates,
                                      .prepare = Make<CachedAttention>,
                                      .taste = Always<10>,
                                      .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuAttentionCached;
const KernelDesc kCpuAttentionCached = {
    .name = "cpu.attention.cached", .version = 3, .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
