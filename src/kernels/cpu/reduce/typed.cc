// compiled: small
// cpu.reduce.typed: reductions of integers, double and floats over any axes, row-major. Sums are
// kept in double or 64 bits, as the oracle keeps them.
#include <algorithm>
#include <cmath>
#include <span>

#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/move/copy_leaf.h"
#include "kernels/cpu/operands.h"
#include "kernels/cpu/reduce/mask.h"
#include "kernels/cpu/reduce/spans.h"
#include "kernels/cpu/reduce/typed_loops.h"
#include "kernels/family.h"
#include "kernels/match/extents.h"

namespace fettle::kernels {
namespace {

/// Most elements of a result, or of a few side by side, that are turned.
constexpr int64_t kMostTurned = 128;
/// Longer rows of floats are folded along by cpu.reduce.rows in less time.
constexpr int64_t kMostTurnedFloats = 10;
/// Fewer columns than a vector has lanes.
constexpr int64_t kFewColumns = 16;
/// Bytes of what is turned at once: they stay in the first-level cache.
constexpr int64_t kTurnedBytes = 16 << 10;

struct Row {
  std::string_view op;
  FoldKind fold = FoldKind::kSum;
  TypedFinish finish = nullptr;
};
constexpr Row kRows[] = {
    {"ReduceL1", FoldKind::kSumAbs},
    {"ReduceL2", FoldKind::kSumSquare, [](double s, double) { return std::sqrt(s); }},
    {"ReduceLogSum", FoldKind::kSum, [](double s, double) { return std::log(s); }},
    {"ReduceMax", FoldKind::kMax},
    {"ReduceMean", FoldKind::kSum, [](double s, double count) { return s / count; }},
    {"ReduceMin", FoldKind::kMin},
    {"ReduceProd", FoldKind::kProd},
    {"ReduceSum", FoldKind::kSum},
    {"ReduceSumSquare", FoldKind::kSumSquare},
};

/// The input as spans: results in the order of `kept`, each folded over `folded`. The loops walk
/// the innermost spans themselves: `row` is folded, `columns` results lie side by side. Where rows
/// of columns are short and follow each other, `turned` of them do so, and are made columns.
struct Facts {
  std::vector<Span> kept, folded;
  Span row{1, 0};
  int64_t columns = 1, turned = 1;
  int64_t results = 1, count = 1;  // those in the order of `kept`; elements of a result
  Row fold = {};
  DType storage = DType::kF32;
  int taste = 5;

  /// Whether each result is an extreme of a row of integers, and the rows follow each other.
  bool is_rows_of_extremes() const {
    const bool extreme = fold.fold == FoldKind::kMax || fold.fold == FoldKind::kMin;
    const bool follow = kept.empty() || (kept.size() == 1 && kept[0].stride == row.extent);
    return extreme && storage != DType::kF32 && storage != DType::kF64 && turned == 1 &&
           columns == 1 && row.extent == count && row.stride == 1 && follow;
  }
  /// Items that a unit of work takes side by side: columns, or rows to turn.
  int64_t items() const { return turned > 1 ? turned : columns; }
  int64_t most_items() const {
    if (turned == 1) return kTypedColumns;
    const int64_t bytes = row.extent * columns * ByteSize(storage);
    return std::clamp<int64_t>(kTurnedBytes / bytes / 16 * 16, 16, kTypedColumns / columns);
  }
};

class ReduceTyped final : public CpuKernel {
 public:
  ReduceTyped(const Problem& problem, const Facts& facts)
      : operands_(*problem.group),
        facts_(facts),
        loops_(*FindTypedLoops(facts.storage, facts.fold.fold)),
        size_(ByteSize(facts.storage)) {}

