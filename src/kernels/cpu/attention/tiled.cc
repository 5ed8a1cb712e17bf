// compiled: small
// cpu.attention.tiled: Softmax between two products, with what moves the elements of their
// operands, in fp32. Keys are packed once; a block of queries meets them tile by tile, and results
// so far are rescaled where a tile has a greater score ("FlashAttention", Dao et al., 2022): scores
// never leave the caches. Keys before the first and behind the last that a block sees are left out.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/attention/score_rows.h"
#include "kernels/cpu/attention/seen_keys.h"
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

/// Where an operand of the group lies at launch.
struct Place {
  int bound = -1, packed = -1;
};

/// A row of scores += scale * what is added to them.
struct TiledAddend {
  AttentionOperand operand;
  float scale;
  Place place;
};

class TiledAttention final : public CpuKernel {
 public:
  TiledAttention(const Problem& problem, const Attention& attention)
      : CpuKernel(problem.threads),
        group_(problem.group),
        a_(attention),
        kernels_(GetMicroKernels()),
        blocks_(CeilDiv(a_.queries, kRows)),
        rows_(RoundUp(CeilDiv(a_.queries, blocks_), kernels_.mr)),
        tile_(std::min(RoundUp(kKeys, kernels_.nr), RoundUp(a_.keys, kernels_.nr))),
        stride_(tile_ + kPadding) {
    blocks_ = CeilDiv(a_.queries, rows_);
    for (const auto* addends : {&a_.constants, &a_.masks}) {
      for (const Attention::Addend& addend : *addends) {
        Place place = PlaceOf(addend.operand.value);
        if (addends == &a_.constants)
          place.packed = static_cast<int>(&addend - a_.constants.data());
        addends_.push_back({addend.operand, addend.scale, place});
      }
    }
    if (a_.fill) {
      fill_ = PlaceOf(a_.fill->operand.value);
      if (fill_.bound < 0) fill_.packed = static_cast<int>(a_.constants.size());
    }
    q_ = PlaceOf(a_.q.value).bound;
    k_ = PlaceOf(a_.k.value).bound;
    v_ = PlaceOf(a_.v.value).bound;
    reads_values_ = a_.v.column_stride == 1 && a_.v_size % 16 == 0;
    packed_ = PerRun<float>(a_.matrices * (KeyFloats() + ValueFloats()));
  }

  std::vector<PackRequest> packs() const override {
    std::vector<PackRequest> requests;
    for (const Attention::Addend& addend : a_.constants) {
      const int64_t elements = group_->value(addend.operand.value).constant->elements();
      requests.push_back({{addend.operand.value},
                          "row.f32",
                          elements * 4,
                          [](std::span<const Constant* const> constants, std::byte* out) {
                            auto* to = reinterpret_cast<float*>(out);
                            for (int64_t i = 0; i < constants[0]->elements(); ++i)
                              to[i] = static_cast<float>(constants[0]->GetDouble(i));
                            return OkStatus();
                          }});
    }
    if (fill_.packed >= 0) requests.push_back(PackCondition());
    return requests;
  }

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
  PackRequest PackCondition() const {
    const ir::ValueId id = a_.fill->operand.value;
    return {{id},
            "row.bool",
            group_->value(id).constant->elements(),
            [](std::span<const Constant* const> constants, std::byte* out) {
              for (int64_t i = 0; i < constants[0]->elements(); ++i)
                out[i] = std::byte(constants[0]->GetDouble(i) != 0);
              return OkStatus();
            }};
  }
  Place PlaceOf(ir::ValueId id) const {
    const auto at = std::find(group_->inputs.begin(), group_->inputs.end(), id);
    return {at == group_->inputs.end() ? -1 : static_cast<int>(at - group_->inputs.begin()), -1};
  }
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

