// cpu.attention.cached: GroupQueryAttention with lengths that are known at launch alone, in fp32.
// The queries that share a key head are rows of one product. Few rows (a step that makes one word)
// read keys and values as they lie in the cache; more of them multiply packed panels, and keys that
// no query of a block sees are left out.
#include <algorithm>
#include <cstring>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/attention/score_rows.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/operands.h"
#include "kernels/cpu/softmax/rows.h"
#include "kernels/family.h"
#include "ops/attention/mask.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

/// Rows of a block of queries, and most that are few.
constexpr int64_t kBlockRows = 64, kFewRows = 8;

struct Facts {
  ops::GroupQueryShape a;
  int64_t total = 0, keys = 0;  // keys: of the new cache
  DType length_type = DType::kI32;
  Dims bias_strides;  // of [batch, heads, queries, keys]; empty: none

  int64_t group() const { return a.q_heads / a.kv_heads; }
  bool has_few_rows() const { return a.length * group() <= kFewRows; }
  int64_t block_queries() const {
    return std::min(a.length, std::max<int64_t>(1, kBlockRows / group()));
  }
};

/// Keys of one batch element: `valid` ones, the new ones from `first_new` on.
struct Lengths {
  int64_t valid, first_new;
};

class CachedAttention final : public PreparedKernel {
 public:
  CachedAttention(const Problem& problem, const Facts& facts)
      : group_(problem.group),
        operands_(*problem.group),
        f_(facts),
        kernels_(GetMicroKernels()),
        lanes_(problem.threads),
        rows_(f_.block_queries() * f_.group()),
        stride_(RoundUp(f_.keys, kernels_.nr) + kPadding) {}

  std::vector<PackRequest> packs() const override { return operands_.packs(*group_); }

  int64_t workspace_bytes() const override {
    return 4 * (PanelFloats() + CacheFloats(1) + CacheFloats(2) + lanes_ * LaneFloats());
  }

  Status Launch(const LaunchArgs& args) const override {
    for (int64_t b = 0; b < f_.a.batch; ++b) {
      const auto [valid, first_new] = LengthsOf(args, b);
      if (first_new < 0 || valid < 0 || first_new > f_.a.cache ||
          std::max(valid, first_new + f_.a.length) > f_.keys ||
          (!f_.bias_strides.empty() && valid > f_.total))
        return InvalidArgument("seqlens_k of batch element {} does not fit {} keys", b, f_.keys);
    }
    auto& stream = static_cast<CpuStream&>(args.stream);
    const int64_t heads = f_.a.batch * f_.a.kv_heads;
    const bool few = f_.has_few_rows();
    stream.ParallelFor(heads, [&](int64_t head, int lane) {
      StoreHead(args, head);
      few ? RunRows(args, head, 0, lane) : PackHead(args, head);
    });
    if (few) return OkStatus();
    const int64_t blocks = CeilDiv(f_.a.length, f_.block_queries());
    stream.ParallelFor(heads * blocks, [&](int64_t task, int lane) {
      RunRows(args, task / blocks, task % blocks * f_.block_queries(), lane);
    });
    return OkStatus();
  }

 private:
  int64_t SizeOf(size_t input) const { return input == 1 ? f_.a.size : f_.a.v_size; }
  bool IsWritten(size_t output) const {
    const std::vector<ir::ValueId>& outputs = group_->nodes()[0].outputs;
    return output < outputs.size() && outputs[output] != ir::kAbsent;
  }
  int64_t HeadPanelFloats() const { return RoundUp(f_.keys, kernels_.nr) * f_.a.size; }
  int64_t PanelFloats() const {
    return f_.has_few_rows() ? 0 : RoundUp(f_.a.batch * f_.a.kv_heads * HeadPanelFloats(), 16);
  }
  /// Of a new cache that is no output, and what reading whole vectors takes behind it.
  int64_t CacheFloats(size_t output) const {
    if (IsWritten(output)) return 0;
    return RoundUp(f_.a.batch * f_.a.kv_heads * f_.keys * SizeOf(output), 16);
  }
  bool packs_values() const { return f_.a.v_size % 16 != 0; }
  /// Queries, scores, results, a panel of values, pointers.
  int64_t LaneFloats() const {
    return RoundUp(rows_ * (f_.a.size + f_.a.v_size + stride_), 16) +
           (packs_values() ? RoundUp(f_.keys * kernels_.nr, 16) : 0) + RoundUp(2 * rows_, 16);
  }

