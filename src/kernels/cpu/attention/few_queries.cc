// compiled: small
// cpu.attention.few: Softmax between two products for a few queries, such as the one of a step that
// makes one word, with what moves the elements of their operands, in fp32. Queries of matrices that
// share keys are rows of one product. Keys and values are read as they lie, once, in chunks that
// are tasks of their own and joined afterwards; results so far are rescaled where a tile has a
// greater score ("FlashAttention", Dao et al., 2022).
#include <algorithm>

#include "kernels/cpu/attention/masked_scores.h"
#include "kernels/cpu/attention/score_rows.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/operands.h"
#include "kernels/cpu/zeros.h"
#include "kernels/family.h"
#include "kernels/takes_extents.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

/// Keys of a chunk, and of a tile. Chunks do not follow the threads: no sum depends on them.
constexpr int64_t kChunkKeys = 512, kTileKeys = 64;
/// The most rows that are few, where each matrix has more than one query.
constexpr int64_t kFewRows = 16;
/// Of fewer keys, or more queries, nothing is gained before it is measured.
constexpr int64_t kSomeKeys = 16, kVeryFewQueries = 4;

struct FewQueries {
  Attention a;
  int64_t sharing = 1;  // matrices, one behind the other, with the same keys and values

  int64_t rows() const { return sharing * a.queries; }
  int64_t heads() const { return a.matrices / sharing; }
};

/// How many matrices, one behind the other, have the same keys and values.
int64_t SharingOf(const Attention& a) {
  int64_t sharing = 1;
  for (size_t i = a.k.matrices.size(); i-- > 0;) {
    if (a.k.matrices[i].stride != 0 || a.v.matrices[i].stride != 0) break;
    sharing *= a.k.matrices[i].extent;
  }
  return sharing;
}

Result<FewQueries> Read(const ir::Graph& group, const Device& device) {
  ASSIGN_OR_RETURN(Attention attention, ReadFloatAttention(group, device));
  if (attention.matrices == 0 || attention.keys == 0) return Unsupported("no keys");
  const auto lies_apart = [](const AttentionOperand& operand, int64_t size) {
    return size > 1 && operand.column_stride != 1;
  };
  if (lies_apart(attention.k, attention.qk_size) || lies_apart(attention.v, attention.v_size))
    return Unsupported("elements of a key or a value that lie apart");
  const int64_t sharing = SharingOf(attention);
  FewQueries facts{std::move(attention), sharing};
  if (facts.a.queries > kFewRows) return Unsupported("more than {} queries", kFewRows);
  if (facts.a.queries > 1 && facts.rows() > kFewRows) facts.sharing = 1;
  return facts;
}

class FewQueryAttention final : public CpuKernel, public MovesToExtents<FewQueryAttention> {
 public:
  FewQueryAttention(const Problem& problem, const FewQueries& facts)
      : CpuKernel(problem.threads), f_(facts), masks_(problem.group, facts.a) {
    SetExtents(*problem.group);
  }

  std::vector<PackRequest> packs() const override { return masks_.packs(); }

  /// Which say how keys and values are repeated and moved.
  bool takes_constants() const override { return true; }
  bool MoveTo(const Problem& problem, const Device& device) override {
    if (masks_.has_packs()) return false;
    Result<FewQueries> facts = Read(*problem.group, device);
    if (!facts.ok()) return false;
    f_ = std::move(*facts);
    masks_ = MaskedScores(problem.group, f_.a);
    ForgetScratch(lanes());
    SetExtents(*problem.group);
    return true;
  }

  Status Run(const CpuLaunch& args) const override {
    args.stream.ParallelFor(f_.heads() * chunks_, [&](int64_t task, int lane) {
      RunChunk(args, task / chunks_, task % chunks_, LaneOf(args, lane));
    });
    if (chunks_ == 1) return OkStatus();
    args.stream.ParallelFor(f_.heads(), [&](int64_t head, int) {
      const Part sum = PartOf(args, head, 0);
      for (int64_t chunk = 1; chunk < chunks_; ++chunk) {
        const Part part = PartOf(args, head, chunk);
        JoinRows(part.y, part.known, f_.rows(), f_.a.v_size, sum.y, sum.known);
      }
      Store(args, head, sum);
    });
    return OkStatus();
  }

 private:
  /// Results of rows so far, and what is known of their scores.
  struct Part {
    float* y;
    TiledRow* known;
  };
  struct Lane {
    float *q, *scores, *factors, *copies;
  };

  void SetExtents(const ir::Graph& group) {
    const int64_t rows = f_.rows(), size = std::max(f_.a.qk_size, f_.a.v_size);
    q_ = InputOf(group, f_.a.q.value);
    k_ = InputOf(group, f_.a.k.value);
    v_ = InputOf(group, f_.a.v.value);
    chunks_ = CeilDiv(f_.a.keys, kChunkKeys);
    parts_ = PerRun<float>(f_.heads() * chunks_ * PartFloats());
    queries_ = PerLane<float>(rows * f_.a.qk_size);
    scores_ = PerLane<float>(rows * kStride);
    factors_ = PerLane<float>(rows);
    copies_ = PerLane<float>(IsInRows(f_.a.k, f_.a.qk_size) && IsInRows(f_.a.v, f_.a.v_size)
                                 ? 0
                                 : kTileKeys * size + kPadding);
  }
  static bool IsInRows(const AttentionOperand& operand, int64_t size) {
    return operand.row_stride == size;
  }

