// compiled: small
// cpu.reduce.arg: ArgMax and ArgMin of fp32 and of integers along any axis, row-major and, over the
// channels, channels-last.
#include "kernels/cpu/reduce/arg.h"

#include <algorithm>
#include <cstring>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/move/copy_leaf.h"
#include "kernels/cpu/operands.h"
#include "kernels/family.h"
#include "kernels/match/extents.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

constexpr int64_t kElementsPerTask = 32768;
constexpr int64_t kColumnsPerTask = 256;
/// Fewer columns than a vector has lanes.
constexpr int64_t kFewColumns = 16;
/// Most elements of a row without neighbours that are turned. Rows of floats whose first extreme
/// counts have vectors of their own, and are read from end to end.
constexpr int64_t kMostTurned = 64, kMostTurnedFloats = 32;
/// Bytes of what is turned at once: they stay in the first-level cache.
constexpr int64_t kTurnedBytes = 16 << 10;

bool IsArgInteger(DType dtype) {
  return dtype == DType::kI8 || dtype == DType::kU8 || dtype == DType::kI32 || dtype == DType::kI64;
}

class Arg final : public CpuKernel {
 public:
  Arg(const RowExtents& extents, const ArgRule& rule, DType dtype)
      : extents_(extents), rule_(rule), dtype_(dtype), size_(ByteSize(dtype)) {}

  Status Run(const CpuLaunch& args) const override {
    if (extents_.elements() == 0) return OkStatus();
    const auto* x = args.inputs[0].host<std::byte>();
    auto* y = args.outputs[0].host<int64_t>();
    const int64_t length = extents_.row * extents_.inner;
    if (extents_.row == 1) {
      std::fill_n(y, extents_.outer * extents_.inner, 0);
    } else if (extents_.inner <= kFewColumns && length <= MostTurned()) {
      RunTurned(args.stream, x, y);
    } else if (extents_.inner > 1 && extents_.inner < kFewColumns) {
      args.stream.ParallelFor(extents_.outer, [&](int64_t o, int) {
        FewColumns(x + o * length * size_, y + o * extents_.inner);
      });
    } else {
      RunColumns(args.stream, x, y);
    }
    return OkStatus();
  }

 private:
  /// Rows side by side are turned where 16 lots of them fit.
  int64_t MostTurned() const {
    if (extents_.inner > 1) return kTurnedBytes / (16 * size_);
    return dtype_ == DType::kF32 && !rule_.last ? kMostTurnedFloats : kMostTurned;
  }

  void RunColumns(CpuStream& stream, const std::byte* x, int64_t* y) const {
    const int64_t columns = (extents_.inner + kColumnsPerTask - 1) / kColumnsPerTask;
    const int64_t units = extents_.outer * columns;
    const int64_t unit = extents_.row * std::min(extents_.inner, kColumnsPerTask);
    const int64_t per_task = std::max<int64_t>(1, kElementsPerTask / unit);
    const int64_t tasks = (units + per_task - 1) / per_task;
    stream.ParallelFor(tasks, [&](int64_t task, int) {
      const int64_t end = std::min(units, (task + 1) * per_task);
      for (int64_t u = task * per_task; u < end; ++u) {
        const int64_t o = u / columns, column = u % columns * kColumnsPerTask;
        Find(x + (o * extents_.row * extents_.inner + column) * size_, extents_.row, extents_.inner,
             std::min(kColumnsPerTask, extents_.inner - column), y + o * extents_.inner + column);
      }
    });
  }

  /// Short rows of few columns, some of which are made columns at a time.
  void RunTurned(CpuStream& stream, const std::byte* x, int64_t* y) const {
    const int64_t inner = extents_.inner, length = extents_.row * inner;
    const int64_t most = kTurnedBytes / (length * size_) / 16 * 16;
    const int64_t block = std::clamp<int64_t>(most, 16, kColumnsPerTask / inner);
    stream.ParallelFor((extents_.outer + block - 1) / block, [&](int64_t task, int) {
      const int64_t first = task * block, count = std::min(block, extents_.outer - first);
      alignas(64) std::byte turned[kTurnedBytes];
      CopyTransposed(x + first * length * size_, turned, {length, 1, count}, {count, length, 1},
                     length, count, size_);
      int64_t found[kColumnsPerTask];
      Find(turned, extents_.row, inner * count, inner * count, found);
      int64_t* to = y + first * inner;
      for (int64_t k = 0; k < count; ++k) {
        for (int64_t i = 0; i < inner; ++i) *to++ = found[i * count + k];
      }
    });
  }

