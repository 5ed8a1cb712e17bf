// Scalar oracle of window and global pooling: one window per output element, sums in double.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/element_access.h"
#include "ops/op.h"
#include "ops/pool/op.h"

namespace fettle::ops {
namespace {

/// Strides that turn a coordinate into its position in the whole input, as storage_order counts.
Dims IndexStrides(const PoolAttributes& pool, const Shape& x) {
  Dims strides = RowMajorStrides(x);
  if (!pool.column_major) return strides;
  int64_t stride = 1;
  for (int axis = 2; axis < x.rank(); ++axis) {
    strides[axis] = stride;
    stride *= x[axis];
  }
  return strides;
}

/// Visits the windows of one input, in row-major order of their taps.
class WindowWalk {
 public:
  WindowWalk(const PoolAttributes& pool, const HostView& x)
      : pool_(pool),
        x_(x),
        index_strides_(IndexStrides(pool, x.shape)),
        range_(pool.kernel.size()),
        tap_(pool.kernel.size()) {}

  /// Calls `visit(offset, index)` for each element of the window of output `out` inside the input:
  /// its element offset and its position in the input.
  template <typename F>
  void Visit(std::span<const int64_t> out, F visit) {
    const size_t last = tap_.size() - 1;
    for (size_t i = 0; i <= last; ++i) {
      const auto axis = static_cast<int>(i);
      range_[i] = InsideTaps(pool_, axis, out[i + 2], x_.shape[axis + 2]);
      if (range_[i].begin >= range_[i].end) return;
      tap_[i] = range_[i].begin;
    }
    const int64_t step = pool_.dilations[last] * x_.strides[last + 2];
    const int64_t index_step = pool_.dilations[last] * index_strides_[last + 2];
    do {
      int64_t offset = Place(out, x_.strides), index = Place(out, index_strides_);
      for (int64_t t = range_[last].begin; t < range_[last].end; ++t) {
        visit(offset, index);
        offset += step;
        index += index_step;
      }
    } while (NextRow());
  }

 private:
  /// Offset of the current tap of output `out` under `strides`.
  int64_t Place(std::span<const int64_t> out, const Dims& strides) const {
    int64_t offset = out[0] * strides[0] + out[1] * strides[1];
    for (size_t i = 0; i < tap_.size(); ++i) {
      offset +=
          (out[i + 2] * pool_.strides[i] - pool_.pad_begin[i] + tap_[i] * pool_.dilations[i]) *
          strides[i + 2];
    }
    return offset;
  }
  /// Steps to the next row of taps along the last axis.
  bool NextRow() {
    for (size_t i = tap_.size() - 1; i-- > 0;) {
      if (++tap_[i] < range_[i].end) return true;
      tap_[i] = range_[i].begin;
    }
    return false;
  }