  static int64_t At(const AttentionOperand& operand, int64_t matrix) {
    int64_t at = operand.offset;
    for (size_t i = operand.matrices.size(); i-- > 0;) {
      at += matrix % operand.matrices[i].extent * operand.matrices[i].stride;
      matrix /= operand.matrices[i].extent;
    }
    return at;
  }
  const float* Rows(const CpuLaunch& args, int input, const AttentionOperand& operand,
                    int64_t matrix, int64_t row) const {
    return args.inputs[input].host<float>() + At(operand, matrix) + row * operand.row_stride;
  }
  float* Keys(const CpuLaunch& args, int64_t matrix) const {
    return args.At(packed_) + matrix * (KeyFloats() + ValueFloats());
  }

  /// A tile of keys and values.
  void Pack(const CpuLaunch& args, int64_t matrix, int64_t begin) const {
    const int64_t end = std::min(begin + tile_, a_.keys);
    for (int64_t n = begin; n < end; n += kernels_.nr) {
      PackPanel({Rows(args, k_, a_.k, matrix, n), a_.k.column_stride, a_.k.row_stride}, a_.qk_size,
                std::min<int64_t>(kernels_.nr, end - n), kernels_.nr, 1,
                Keys(args, matrix) + n * a_.qk_size);
    }
    if (reads_values_) return;
    const float* values = Rows(args, v_, a_.v, matrix, begin);
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

  const Location& LocationOf(const CpuLaunch& args, const Place& place) const {
    return place.packed >= 0 ? args.packed[place.packed] : args.inputs[place.bound];
  }

  /// The keys that some of the queries see, from a whole panel on. A fill overrides what is added;
  /// what is added to a mask might outweigh it.
  KeyRange SeenBy(const CpuLaunch& args, int64_t matrix, int64_t query, int64_t rows) const {
    MaskRows masks[2];
    size_t count = 0;
    if (addends_.size() > 1 || (a_.fill && !(a_.fill->value <= kHiddenScore))) return {0, a_.keys};
    for (const TiledAddend& addend : addends_) {
      if (!(addend.scale > 0)) return {0, a_.keys};
      const AttentionOperand& of = addend.operand;
      masks[count++] = {.added = LocationOf(args, addend.place).host<float>() + At(of, matrix) +
                                 query * of.row_stride,
                        .limit = kHiddenScore / addend.scale,
                        .row_stride = of.row_stride,
                        .column_stride = of.column_stride};
    }
    if (a_.fill) {
      const AttentionOperand& of = a_.fill->operand;
      masks[count++] = {.condition = LocationOf(args, fill_).host<uint8_t>() + At(of, matrix) +
                                     query * of.row_stride,
                        .where = a_.fill->where,
                        .row_stride = of.row_stride,
                        .column_stride = of.column_stride};
    }
    KeyRange seen = SeenKeys({masks, count}, rows, a_.keys);
    seen.begin -= seen.begin % kernels_.nr;
    return seen;
  }

  void RunBlockOf(const CpuLaunch& args, int64_t matrix, int64_t query, const Lane& lane) const {
    const int64_t rows = std::min(rows_, a_.queries - query);
    const float* q = Rows(args, q_, a_.q, matrix, query);
    for (int64_t r = 0; r < rows; ++r) {
      const float* from = q + r * a_.q.row_stride;
      float* to = lane.q + r * a_.qk_size;
      if (a_.q.column_stride == 1)
        ScaleRow(from, a_.qk_size, a_.scale, to);
      else
        for (int64_t d = 0; d < a_.qk_size; ++d) to[d] = a_.scale * from[d * a_.q.column_stride];
    }
    std::fill_n(lane.known, rows, TiledRow());
    const KeyRange seen = SeenBy(args, matrix, query, rows);
    for (int64_t tile = seen.begin / tile_ * tile_; tile < seen.end; tile += tile_) {
      const int64_t begin = std::max(tile, seen.begin), end = std::min(tile + tile_, seen.end);
      RunTile(args, matrix, query, rows, {begin, end}, begin == seen.begin, lane);
    }
    Store(args, matrix, query, rows, lane);
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
    for (const TiledAddend& addend : addends_)
      Add(args, addend, matrix, query, rows, begin, keys, lane);
    if (a_.fill) Fill(args, matrix, query, rows, begin, keys, lane);
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
      sums.b = Rows(args, v_, a_.v, matrix, begin);
      sums.b_step = a_.v.row_stride;
    } else {
      const int64_t tile = begin / tile_ * tile_;
      sums.b = Values(args, matrix, tile) + (begin - tile) * kernels_.nr;
      sums.panel_stride = std::min(tile_, a_.keys - tile) * kernels_.nr;
    }
    Multiply(lane, {lane.scores, stride_}, rows, sums, lane.y);
  }