  Status Run(const CpuLaunch& args) const override {
    constexpr int64_t kElementsPerTask = 32768;
    const std::byte* x = operands_.input(args, 0);
    std::byte* y = operands_.output(args, 0);
    const int64_t items = facts_.items(), most = facts_.most_items();
    const int64_t x_step = is_turned() ? facts_.row.extent * facts_.columns : 1;
    const int64_t y_step = is_turned() ? facts_.columns : 1;
    const int64_t blocks = (items + most - 1) / most, units = facts_.results * blocks;
    const int64_t unit = std::max<int64_t>(1, facts_.count * std::min(items, most) * y_step);
    const int64_t per_task = std::max<int64_t>(1, kElementsPerTask / unit);
    const auto run = [&](int64_t task, int) {
      const int64_t begin = task * per_task, end = std::min(units, begin + per_task);
      if (facts_.is_rows_of_extremes()) return Extremes(x, begin, end, y);
      Steps steps(facts_.kept, begin / blocks);
      for (int64_t u = begin; u < end; ++u) {
        const int64_t first = u % blocks * most;
        Unit(x + (steps.offset() + first * x_step) * size_, std::min(most, items - first),
             y + (u / blocks * items + first) * y_step * size_);
        if (u % blocks == blocks - 1) steps.Next();
      }
    };
    args.stream.ParallelFor((units + per_task - 1) / per_task, run);
    return OkStatus();
  }

 private:
  bool is_turned() const { return facts_.turned > 1; }

  /// The results from `begin` to `end`, of rows one behind the other.
  void Extremes(const std::byte* x, int64_t begin, int64_t end, std::byte* y) const {
    const int64_t row = facts_.row.extent;
    FoldExtremes({.kind = facts_.fold.fold,
                  .storage = facts_.storage,
                  .from = x + begin * row * size_,
                  .row = row,
                  .rows = end - begin},
                 y + begin * size_);
  }

  /// The result of one unit: `items` columns, or rows that are turned.
  void Unit(const std::byte* x, int64_t items, std::byte* y) const {
    const Span& row = facts_.row;
    const int64_t columns = is_turned() ? items * facts_.columns : items;
    const bool is_dense =
        !is_turned() && row.stride == columns && (columns > 1 || !loops_.in_vectors);
    // Few columns without gaps: as many of their rows as a few vectors take are one.
    int64_t wide = columns;
    while (is_dense && wide < 64 && 4 * wide <= columns * row.extent) wide *= 2;
    alignas(64) std::byte held[kTypedColumns * sizeof(double)];
    alignas(64) std::byte turned[kTurnedBytes];
    loops_.fill(held, wide);
    Steps steps(facts_.folded, 0);
    for (int64_t r = 0; r < facts_.count / row.extent; ++r, steps.Next()) {
      const std::byte* from = x + steps.offset() * size_;
      if (is_turned()) {
        const int64_t length = row.extent * facts_.columns;
        CopyTransposed(from, turned, {length, 1, items}, {items, length, 1}, length, items, size_);
        loops_.add(turned, row.extent, columns, columns, held);
      } else if (wide > columns) {
        const int64_t all = row.extent * columns, rest = all % wide;
        loops_.add(from, all / wide, wide, wide, held);
        loops_.add(from + (all - rest) * size_, 1, wide, rest, held);
      } else {
        loops_.add(from, row.extent, row.stride, columns, held);
      }
    }
    for (; wide > columns; wide /= 2) loops_.join(held, wide / 2);
    const bool turns_back = is_turned() && facts_.columns > 1;
    loops_.finish(held, columns, facts_.fold.finish, facts_.count, turns_back ? turned : y);
    if (turns_back)
      CopyTransposed(turned, y, {items, 1, facts_.columns}, {facts_.columns, items, 1}, items,
                     facts_.columns, size_);
  }

