// cpu.reduce.typed: reductions of integers, double and floats over any axes, row-major: plain
// loops. Sums are kept in double or 64 bits, as the oracle keeps them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/operands.h"
#include "kernels/cpu/reduce/fold.h"
#include "kernels/cpu/reduce/mask.h"
#include "kernels/family.h"
#include "kernels/match/extents.h"

namespace fettle::kernels {
namespace {

/// Results side by side that a task keeps.
constexpr int64_t kColumns = 256;

/// Spans of a kind that a tensor may fall into.
constexpr size_t kMostSpans = 8;

using Finish = double (*)(double folded, double count);

struct Row {
  std::string_view op;
  FoldKind fold = FoldKind::kSum;
  Finish finish = nullptr;
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

/// Neighbouring axes that are all kept or all reduced.
struct Span {
  int64_t extent, stride;  // elements of the input from one to the next
};

/// The input as spans: results in the order of `kept`, each folded over `folded`; the last span of
/// all is one of `columns` results side by side, or of `run` elements of one result (else 1).
struct Facts {
  std::vector<Span> kept, folded;
  int64_t columns = 1, run = 1;
  int64_t results = 1, count = 1;  // rows of results; elements of a result
  Row row = {};
  DType storage = DType::kF32;
  int taste = 5;
};

/// Steps through all coordinates of some spans.
class Steps {
 public:
  Steps(std::span<const Span> spans, int64_t begin) : spans_(spans) {
    for (size_t i = spans.size(); i-- > 0;) {
      at_[i] = begin % spans[i].extent;
      begin /= spans[i].extent;
      offset_ += at_[i] * spans[i].stride;
    }
  }
  int64_t offset() const { return offset_; }
  void Next() {
    for (size_t i = spans_.size(); i-- > 0;) {
      offset_ += spans_[i].stride;
      if (++at_[i] < spans_[i].extent) return;
      offset_ -= spans_[i].stride * spans_[i].extent;
      at_[i] = 0;
    }
  }

 private:
  std::span<const Span> spans_;
  int64_t at_[kMostSpans] = {};
  int64_t offset_ = 0;
};

/// What T is summed up in; extremes stay T.
template <typename T, FoldKind kFold>
using Held = std::conditional_t<kFold == FoldKind::kMax || kFold == FoldKind::kMin, T,
                                std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>>;

template <typename T, FoldKind kFold>
constexpr Held<T, kFold> Neutral() {
  using Limits = std::numeric_limits<T>;
  if constexpr (kFold == FoldKind::kProd) return 1;
  if constexpr (kFold == FoldKind::kMax)
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  if constexpr (kFold == FoldKind::kMin)
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
  return 0;
}

template <typename T, FoldKind kFold>
Held<T, kFold> Step(Held<T, kFold> sum, T x) {
  using W = Held<T, kFold>;
  if constexpr (kFold == FoldKind::kMax) return sum != sum || sum > x ? sum : x;  // NaN wins
  if constexpr (kFold == FoldKind::kMin) return sum != sum || sum < x ? sum : x;
  const W v = static_cast<W>(x);
  if constexpr (kFold == FoldKind::kSumAbs) return x < T{0} ? sum - v : sum + v;
  if constexpr (kFold == FoldKind::kSumSquare) return sum + v * v;
  if constexpr (kFold == FoldKind::kProd) return sum * v;
  return sum + v;
}

/// The stored result.
template <typename T, typename W>
T Finished(W folded, Finish finish, int64_t count) {
  if (finish == nullptr) return static_cast<T>(folded);
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(finish(folded, static_cast<double>(count)));
  } else {
    using Sum = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
    const double value =
        finish(static_cast<double>(static_cast<Sum>(folded)), static_cast<double>(count));
    return static_cast<T>(std::isfinite(value) ? static_cast<int64_t>(value) : 0);
  }
}

/// `columns` results whose first elements are neighbours.
template <typename T, FoldKind kFold>
void FoldColumns(const Facts& facts, const T* x, int64_t columns, T* y) {
  using W = Held<T, kFold>;
  W held[kColumns];
  std::fill_n(held, columns, Neutral<T, kFold>());
  Steps steps(facts.folded, 0);
  for (int64_t r = 0; r < facts.count; ++r, steps.Next()) {
    const T* row = x + steps.offset();
    for (int64_t i = 0; i < columns; ++i) held[i] = Step<T, kFold>(held[i], row[i]);
  }
  for (int64_t i = 0; i < columns; ++i) y[i] = Finished<T>(held[i], facts.row.finish, facts.count);
}

/// One result of runs of neighbours, folded in four chains.
template <typename T, FoldKind kFold>
T FoldRuns(const Facts& facts, const T* x) {
  using W = Held<T, kFold>;
  constexpr int64_t kChains = 4;
  W held[kChains];
  std::fill_n(held, kChains, Neutral<T, kFold>());
  Steps steps(facts.folded, 0);
  for (int64_t r = 0; r < facts.count / facts.run; ++r, steps.Next()) {
    const T* row = x + steps.offset();
    int64_t i = 0;
    for (; i + kChains <= facts.run; i += kChains) {
      for (int64_t c = 0; c < kChains; ++c) held[c] = Step<T, kFold>(held[c], row[i + c]);
    }
    for (; i < facts.run; ++i) held[0] = Step<T, kFold>(held[0], row[i]);
  }
  constexpr bool kSums = kFold == FoldKind::kSumAbs || kFold == FoldKind::kSumSquare;
  for (int64_t c = 1; c < kChains; ++c) {
    if constexpr (kSums) {
      held[0] += held[c];
    } else {
      held[0] = Step<W, kFold>(held[0], held[c]);
    }
  }
  return Finished<T>(held[0], facts.row.finish, facts.count);
}

/// `columns` results of floats, or one of runs of neighbours: the innermost rows are folded in
/// vectors, what they come to in double.
template <FoldKind kFold>
void FoldFloats(const Facts& facts, const float* x, int64_t columns, float* y) {
  constexpr FoldKind kParts =
      kFold == FoldKind::kSumAbs || kFold == FoldKind::kSumSquare ? FoldKind::kSum : kFold;
  std::span<const Span> outer = facts.folded;
  Span row{facts.run, 1};
  if (columns > 1) {
    row = outer.empty() ? Span{1, columns} : outer.back();
    if (!outer.empty()) outer = outer.first(outer.size() - 1);
  }
  Held<float, kParts> held[kColumns];
  std::fill_n(held, columns, Neutral<float, kParts>());
  Steps steps(outer, 0);
  float part[kColumns];
  for (int64_t r = 0; r < facts.count / row.extent; ++r, steps.Next()) {
    Fold({.kind = kFold,
          .from = reinterpret_cast<const std::byte*>(x + steps.offset()),
          .row = row.extent,
          .inner = columns,
          .inner_stride = row.stride},
         part);
    for (int64_t i = 0; i < columns; ++i) held[i] = Step<float, kParts>(held[i], part[i]);
  }
  for (int64_t i = 0; i < columns; ++i)
    y[i] = Finished<float>(held[i], facts.row.finish, facts.count);
}

class ReduceTyped final : public PreparedKernel {
 public:
  ReduceTyped(const Problem& problem, const Facts& facts)
      : operands_(*problem.group), facts_(facts) {}

