// Scalar oracles of Softmax, LogSoftmax and Hardmax.
#include <cmath>
#include <limits>

#include "ops/op.h"
#include "ops/softmax/op.h"
#include "ops/walk.h"

namespace fettle::ops {
namespace {

/// What the elements of a row share.
struct Row {
  double max = -std::numeric_limits<double>::infinity();
  double sum = 0;            // of exp(x - max)
  int64_t first_of_max = 0;  // its offset
};

Row MakeRow(const HostView& x, int64_t base, const std::vector<int64_t>& offsets) {
  Row row;
  row.first_of_max = base;
  for (int64_t offset : offsets) {
    const double value = x.GetDouble(base + offset);
    if (value > row.max) {
      row.max = value;
      row.first_of_max = base + offset;
    }
  }
  for (int64_t offset : offsets) row.sum += std::exp(x.GetDouble(base + offset) - row.max);
  return row;
}

/// y = f(x, row, whether x is the first maximum of its row).
template <typename F>
Status PerRow(const RefContext& context, const Region& region, F f) {
  const HostView &x = context.inputs[0], &y = context.outputs[0];
  ASSIGN_OR_RETURN(const AxisMask mask, SoftmaxAxes(context.node, x.shape.rank()));
  const std::vector<int64_t> offsets = RowOffsets(x, mask);
  Walker walk(y.shape, {x.strides, RowStrides(x.strides, mask), y.strides}, region.begin);
  RowMemo<Row> rows;
  for (int64_t i = region.begin; i < region.end; ++i, walk.Next()) {
    const Row& row = rows.At(walk[1], [&] { return MakeRow(x, walk[1], offsets); });
    y.SetDouble(walk[2], f(x.GetDouble(walk[0]), row, walk[0] == row.first_of_max));
  }
  return OkStatus();
}

}  // namespace

Status SoftmaxReference(const RefContext& context, const Region& region) {
  const bool safe = NanToZero(context.node);
  return PerRow(context, region, [safe](double x, const Row& row, bool) {
    const double y = std::exp(x - row.max) / row.sum;
    return safe && std::isnan(y) ? 0.0 : y;
  });
}

Status LogSoftmaxReference(const RefContext& context, const Region& region) {
  return PerRow(context, region,
                [](double x, const Row& row, bool) { return x - row.max - std::log(row.sum); });
}

Status HardmaxReference(const RefContext& context, const Region& region) {
  return PerRow(context, region,
                [](double, const Row&, bool is_max) { return is_max ? 1.0 : 0.0; });
}

}  // namespace fettle::ops
