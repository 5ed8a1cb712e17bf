// Scalar oracles of the reductions, ArgMax/ArgMin and cumulation.
#include <cmath>
#include <concepts>
#include <limits>

#include "ops/element_access.h"
#include "ops/host_ints.h"
#include "ops/op.h"
#include "ops/reduce/op.h"

namespace fettle::ops {
namespace {

/// `strides` of a tensor that lost the masked axes, as strides over all axes (0 where masked).
Dims SpreadStrides(const HostView& reduced, const AxisMask& mask) {
  const bool kept = reduced.shape.rank() == static_cast<int>(mask.size());
  Dims strides(mask.size(), 0);
  size_t next = 0;
  for (size_t i = 0; i < mask.size(); ++i) {
    if (!mask[i]) strides[i] = reduced.strides[kept ? i : next];
    if (!mask[i] || kept) ++next;
  }
  return strides;
}

/// Offsets in `x` of the rows, in the order of the output's elements.
Walker WalkRows(const HostView& x, const HostView& y, const AxisMask& mask, int64_t begin) {
  Dims rows = x.shape.dims();
  for (size_t i = 0; i < mask.size(); ++i) {
    if (mask[i]) rows[i] = 1;
  }
  return Walker(Shape(rows), {x.strides, SpreadStrides(y, mask)}, begin);
}

enum class Fold { kSum, kSumAbs, kSumSquare, kProd, kMax, kMin, kLogSumExp };

struct RowReduction {
  std::string_view name;
  Fold fold;
  /// Applied to the folded value, where one is needed; `count` elements went into it.
  double (*finish)(double folded, double count) = nullptr;
};

constexpr RowReduction kReductions[] = {
    {"ReduceL1", Fold::kSumAbs},
    {"ReduceL2", Fold::kSumSquare, [](double s, double) { return std::sqrt(s); }},
    {"ReduceLogSum", Fold::kSum, [](double s, double) { return std::log(s); }},
    {"ReduceLogSumExp", Fold::kLogSumExp},
    {"ReduceMax", Fold::kMax},
    {"ReduceMean", Fold::kSum, [](double s, double count) { return s / count; }},
    {"ReduceMin", Fold::kMin},
    {"ReduceProd", Fold::kProd},
    {"ReduceSum", Fold::kSum},
    {"ReduceSumSquare", Fold::kSumSquare},
};

const RowReduction& FindReduction(std::string_view name) {
  for (const RowReduction& reduction : kReductions) {
    if (reduction.name == name) return reduction;
  }
  FETTLE_CHECK(false, "a reduction without a row");
}

/// Unsigned for integers, so that overflow wraps.
template <typename W>
using WrappingType = std::conditional_t<std::same_as<W, int64_t>, uint64_t, W>;

/// The value of an empty row: the neutral element.
template <typename T>
Wide<T> Neutral(Fold fold) {
  if (fold == Fold::kProd) return 1;
  if (fold != Fold::kMax && fold != Fold::kMin) return 0;
  if constexpr (kIsFloating<T>) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return fold == Fold::kMax ? -kInfinity : kInfinity;
  } else {
    using Limits = std::numeric_limits<T>;
    return fold == Fold::kMax ? Limits::lowest() : Limits::max();
  }
}

template <typename W>
W Step(Fold fold, W sum, W x) {
  using U = WrappingType<W>;
  const U s = static_cast<U>(sum), v = static_cast<U>(x);
  switch (fold) {
    case Fold::kSumAbs: return static_cast<W>(x < W{} ? s - v : s + v);
    case Fold::kSumSquare: return static_cast<W>(s + v * v);
    case Fold::kProd: return static_cast<W>(s * v);
    case Fold::kMax: return sum != sum || sum > x ? sum : x;  // NaN wins
    case Fold::kMin: return sum != sum || sum < x ? sum : x;
    default: return static_cast<W>(s + v);
  }
}

/// log(sum(exp(x))), around the maximum so that nothing overflows.
template <typename T>
double LogSumExp(const T* row, const std::vector<int64_t>& offsets) {
  double max = -std::numeric_limits<double>::infinity(), sum = 0;
  for (int64_t offset : offsets) max = std::max(max, static_cast<double>(Widen(row[offset])));
  if (std::isinf(max)) return max;
  for (int64_t offset : offsets) sum += std::exp(static_cast<double>(Widen(row[offset])) - max);
  return max + std::log(sum);
}

template <typename T>
T ReduceRow(const RowReduction& reduction, const T* row, const std::vector<int64_t>& offsets) {
  const auto store = [](double value) {
    if constexpr (kIsFloating<T>) {
      return Narrow<T>(value);
    } else {
      return static_cast<T>(std::isfinite(value) ? static_cast<int64_t>(value) : 0);
    }
  };
  if (reduction.fold == Fold::kLogSumExp) return store(LogSumExp(row, offsets));
  Wide<T> folded = Neutral<T>(reduction.fold);
  for (int64_t offset : offsets) folded = Step(reduction.fold, folded, Widen(row[offset]));
  if (reduction.finish == nullptr) return Narrow<T>(folded);
  return store(reduction.finish(static_cast<double>(folded), static_cast<double>(offsets.size())));
}

}  // namespace

