// Scalar oracles of BlockMatMul and ExpertMatMul.
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "ops/element_access.h"
#include "ops/op.h"
#include "ops/quantise/block_product.h"
#include "ops/quantise/expert_product.h"

namespace fettle::ops {
namespace {

/// A block of A as bytes: element = step * byte. The step and its inverse are floats, as kernels
/// have them, so that both round alike; a block that holds NaN or infinity has the step NaN.
struct RoundedBlock {
  double step = 0;
  int64_t bytes[kMaxProductBlock] = {};
  int64_t sum = 0;
};

RoundedBlock RoundBlock(const HostView& a, int64_t offset, int64_t stride, int64_t count) {
  RoundedBlock rounded;
  float most = 0;
  for (int64_t i = 0; i < count; ++i) {
    const auto x = static_cast<float>(a.GetDouble(offset + i * stride));
    if (!std::isfinite(x)) {
      rounded.step = std::numeric_limits<double>::quiet_NaN();
      return rounded;
    }
    most = std::max(most, std::fabs(x));
  }
  // Smaller ones have no inverse.
  if (most < 0x1p-100F) return rounded;
  rounded.step = most * (1.0F / 127);
  const float inverse = 127.0F / most;
  for (int64_t i = 0; i < count; ++i) {
    const double scaled = a.GetDouble(offset + i * stride) * inverse;
    rounded.sum += rounded.bytes[i] = static_cast<int64_t>(std::nearbyint(scaled));
  }
  return rounded;
}

/// `depth` elements of A from `row` on, `step` apart, times a row of codes that begins at
/// `first_code`; its scales and minima, of each block, begin at `first_scale`.
double BlockDot(const RefContext& context, int64_t row, int64_t step, int64_t depth, int64_t block,
                size_t weights, int64_t first_code, int64_t first_scale) {
  const HostView &a = context.inputs[0], &codes = context.inputs[weights],
                 &scales = context.inputs[weights + 1], &minima = context.inputs[weights + 2];
  double sum = 0;
  for (int64_t b = 0; b < depth / block; ++b) {
    const RoundedBlock rounded = RoundBlock(a, row + b * block * step, step, block);
    int64_t dot = 0;
    for (int64_t i = 0; i < block; ++i)
      dot += rounded.bytes[i] * codes.GetInt(first_code + (b * block + i) * codes.strides.back());
    const double scale = scales.GetDouble(first_scale + b * scales.strides.back());
    const double minimum = minima.GetDouble(first_scale + b * minima.strides.back());
    sum += rounded.step *
           (scale * static_cast<double>(dot) + minimum * static_cast<double>(rounded.sum));
  }
  return sum;
}

/// Where the row of a matrix begins whose indices on all axes but the last are `at`.
int64_t RowStart(const HostView& view, std::span<const int64_t> at) {
  int64_t start = 0;
  for (size_t i = 0; i < at.size(); ++i) start += at[i] * view.strides[i];
  return start;
}

/// Row `row` of A times column `n` of an expert.
double ExpertDot(const RefContext& context, const ExpertProduct& p, int64_t row, int64_t expert,
                 int64_t n) {
  const HostView &a = context.inputs[ExpertProduct::kRows],
                 &w = context.inputs[ExpertProduct::kWeights];
  const int64_t at[] = {expert, n}, step = a.strides.back();
  if (p.block != 0)
    return BlockDot(context, row, step, p.k, p.block, ExpertProduct::kWeights, RowStart(w, at),
                    RowStart(context.inputs[ExpertProduct::kScales], at));
  double sum = 0;
  for (int64_t i = 0; i < p.k; ++i)
    sum += a.GetDouble(row + i * step) * w.GetDouble(RowStart(w, at) + i * w.strides.back());
  return sum;
}

}  // namespace

Status BlockMatMulReference(const RefContext& context, const Region& region) {
  const HostView &a = context.inputs[0], &codes = context.inputs[1], &y = context.outputs[0];
  const Shape shapes[] = {a.shape, codes.shape, context.inputs[2].shape, context.inputs[3].shape};
  ASSIGN_OR_RETURN(const BlockProduct p, ReadBlockProduct(context.node, shapes));
  ForEachCoordinate(y.shape, region, [&](int64_t, std::span<const int64_t> c) {
    const auto n = c.last(1);
    y.SetDouble(y.Offset(c),
                BlockDot(context, RowStart(a, c.first(c.size() - 1)), a.strides.back(), p.k,
                         p.block, 1, RowStart(codes, n), RowStart(context.inputs[2], n)));
  });
  return OkStatus();
}

Status ExpertMatMulReference(const RefContext& context, const Region& region) {
  std::vector<Shape> shapes(ExpertProduct::kCounts + 1);
  for (size_t i = 0; i < context.inputs.size(); ++i) shapes[i] = context.inputs[i].shape;
  ASSIGN_OR_RETURN(const ExpertProduct p, ReadExpertProduct(context.node, shapes));
  const HostView &a = context.inputs[ExpertProduct::kRows],
                 &chosen = context.inputs[ExpertProduct::kChosen], &y = context.outputs[0];
  int64_t wrong = -1;
  bool is_wrong = false;
  ForEachCoordinate(y.shape, region, [&](int64_t, std::span<const int64_t> c) {
    std::vector<int64_t> at(c.begin(), c.end() - 1);  // of the choice
    if (p.summed) at.push_back(0);
    double sum = 0;
    for (int64_t left = p.summed ? p.used : 1; left > 0; --left, ++at.back()) {
      const int64_t expert = chosen.GetInt(chosen.Offset(at));
      if (expert < 0 || expert >= p.experts) {
        wrong = expert;
        is_wrong = true;
        continue;
      }
      const auto row = std::span(at).first(at.size() - (p.own_rows ? 0 : 1));
      const double product = ExpertDot(context, p, RowStart(a, row), expert, c.back());
      const HostView* counts = p.summed ? &context.inputs[ExpertProduct::kCounts] : nullptr;
      sum += counts == nullptr ? product : product * counts->GetDouble(counts->Offset(at));
    }
    y.SetDouble(y.Offset(c), sum);
  });
  return is_wrong ? NoSuchExpert(wrong, p.experts) : OkStatus();
}

}  // namespace fettle::ops