  /// y, and two numbers of each row.
  int64_t PartFloats() const { return f_.rows() * (f_.a.v_size + 2); }
  Part PartOf(const CpuLaunch& args, int64_t head, int64_t chunk) const {
    float* y = args.At(parts_) + (head * chunks_ + chunk) * PartFloats();
    return {y, reinterpret_cast<TiledRow*>(y + f_.rows() * f_.a.v_size)};
  }
  Lane LaneOf(const CpuLaunch& args, int lane) const {
    return {args.At(queries_, lane), args.At(scores_, lane), args.At(factors_, lane),
            args.At(copies_, lane)};
  }

  KeyRange SeenBy(const CpuLaunch& args, int64_t head) const {
    KeyRange seen{f_.a.keys, 0};
    for (int64_t i = 0; i < f_.sharing; ++i) {
      const KeyRange own = masks_.SeenBy(args, head * f_.sharing + i, 0, f_.a.queries);
      seen = {std::min(seen.begin, own.begin), std::max(seen.end, own.end)};
    }
    return seen;
  }

  void RunChunk(const CpuLaunch& args, int64_t head, int64_t chunk, const Lane& lane) const {
    const Part part = PartOf(args, head, chunk);
    FillZeros(part.y, f_.rows() * f_.a.v_size);
    std::fill_n(part.known, f_.rows(), TiledRow());
    const int64_t queries = f_.a.queries;
    for (int64_t i = 0; i < f_.sharing; ++i)
      ScaleQueries(args, f_.a, q_, head * f_.sharing + i, 0, queries,
                   lane.q + i * queries * f_.a.qk_size);
    const KeyRange seen = SeenBy(args, head);
    const int64_t end = std::min(seen.end, (chunk + 1) * kChunkKeys);
    for (int64_t at = std::max(seen.begin, chunk * kChunkKeys); at < end; at += kTileKeys)
      RunTile(args, head, {at, std::min(end, at + kTileKeys)}, lane, part);
    if (chunks_ == 1) Store(args, head, part);
  }

  void RunTile(const CpuLaunch& args, int64_t head, const KeyRange& range, const Lane& lane,
               const Part& part) const {
    const int64_t keys = range.end - range.begin, first = head * f_.sharing;
    ScoreRows(lane.q, f_.rows(), f_.a.qk_size,
              RowsAt(args, k_, f_.a.k, f_.a.qk_size, first, range, lane), keys, kStride,
              lane.scores);
    for (int64_t i = 0; i < f_.sharing; ++i)
      masks_.Apply(args, {first + i, 0, f_.a.queries, range.begin, keys, kStride,
                          lane.scores + i * f_.a.queries * kStride});
    for (int64_t r = 0; r < f_.rows(); ++r)
      lane.factors[r] = WeighTile(lane.scores + r * kStride, keys, part.known[r]);
    AddValues(lane.scores, f_.rows(), kStride,
              RowsAt(args, v_, f_.a.v, f_.a.v_size, first, range, lane), f_.a.v_size, keys,
              lane.factors, part.y);
  }

  /// Rows of keys or values as they lie, or a copy of them.
  StoredRows RowsAt(const CpuLaunch& args, int input, const AttentionOperand& operand, int64_t size,
                    int64_t matrix, const KeyRange& range, const Lane& lane) const {
    const float* from = RowsOf(args, input, operand, matrix, range.begin);
    if (IsInRows(operand, size)) return {.at = reinterpret_cast<const std::byte*>(from)};
    const int64_t keys = range.end - range.begin;
    float* to = lane.copies;
    for (int64_t i = 0; i < keys; ++i)
      std::copy_n(from + i * operand.row_stride, size, to + i * size);
    return {.at = reinterpret_cast<const std::byte*>(to)};
  }

  void Store(const CpuLaunch& args, int64_t head, const Part& part) const {
    const int64_t queries = f_.a.queries;
    for (int64_t i = 0; i < f_.sharing; ++i)
      StoreRows(args, f_.a, head * f_.sharing + i, 0, queries, part.known + i * queries,
                part.y + i * queries * f_.a.v_size);
  }

  static constexpr int64_t kStride = kTileKeys + kPadding;  // floats between rows of scores

  FewQueries f_;
  MaskedScores masks_;
  int q_ = -1, k_ = -1, v_ = -1;
  int64_t chunks_ = 1;
  RunScratch<float> parts_;
  LaneScratch<float> queries_, scores_, factors_, copies_;
};

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const FewQueries&,
                                            const Device&) {
  return std::vector<StateAssignment>{WidenedStates(group)};
}

int Taste(const FewQueries& facts, const Device&) {
  return facts.a.keys >= kSomeKeys && facts.a.queries <= kVeryFewQueries ? 10 : kOnlyMeasured;
}

constexpr Family<FewQueries> kFamily{.read = Read,
                                     .states = States,
                                     .prepare = Make<FewQueryAttention>,
                                     .taste = Taste,
                                     .reads_callers_memory = true,
                                     .takes_near_extents = true};

}  // namespace

extern const KernelDesc kCpuAttentionFew;
const KernelDesc kCpuAttentionFew = {.name = "cpu.attention.few", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