  Lengths LengthsOf(const LaunchArgs& args, int64_t batch) const {
    const std::byte* from = operands_.input(args, 5);
    const int64_t last = f_.length_type == DType::kI32
                             ? reinterpret_cast<const int32_t*>(from)[batch]
                             : reinterpret_cast<const int64_t*>(from)[batch];
    return {last + 1, f_.a.length == f_.total ? 0 : last + 1 - f_.a.length};
  }
  const float* Input(const LaunchArgs& args, size_t i) const {
    return reinterpret_cast<const float*>(operands_.input(args, i));
  }
  /// The new keys (1) or values (2) of a head, [keys, size].
  float* CacheOf(const LaunchArgs& args, size_t output, int64_t head) const {
    float* at = reinterpret_cast<float*>(operands_.output(args, output));
    if (at == nullptr)
      at = args.workspace.host<float>() + PanelFloats() + (output == 2 ? CacheFloats(1) : 0);
    return at + head * f_.keys * SizeOf(output);
  }

  /// Past and new keys and values of a head, and zeros behind them.
  void StoreHead(const LaunchArgs& args, int64_t head) const {
    const int64_t batch = head / f_.a.kv_heads, kv = head % f_.a.kv_heads;
    const int64_t first = LengthsOf(args, batch).first_new;
    for (size_t i : {1, 2}) {
      const int64_t size = SizeOf(i), row = f_.a.kv_heads * size;
      float* to = CacheOf(args, i, head);
      if (first > 0) std::copy_n(Input(args, i + 2) + head * f_.a.cache * size, first * size, to);
      const float* from = Input(args, i) + batch * f_.a.length * row + kv * size;
      for (int64_t n = 0; n < f_.a.length; ++n)
        std::copy_n(from + n * row, size, to + (first + n) * size);
      const int64_t end = first + f_.a.length;
      std::fill(to + end * size, to + f_.keys * size, 0.0F);
    }
  }

  void PackHead(const LaunchArgs& args, int64_t head) const {
    const int64_t size = f_.a.size, end = LengthsOf(args, head / f_.a.kv_heads).valid;
    const float* keys = CacheOf(args, 1, head);
    float* panels = args.workspace.host<float>() + head * HeadPanelFloats();
    for (int64_t n = 0; n < end; n += kernels_.nr) {
      PackPanel({keys + n * size, 1, size}, size, std::min<int64_t>(kernels_.nr, end - n),
                kernels_.nr, 1, panels + n * size);
    }
  }

  /// Where a lane's arrays lie.
  struct Lane {
    float *q, *y, *scores, *panel;
    const float** pointers;
  };
  Lane LaneOf(const LaunchArgs& args, int lane) const {
    float* at = args.workspace.host<float>() + PanelFloats() + CacheFloats(1) + CacheFloats(2) +
                lane * LaneFloats();
    float *y = at + rows_ * f_.a.size, *scores = y + rows_ * f_.a.v_size;
    float* panel = at + RoundUp(rows_ * (f_.a.size + f_.a.v_size + stride_), 16);
    float* rest = panel + (packs_values() ? RoundUp(f_.keys * kernels_.nr, 16) : 0);
    return {at, y, scores, panel, reinterpret_cast<const float**>(rest)};
  }

  /// C [rows, columns] = A [rows, depth] * B.
  void Multiply(const Lane& lane, const EvenRows& a, int64_t rows, BlockArgs work, float* c) const {
    TileSpan tiles[kBlockRows];
    work.tiles = CutTiles(kernels_.mr, a, rows, c, work.c_stride, lane.pointers, tiles);
    RunBlock(kernels_, work);
  }