  const PoolAttributes& pool_;
  const HostView& x_;
  Dims index_strides_;
  std::vector<TapRange> range_;
  std::vector<int64_t> tap_;
};

/// Elements that an average divides by: taps inside the input, or inside input and padding.
int64_t AverageCount(const PoolAttributes& pool, const Shape& x, std::span<const int64_t> out) {
  int64_t count = 1;
  for (int i = 0; i < pool.spatial_rank(); ++i) {
    const size_t at = i;
    TapRange range = InsideTaps(pool, i, out[at + 2], x[i + 2]);
    if (pool.count_include_pad) {
      // What is padded in front always counts; the window may still pass the padding behind.
      range = InsideTaps(pool, i, out[at + 2], x[i + 2] + pool.pad_end[at]);
      range.begin = 0;
    }
    count *= range.end - range.begin;
  }
  return count;
}

template <typename T>
constexpr double Lowest() {
  if constexpr (kIsReducedFloat<T>) {
    return -std::numeric_limits<double>::infinity();
  } else {
    return static_cast<double>(std::numeric_limits<T>::lowest());
  }
}

template <typename T>
void MaxPoolRegion(const PoolAttributes& pool, const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &y = context.outputs[0];
  WindowWalk walk(pool, x);
  ForEachCoordinate(y.shape, region, [&](int64_t, std::span<const int64_t> out) {
    double best = Lowest<T>();
    int64_t best_index = -1;
    walk.Visit(out, [&](int64_t offset, int64_t index) {
      const auto value = static_cast<double>(Widen(x.as<T>()[offset]));
      if (best_index >= 0 && !(value > best)) return;
      best = value;
      best_index = index;
    });
    y.as<T>()[y.Offset(out)] = Narrow<T>(best);
    if (context.has_output(1))
      context.outputs[1].SetInt(context.outputs[1].Offset(out), best_index);
  });
}

double PowerOf(double magnitude, double p) {
  return p == 1 ? magnitude : p == 2 ? magnitude * magnitude : std::pow(magnitude, p);
}

double RootOf(double sum, double p) {
  return p == 1 || sum == 0 ? sum : p == 2 ? std::sqrt(sum) : std::pow(sum, 1 / p);
}

template <typename T>
void SumPoolRegion(const PoolAttributes& pool, bool average, const HostView& x, const HostView& y,
                   const Region& region) {
  const auto p = static_cast<double>(pool.p);
  WindowWalk walk(pool, x);
  ForEachCoordinate(y.shape, region, [&](int64_t, std::span<const int64_t> out) {
    double sum = 0;
    walk.Visit(out, [&](int64_t offset, int64_t) {
      const auto value = static_cast<double>(Widen(x.as<T>()[offset]));
      sum += average ? value : PowerOf(std::abs(value), p);
    });
    // A window without any element, padding alone, gives 0.
    const int64_t count = average ? AverageCount(pool, x.shape, out) : 1;
    const double result =
        average ? sum / static_cast<double>(std::max<int64_t>(count, 1)) : RootOf(sum, p);
    y.as<T>()[y.Offset(out)] = Narrow<T>(result);
  });
}

/// One (n, c) plane: mean, maximum or p-norm.
template <typename T>
double GlobalPoolAt(ir::OpRef op, double p, const HostView& x, int64_t base) {
  const Shape plane(Dims(x.shape.begin() + 2, x.shape.end()));
  const int64_t elements = plane.elements();
  std::vector<int64_t> at(plane.rank());
  double sum = 0, best = Lowest<T>();
  for (int64_t i = 0; i < elements; ++i) {
    Unravel(i, plane, at);
    int64_t offset = base;
    for (size_t k = 0; k < at.size(); ++k) offset += at[k] * x.strides[k + 2];
    const auto value = static_cast<double>(Widen(x.as<T>()[offset]));
    if (value > best || i == 0) best = value;
    sum += op == "GlobalLpPool"_op ? PowerOf(std::abs(value), p) : value;
  }
  if (op == "GlobalMaxPool"_op) return best;
  return op == "GlobalLpPool"_op ? RootOf(sum, p) : sum / static_cast<double>(elements);
}

}  // namespace

Status MaxPoolReference(const RefContext& context, const Region& region) {
  ASSIGN_OR_RETURN(const PoolAttributes pool, ReadPool(context.node, context.inputs[0].shape));
  DispatchDType(context.inputs[0].dtype,
                [&]<typename T>() { MaxPoolRegion<T>(pool, context, region); });
  return OkStatus();
}

Status PoolReference(const RefContext& context, const Region& region) {
  ASSIGN_OR_RETURN(const PoolAttributes pool, ReadPool(context.node, context.inputs[0].shape));
  const bool average = context.node.op == "AveragePool"_op;
  DispatchDType(context.inputs[0].dtype, [&]<typename T>() {
    SumPoolRegion<T>(pool, average, context.inputs[0], context.outputs[0], region);
  });
  return OkStatus();
}

Status GlobalPoolReference(const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &y = context.outputs[0];
  const auto p = static_cast<double>(context.attributes().Int("p", 2));
  std::vector<int64_t> out(y.shape.rank());
  DispatchDType(x.dtype, [&]<typename T>() {
    for (int64_t i = region.begin; i < region.end; ++i) {
      Unravel(i, y.shape, out);
      const int64_t base = out[0] * x.strides[0] + out[1] * x.strides[1];
      y.SetDouble(y.Offset(out), GlobalPoolAt<T>(context.node.op, p, x, base));
    }
  });
  return OkStatus();
}

Status MaxUnpoolReference(const RefContext& context, const Region&) {
  const HostView &x = context.inputs[0], &indices = context.inputs[1], &y = context.outputs[0];
  ASSIGN_OR_RETURN(const MaxUnpoolAttributes unpool, ReadMaxUnpool(context.node, x.shape));
  // Indices count in the extents that the pooling inverts, whatever output_shape adds behind them.
  Dims extents = {x.shape[0], x.shape[1]};
  extents.insert(extents.end(), unpool.output.begin(), unpool.output.end());
  const Shape inner(extents);
  std::vector<int64_t> at(extents.size());
  for (int64_t i = 0; i < y.shape.elements(); ++i) {
    Unravel(i, y.shape, at);
    y.SetDouble(y.Offset(at), 0);
  }
  for (int64_t i = 0; i < x.shape.elements(); ++i) {
    Unravel(i, x.shape, at);
    const double value = x.GetDouble(x.Offset(at));
    const int64_t index = indices.GetInt(indices.Offset(at));
    if (index < 0 || index >= inner.elements())
      return InvalidArgument("index {} is outside of {}", index, inner.ToString());
    Unravel(index, inner, at);
    y.SetDouble(y.Offset(at), value);
  }
  return OkStatus();
}

}  // namespace fettle::ops