  NodeOperands operands_;
  Facts facts_;
  const TypedLoops& loops_;
  int64_t size_;
};

/// Joins axes that are neighbours and treated alike.
void FindSpans(const Shape& x, const ops::AxisMask& mask, Facts& facts) {
  int64_t stride = 1;
  const Span* last = nullptr;  // the span of the axis behind
  bool last_folded = false;
  for (int axis = x.rank() - 1; axis >= 0; --axis) {
    const int64_t extent = x[axis];
    const bool folded = mask[axis];
    if (extent != 1) {
      std::vector<Span>& spans = folded ? facts.folded : facts.kept;
      if (last != nullptr && last_folded == folded) {
        spans.back().extent *= extent;
      } else {
        spans.push_back({extent, stride});
      }
      last = &spans.back();
      last_folded = folded;
    }
    (folded ? facts.count : facts.results) *= extent;
    stride *= extent;
  }
  // From here on innermost first.
  const auto take = [](std::vector<Span>& spans, int64_t at) {
    Span taken{1, 0};
    if (spans.empty() || spans[0].stride != at) return taken;
    std::swap(taken, spans[0]);
    spans.erase(spans.begin());
    return taken;
  };
  facts.columns = take(facts.kept, 1).extent;
  if (!facts.folded.empty()) facts.row = take(facts.folded, facts.folded[0].stride);
  const int64_t length = facts.row.extent * facts.columns;
  if (facts.row.stride == facts.columns && length <= kMostTurned && facts.columns <= kFewColumns)
    facts.turned = take(facts.kept, length).extent;
  facts.results /= std::max<int64_t>(1, facts.columns * facts.turned);
  std::ranges::reverse(facts.kept);
  std::ranges::reverse(facts.folded);
}

/// cpu.reduce.rows, in any layout in which a row lies together, has 10. Where none does in
/// row-major, it needs another layout, which images have that keep their channels. Rows of few
/// elements, few columns and bytes have vectors here alone.
int TasteOf(const Shape& x, const ops::AxisMask& mask, const Facts& facts) {
  const bool is_narrow = facts.row.stride == facts.columns && facts.columns <= kFewColumns &&
                         (facts.turned > 1 || facts.columns > 1);
  const bool is_long =
      facts.columns == 1 && facts.row.extent > kMostTurnedFloats && facts.storage == DType::kF32;
  if ((is_narrow && !is_long) || ByteSize(facts.storage) == 1) return 11;
  const bool is_image = x.rank() >= 4 && !mask[1];
  return is_image || SplitRows(x, Layout::RowMajor(), mask).ok() ? 5 : 11;
}

Result<Facts> Read(const ir::Graph& group, const Device&) {
  if (group.nodes().size() != 1) return Unsupported("not a single node");
  const ir::Node& node = group.nodes()[0];
  const auto* row = std::ranges::find(kRows, node.op.name(), &Row::op);
  if (row == std::end(kRows)) return Unsupported("computes reductions only");
  const ir::Value& x = group.value(node.inputs[0]);
  if (x.is_constant() || x.shape->elements() == 0)
    return Unsupported("the operand is constant or has no elements");
  Facts facts;
  facts.fold = *row;
  facts.storage = x.dtype;
  if (x.dtype == DType::kF16 || x.dtype == DType::kBF16) facts.storage = DType::kF32;
  const bool is_float = facts.storage == DType::kF32 || facts.storage == DType::kF64;
  const bool is_byte = (x.dtype == DType::kI8 || x.dtype == DType::kU8) &&
                       (row->fold == FoldKind::kMax || row->fold == FoldKind::kMin);
  if (!is_float && !is_byte && x.dtype != DType::kI32 && x.dtype != DType::kI64)
    return Unsupported("{} is not reduced here", DTypeName(x.dtype));
  ASSIGN_OR_RETURN(const ops::AxisMask mask, ConstantReduceMask(group, node, x.shape->rank()));
  FindSpans(*x.shape, mask, facts);
  facts.taste = TasteOf(*x.shape, mask, facts);
  if (std::max(facts.kept.size(), facts.folded.size()) > kMostSpans)
    return Unsupported("axes that change between kept and reduced too often");
  return facts;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts&, const Device&) {
  return std::vector<StateAssignment>{WidenedStates(group)};
}

int Taste(const Facts& facts, const Device&) { return facts.taste; }

constexpr Family<Facts> kFamily{.read = Read,
                                .states = States,
                                .prepare = Make<ReduceTyped>,
                                .taste = Taste,
                                .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuReduceTyped;
const KernelDesc kCpuReduceTyped = {.name = "cpu.reduce.typed", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