  /// Long rows side by side: pieces of each are made contiguous, and the best of a row is compared
  /// with that of its next piece.
  void FewColumns(const std::byte* x, int64_t* to) const {
    const int64_t inner = extents_.inner, piece = kTurnedBytes / (inner * size_);
    alignas(64) std::byte turned[kTurnedBytes];
    alignas(8) std::byte best[kFewColumns][2 * sizeof(int64_t)];
    for (int64_t begin = 0; begin < extents_.row; begin += piece) {
      const int64_t n = std::min(piece, extents_.row - begin);
      CopyTransposed(x + begin * inner * size_, turned, {inner, 1, n}, {n, inner, 1}, inner, n,
                     size_);
      for (int64_t i = 0; i < inner; ++i) {
        const std::byte* row = turned + i * n * size_;
        int64_t at = 0, which = 1;
        Find(row, n, 1, 1, &at);
        std::memcpy(best[i] + size_, row + at * size_, size_);
        if (begin > 0) Find(best[i], 2, 1, 1, &which);
        if (which == 0) continue;
        std::memcpy(best[i], best[i] + size_, size_);
        to[i] = begin + at;
      }
    }
  }

  /// `columns` of them.
  void Find(const std::byte* x, int64_t n, int64_t stride, int64_t columns, int64_t* to) const {
    if (dtype_ == DType::kF32)
      return ArgColumns(rule_, reinterpret_cast<const float*>(x), n, stride, columns, to);
    ArgIntegers(rule_, dtype_, x, n, stride, columns, to);
  }

  RowExtents extents_;
  ArgRule rule_;
  DType dtype_;
  int64_t size_;
};

struct Facts {
  Shape x;
  DType dtype;  // in which it is computed
  int axis;
  ArgRule rule;

  Result<RowExtents> In(const Layout& layout) const {
    // The results lie in the order of the axes that are kept, which must be that of the output.
    int before = -1;
    for (int i = 0; i < x.rank(); ++i) {
      const int kept = layout.AxisAt(i, x.rank());
      if (kept == axis || x[kept] == 1) continue;
      if (kept < before) return Unsupported("the results would not be row-major");
      before = kept;
    }
    std::vector<bool> mask(x.rank(), false);
    mask[axis] = true;
    return SplitRows(x, layout, mask);
  }
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  if (group.nodes().size() != 1 || group.inputs.size() != 1 || group.outputs.size() != 1)
    return Unsupported("computes ArgMax and ArgMin only, alone");
  const ir::Node& node = group.nodes()[0];
  if (node.op != "ArgMax"_op && node.op != "ArgMin"_op)
    return Unsupported("computes ArgMax and ArgMin only");
  const ir::Value& x = group.value(group.inputs[0]);
  const bool is_computed = x.dtype == DType::kF32 || x.dtype == DType::kF16 ||
                           x.dtype == DType::kBF16 || IsArgInteger(x.dtype);
  if (!is_computed) return Unsupported("{} is not compared here", DTypeName(x.dtype));
  const auto axis = NormaliseAxis(node.attributes.Int("axis", 0), x.shape->rank());
  if (!axis || (*x.shape)[*axis] >= 1 << 24) return Unsupported("rows beyond 2^24 elements");
  const ArgRule rule{.max = node.op == "ArgMax"_op,
                     .last = node.attributes.Int("select_last_index", 0) != 0};
  return Facts{*x.shape, IsFloat(x.dtype) ? DType::kF32 : x.dtype, *axis, rule};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts& facts,
                                            const Device&) {
  RETURN_IF_ERROR(facts.In(Layout::RowMajor()).status());
  std::vector<StateAssignment> states{WidenedStates(group)};
  const Layout layout = Layout::ChannelsLast(facts.x.rank());
  if (!layout.IsRowMajor() && facts.In(layout).ok()) {
    states.push_back(states[0]);
    states[1].inputs[0].layout = layout;
  }
  return states;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Facts& facts,
                                                const Params&, const Device&) {
  ASSIGN_OR_RETURN(const RowExtents extents, facts.In(problem.states.inputs[0].layout));
  return std::unique_ptr<PreparedKernel>(new Arg(extents, facts.rule, facts.dtype));
}

constexpr Family<Facts> kFamily{.read = Read,
                                .states = States,
                                .prepare = Prepare,
                                .taste = Always<10>,
                                .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuReduceArg;
const KernelDesc kCpuReduceArg = {.name = "cpu.reduce.arg", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
