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

/// Where a row of codes, and its scales and minima, begin. They are the inputs `weights`, `scales`
/// and the one behind it.
struct CodeRow {
  size_t weights = 0, scales = 0;
  int64_t first_code = 0, first_scale = 0;
};

/// `depth` elements of A from `row` on, `step` apart, times a row of codes.
double BlockDot(const RefContext& context, int64_t row, int64_t step, int64_t depth, int64_t block,
                const CodeRow& by) {
  const HostView &a = context.inputs[0], &codes = context.inputs[by.weights],
                 &scales = context.inputs[by.scales], &minima = context.inputs[by.scales + 1];
  double sum = 0;
  for (int64_t b = 0; b < depth / block; ++b) {
    const RoundedBlock rounded = RoundBlock(a, row + b * block * step, step, block);
    int64_t dot = 0;
    for (int64_t i = 0; i < block; ++i)
      dot +=
          rounded.bytes[i] * codes.GetInt(by.first_code + (b * block + i) * codes.strides.back());
    const double scale = scales.GetDouble(by.first_scale + b * scales.strides.back());
    const double minimum = minima.GetDouble(by.first_scale + b * minima.strides.back());
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
    return BlockDot(context, row, step, p.k, p.block,
                    {ExpertProduct::kWeights, ExpertProduct::kScales, RowStart(w, at),
                     RowStart(context.inputs[ExpertProduct::kScales], at)});
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
    const CodeRow by = {1, 2, RowStart(codes, n), RowStart(context.inputs[2], n)};
    y.SetDouble(y.Offset(c), BlockDot(context, RowStart(a, c.first(c.size() - 1)), a.strides.back(),
                                      p.k, p.block, by));
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
    std::vector<int64_t> at(c.begin(), c.end() - 1);  // of the choice, or the row
    if (p.summed) at.push_back(0);
    double sum = 0;
    for (int64_t i = 0; i < (p.summed ? p.used : 1); ++i) {
      if (p.summed) at.back() = i;
      const int64_t expert = p.chooses    ? chosen.GetInt(chosen.Offset(at))
                             : p.own_rows ? at.back()
                                          : 0;
      if (expert < 0 || expert >= p.experts) {
        wrong = expert;
        is_wrong = true;
        continue;
      }
      const auto row = std::span(at).first(at.size() - (p.own_rows || !p.chooses ? 0 : 1));
      const double product = ExpertDot(context, p, RowStart(a, row), expert, c.back());
      const HostView* counts = p.summed ? &context.inputs[ExpertProduct::kCounts] : nullptr;
      sum += counts == nullptr ? product : product * counts->GetDouble(counts->Offset(at));
    }
    y.SetDouble(y.Offset(c), sum);
  });
  return is_wrong ? NoSuchExpert(wrong, p.experts) : OkStatus();
}

}  // namespace fettle::ops