  void Add(const CpuLaunch& args, const TiledAddend& addend, int64_t matrix, int64_t query,
           int64_t rows, int64_t begin, int64_t keys, const Lane& lane) const {
    const AttentionOperand& from = addend.operand;
    const float* first = LocationOf(args, addend.place).host<float>() + At(from, matrix) +
                         query * from.row_stride + begin * from.column_stride;
    for (int64_t r = 0; r < rows; ++r)
      AddScores(first + r * from.row_stride, from.column_stride, addend.scale, keys,
                lane.scores + r * stride_);
  }

  void Fill(const CpuLaunch& args, int64_t matrix, int64_t query, int64_t rows, int64_t begin,
            int64_t keys, const Lane& lane) const {
    const AttentionOperand& from = a_.fill->operand;
    const uint8_t* first = LocationOf(args, fill_).host<uint8_t>() + At(from, matrix) +
                           query * from.row_stride + begin * from.column_stride;
    for (int64_t r = 0; r < rows; ++r)
      FillScores(first + r * from.row_stride, from.column_stride, a_.fill->where, a_.fill->value,
                 keys, lane.scores + r * stride_);
  }

  void Multiply(const Lane& lane, const EvenRows& a, int64_t rows, BlockArgs work, float* c) const {
    TileSpan tiles[2 * kRows];
    work.tiles = CutTiles(kernels_.mr, a, rows, c, work.c_stride, lane.pointers, tiles);
    RunBlock(kernels_, work);
  }

  void Store(const CpuLaunch& args, int64_t matrix, int64_t query, int64_t rows,
             const Lane& lane) const {
    float* to = args.outputs[0].host<float>() + At(a_.y, matrix) + query * a_.y.row_stride;
    for (int64_t r = 0; r < rows; ++r) {
      const float sum = lane.known[r].sum;
      // Without a number among its scores the row is NaN, or 0 where that is asked for.
      const bool is_zero = a_.nan_to_zero && !(sum > 0 && std::isfinite(sum));
      const float factor = 1 / sum;
      const float* y = lane.y + r * a_.v_size;
      float* row = to + r * a_.y.row_stride;
      if (a_.y.column_stride == 1 && !is_zero)
        ScaleRow(y, a_.v_size, factor, row);
      else
        for (int64_t d = 0; d < a_.v_size; ++d)
          row[d * a_.y.column_stride] = is_zero ? 0 : y[d] * factor;
    }
  }

  std::shared_ptr<const ir::Graph> group_;
  Attention a_;
  std::vector<TiledAddend> addends_;
  Place fill_;
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

Result<Attention> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(Attention attention, ReadAttention(group));
  const auto is_float = [&](ir::ValueId id) {
    const DType type = group.value(id).dtype;
    return IsFloat(type) && type != DType::kF64;
  };
  for (ir::ValueId id : group.inputs) {
    if (attention.fill && id == attention.fill->operand.value) continue;
    if (!is_float(id)) return Unsupported("operands that are not floats, or f64");
  }
  for (const Attention::Addend& addend : attention.constants) {
    if (!is_float(addend.operand.value))
      return Unsupported("a constant that is not a float, or f64");
  }
  return attention;
}

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
    .read = Read, .states = States, .prepare = Make<TiledAttention>, .taste = Taste};

}  // namespace

extern const KernelDesc kCpuAttentionTiled;
const KernelDesc kCpuAttentionTiled = {.name = "cpu.attention.tiled", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