  Status Launch(const LaunchArgs& args) const override {
    switch (facts_.storage) {
      case DType::kF32: Run<float>(args); break;
      case DType::kF64: Run<double>(args); break;
      case DType::kI32: Run<int32_t>(args); break;
      default: Run<int64_t>(args); break;
    }
    return OkStatus();
  }

 private:
  template <typename T>
  void Run(const LaunchArgs& args) const {
    switch (facts_.row.fold) {
      case FoldKind::kSum: RunFold<T, FoldKind::kSum>(args); break;
      case FoldKind::kSumAbs: RunFold<T, FoldKind::kSumAbs>(args); break;
      case FoldKind::kSumSquare: RunFold<T, FoldKind::kSumSquare>(args); break;
      case FoldKind::kProd: RunFold<T, FoldKind::kProd>(args); break;
      case FoldKind::kMax: RunFold<T, FoldKind::kMax>(args); break;
      case FoldKind::kMin: RunFold<T, FoldKind::kMin>(args); break;
    }
  }

  template <typename T, FoldKind kFold>
  void RunFold(const LaunchArgs& args) const {
    constexpr int64_t kElementsPerTask = 32768;
    const T* x = reinterpret_cast<const T*>(operands_.input(args, 0));
    T* y = reinterpret_cast<T*>(operands_.output(args, 0));
    const int64_t columns = facts_.columns, blocks = (columns + kColumns - 1) / kColumns;
    const int64_t units = facts_.results * blocks;
    const int64_t unit = std::max<int64_t>(1, facts_.count * std::min(columns, kColumns));
    const int64_t per_task = std::max<int64_t>(1, kElementsPerTask / unit);
    const auto run = [&](int64_t task, int) {
      const int64_t begin = task * per_task, end = std::min(units, begin + per_task);
      Steps steps(facts_.kept, begin / blocks);
      for (int64_t u = begin; u < end; ++u) {
        const int64_t first = u % blocks * kColumns;
        T* to = y + u / blocks * columns + first;
        if constexpr (std::is_same_v<T, float>) {
          FoldFloats<kFold>(facts_, x + steps.offset() + first, std::min(kColumns, columns - first),
                            to);
        } else if (columns > 1) {
          FoldColumns<T, kFold>(facts_, x + steps.offset() + first,
                                std::min(kColumns, columns - first), to);
        } else {
          *to = FoldRuns<T, kFold>(facts_, x + steps.offset());
        }
        if (u % blocks == blocks - 1) steps.Next();
      }
    };
    static_cast<CpuStream&>(args.stream).ParallelFor((units + per_task - 1) / per_task, run);
  }

  NodeOperands operands_;
  Facts facts_;
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
  // The innermost span is walked by the loops themselves.
  if (!facts.kept.empty() && facts.kept[0].stride == 1) {
    facts.columns = facts.kept[0].extent;
    facts.kept.erase(facts.kept.begin());
    facts.results /= std::max<int64_t>(1, facts.columns);
  } else if (!facts.folded.empty() && facts.folded[0].stride == 1) {
    facts.run = facts.folded[0].extent;
    facts.folded.erase(facts.folded.begin());
  }
  std::ranges::reverse(facts.kept);
  std::ranges::reverse(facts.folded);
}

/// cpu.reduce.rows, in vectors and any layout in which a row lies together, has 10. Where none does
/// in row-major, it needs another layout, which images have that keep their channels.
int TasteOf(const Shape& x, const ops::AxisMask& mask) {
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
  facts.row = *row;
  facts.storage = x.dtype;
  if (x.dtype == DType::kF16 || x.dtype == DType::kBF16) facts.storage = DType::kF32;
  const bool is_float = facts.storage == DType::kF32 || facts.storage == DType::kF64;
  if (!is_float && x.dtype != DType::kI32 && x.dtype != DType::kI64)
    return Unsupported("{} is not reduced here", DTypeName(x.dtype));
  ASSIGN_OR_RETURN(const ops::AxisMask mask, ConstantReduceMask(group, node, x.shape->rank()));
  FindSpans(*x.shape, mask, facts);
  facts.taste = TasteOf(*x.shape, mask);
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