Status ReduceReference(const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &y = context.outputs[0];
  const std::vector<int64_t> axes =
      context.has_input(1) ? IntsOf(context.inputs[1]) : std::vector<int64_t>();
  ASSIGN_OR_RETURN(const AxisMask mask, ReduceAxes(context.node, x.shape.rank(), axes));
  const RowReduction& reduction = FindReduction(context.node.op);
  const std::vector<int64_t> offsets = RowOffsets(x, mask);
  Walker walk = WalkRows(x, y, mask, region.begin);
  DispatchDType(x.dtype, [&]<typename T>() {
    for (int64_t i = region.begin; i < region.end; ++i, walk.Next())
      y.as<T>()[walk[1]] = ReduceRow(reduction, x.as<T>() + walk[0], offsets);
  });
  return OkStatus();
}

Status ArgReference(const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &y = context.outputs[0];
  ASSIGN_OR_RETURN(const int axis, ReadAxis(context.attributes().Int("axis", 0), x.shape.rank()));
  const bool last = context.attributes().Int("select_last_index", 0) != 0;
  const bool max = context.node.op == "ArgMax"_op;
  AxisMask mask(x.shape.rank(), false);
  mask[axis] = true;
  const int64_t stride = x.strides[axis];
  Walker walk = WalkRows(x, y, mask, region.begin);
  DispatchDType(x.dtype, [&]<typename T>() {
    for (int64_t i = region.begin; i < region.end; ++i, walk.Next()) {
      const T* row = x.as<T>() + walk[0];
      int64_t best = 0;
      for (int64_t k = 1; k < x.shape[axis]; ++k) {
        const auto value = Widen(row[k * stride]), held = Widen(row[best * stride]);
        // NaN wins, as in NumPy.
        const bool nan = value != value, held_nan = held != held;
        const bool better = nan ? !held_nan : !held_nan && (max ? value > held : value < held);
        if (better || (last && (value == held || (nan && held_nan)))) best = k;
      }
      y.as<int64_t>()[walk[1]] = best;
    }
  });
  return OkStatus();
}

Status CumulateReference(const RefContext& context, const Region&) {
  const HostView &x = context.inputs[0], &y = context.outputs[0];
  const Result<int> axis = ReadAxis(context.inputs[1].GetInt(0), x.shape.rank());
  if (!axis.ok()) return InvalidArgument("{}", axis.status().message());
  const bool exclusive = context.attributes().Int("exclusive", 0) != 0;
  const bool reverse = context.attributes().Int("reverse", 0) != 0;
  const Fold fold = context.node.op == "CumProd"_op ? Fold::kProd : Fold::kSum;
  const size_t a = *axis;
  const int64_t extent = x.shape[*axis];
  Dims rows = x.shape.dims();
  rows[a] = 1;
  const Shape row_shape(rows);
  Walker walk(row_shape, {x.strides, y.strides}, 0);
  DispatchDType(x.dtype, [&]<typename T>() {
    for (int64_t r = 0; extent > 0 && r < row_shape.elements(); ++r, walk.Next()) {
      Wide<T> sum = Neutral<T>(fold);
      for (int64_t k = 0; k < extent; ++k) {
        const int64_t at = reverse ? extent - 1 - k : k;
        const Wide<T> before = sum;
        sum = Step(fold, sum, Widen(x.as<T>()[walk[0] + at * x.strides[a]]));
        y.as<T>()[walk[1] + at * y.strides[a]] = Narrow<T>(exclusive ? before : sum);
      }
    }
  });
  return OkStatus();
}

}  // namespace fettle::ops