  /// Scores become weights: those of keys outside [begin, end), counted from `at`, are zero.
  void Weigh(const LaunchArgs& args, float* s, int64_t at, int64_t count, int64_t begin,
             int64_t end, int64_t bias_at) const {
    begin = std::clamp<int64_t>(begin - at, 0, count);
    end = std::clamp<int64_t>(end - at, begin, count);
    std::fill(s, s + begin, 0.0F);
    std::fill(s + end, s + count, 0.0F);
    if (begin == end) return;
    if (f_.a.softcap != 0) CapScores(static_cast<float>(f_.a.softcap), end - begin, s + begin);
    if (!f_.bias_strides.empty()) {
      const float* bias = Input(args, 7) + bias_at + at * f_.bias_strides[3];
      for (int64_t i = begin; i < end; ++i) s[i] += bias[i * f_.bias_strides[3]];
    }
    SoftmaxRow(s + begin, s + begin, end - begin, false);
  }

  /// Results of a block of queries, for the heads that share key head `head`.
  void RunRows(const LaunchArgs& args, int64_t head, int64_t query, int lane_index) const {
    auto* out = reinterpret_cast<float*>(operands_.output(args, 0));
    if (out == nullptr) return;
    const int64_t batch = head / f_.a.kv_heads, kv = head % f_.a.kv_heads, group = f_.group();
    const int64_t queries = std::min(f_.block_queries(), f_.a.length - query);
    const Lengths lengths = LengthsOf(args, batch);
    const Lane lane = LaneOf(args, lane_index);
    const auto scale = static_cast<float>(f_.a.scale);
    const int64_t q_row = f_.a.q_heads * f_.a.size, y_row = f_.a.q_heads * f_.a.v_size;
    const float* q = Input(args, 0) + (batch * f_.a.length + query) * q_row;
    for (int64_t i = 0; i < queries; ++i) {
      const float* from = q + i * q_row + kv * group * f_.a.size;
      for (int64_t d = 0; d < group * f_.a.size; ++d)
        lane.q[i * group * f_.a.size + d] = scale * from[d];
    }
    const auto begin_of = [&](int64_t position) {
      return f_.a.window > 0 ? std::max<int64_t>(position - f_.a.window + 1, 0) : 0;
    };
    const int64_t position = lengths.first_new + query;
    const int64_t begin = begin_of(position) / kernels_.nr * kernels_.nr;
    const int64_t end = std::min(position + queries, lengths.valid);
    if (begin < end) {
      Score(args, lane, head, queries * group, begin, end);
      for (int64_t r = 0; r < queries * group; ++r) {
        const int64_t at = position + r / group;
        int64_t bias_at = 0;
        if (!f_.bias_strides.empty())
          bias_at = batch * f_.bias_strides[0] + (kv * group + r % group) * f_.bias_strides[1] +
                    (query + r / group) * f_.bias_strides[2];
        Weigh(args, lane.scores + r * stride_, begin, end - begin, begin_of(at),
              std::min(at + 1, lengths.valid), bias_at);
      }
      Combine(args, lane, head, queries * group, begin, end);
    } else {
      std::fill_n(lane.y, queries * group * f_.a.v_size, 0.0F);
    }
    for (int64_t i = 0; i < queries; ++i)
      std::copy_n(lane.y + i * group * f_.a.v_size, group * f_.a.v_size,
                  out + (batch * f_.a.length + query + i) * y_row + kv * group * f_.a.v_size);
  }

  void Score(const LaunchArgs& args, const Lane& lane, int64_t head, int64_t rows, int64_t begin,
             int64_t end) const {
    const int64_t size = f_.a.size;
    if (f_.has_few_rows())
      return ScoreRows(lane.q, rows, size, CacheOf(args, 1, head) + begin * size, end - begin,
                       stride_, lane.scores);
    BlockArgs work;
    work.depth = size;
    work.b = args.workspace.host<float>() + head * HeadPanelFloats() + begin * size;
    work.columns = end - begin;
    work.c_stride = stride_;
    Multiply(lane, {lane.q, size}, rows, work, lane.scores);
  }

  void Combine(const LaunchArgs& args, const Lane& lane, int64_t head, int64_t rows, int64_t begin,
               int64_t end) const {
    const int64_t size = f_.a.v_size;
    const float* values = CacheOf(args, 2, head) + begin * size;
    BlockArgs work;
    work.depth = end - begin;
    work.c_stride = size;
    work.b = values;
    work.b_step = size;
    work.columns = size;
    if (!packs_values()) return Multiply(lane, {lane.scores, stride_}, rows, work, lane.y);
    // Whole vectors would read behind the last row.
    work.b = lane.panel;
    work.b_step = 0;
    for (int64_t n = 0; n < size; n += kernels_.nr) {
      work.columns = std::min<int64_t>(kernels_.nr, size - n);
      PackPanel({values + n, size}, end - begin, work.columns, kernels_.nr, 1, lane.panel);
      Multiply(lane, {lane.scores, stride_}, rows, work, lane.y + n);
    }
  }

  std::shared_ptr<const ir::Graph> group_;
  NodeOperands operands_;
  Facts f_;
  const MicroKernels& kernels_;
  int64_t lanes_;
  int64_t rows_;    // most of a block
  int64_t stride_;  // between rows of scores
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  if (group.nodes().size() != 1 || group.nodes()[0].op != "GroupQueryAttention"_op)
    return Unsupported("computes GroupQueryAttention only");
  const ir::Node& node = group.nodes()[0];
  const auto shape = [&](size_t i) -> const Shape& { return *group.value(node.inputs[i]).shape; };
  const auto& total = group.value(node.inputs[6]).constant;
  if (total == nullptr) return Unsupported("the number of keys is not known");
  const bool has_past = node.input(3) != ir::kAbsent;
  Facts facts;
  ASSIGN_OR_RETURN(facts.a, ops::ReadGroupQuery(node, shape(0), shape(1), shape(2),
                                                has_past ? &shape(3) : nullptr));
  if (shape(0).elements() * shape(2).elements() == 0) return Unsupported("nothing to compute");
  if (facts.group() > kBlockRows) return Unsupported("more than {} heads to a key", kBlockRows);
  for (size_t i : {0, 1, 2, 3, 4, 7}) {
    const ir::ValueId id = node.input(i);
    if (id != ir::kAbsent && group.value(id).is_constant() && group.value(id).dtype != DType::kF32)
      return Unsupported("a constant that is not f32");
    if (id != ir::kAbsent && group.value(id).dtype == DType::kF64)
      return Unsupported("f64 is not computed in fp32");
  }
  facts.total = total->GetInt(0);
  facts.keys = std::max(facts.total, facts.a.cache);
  facts.length_type = group.value(node.inputs[5]).dtype;
  if (facts.length_type != DType::kI32 && facts.length_type != DType::kI64)
    return Unsupported("lengths of type {}", DTypeName(facts.length_type));
  if (node.input(7) != ir::kAbsent) {
    facts.bias_strides = RowMajorStrides(shape(7));
    for (int i = 0; i < 4; ++i) {
      if (shape(7)[i] == 1) facts.bias_strides[i] = 0;
    }
  }
  return facts;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts&, const Device&) {
  StateAssignment states = RowMajorStates(group);
  for (State& state : states.inputs) {
    if (IsFloat(state.storage)) state.storage = DType::kF32;
  }
  for (State& state : states.outputs) state.storage = DType::kF32;
  return std::vector<StateAssignment>{std::move(states)};
}

constexpr Family<Facts> kFamily{.read = Read,
                                .states = States,
                                .prepare = Make<CachedAttention>,
                                .taste = Always<10>,
                                .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuAttentionCached;
const KernelDesc kCpuAttentionCached = {.name = "cpu.attention.cached", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
