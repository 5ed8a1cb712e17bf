#include "kernels/cpu/norm/layer_rows.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/norm/rows.h"
#include "ops/norm/op.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

Shape RowShape(const ops::NormGroups& groups, const Shape& x) {
  Shape row = x;
  for (int i = 0; i < x.rank(); ++i) {
    if (!groups.mask[i]) row[i] = 1;
  }
  return row;
}

}  // namespace

Result<LayerFacts> ReadLayer(const ir::Graph& group, const ir::Node& node) {
  if (node.op != "LayerNormalization"_op && node.op != "RMSNormalization"_op)
    return Unsupported("computes layer normalisations only");
  const Shape& x = *group.value(node.inputs[0]).shape;
  ASSIGN_OR_RETURN(const ops::NormGroups groups, ops::ReadNormGroups(node, x));
  ASSIGN_OR_RETURN(const RowExtents extents, SplitRows(x, Layout::RowMajor(), groups.mask));
  if (extents.inner != 1) return Unsupported("the normalised axes are not the innermost ones");
  if (node.input(1) == ir::kAbsent) return Unsupported("no scale");
  const Shape row = RowShape(groups, x);
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == ir::kAbsent) continue;
    const ir::Value& vector = group.value(node.inputs[i]);
    // A constant is repeated along the row when it is packed.
    if (BroadcastShapes(*vector.shape, row) != row)
      return Unsupported("a scale or bias that differs between rows");
    if (!vector.is_constant() && vector.shape->elements() != extents.row)
      return Unsupported("a scale or bias that is broadcast along the row");
  }
  return LayerFacts{extents, row, node.op == "LayerNormalization"_op,
                    static_cast<float>(node.attributes.Float("epsilon", 1e-5))};
}

LayerRows::LayerRows(const ir::Graph& group, const ir::Node& node, const LayerFacts& facts)
    : count_(facts.extents.elements() == 0 ? 0 : facts.extents.outer),
      length_(facts.extents.row),
      takes_mean_(facts.takes_mean),
      epsilon_(facts.epsilon),
      scale_(group, node.input(1), facts.row, packs_),
      bias_(group, node.input(2), facts.row, packs_) {}

void LayerRows::Run(const LaunchArgs& args, const float* x, float* y, int64_t rows) const {
  const float *scale = scale_.At(args), *bias = bias_.At(args);
  // As many at a time as stay in the first-level cache.
  constexpr int64_t kMostRows = 16, kElements = 2048;
  const int64_t most = std::clamp<int64_t>(kElements / std::max<int64_t>(length_, 1), 1, kMostRows);
  while (rows > 0) {
    const int64_t some = std::min(rows, most);
    RowStatistics statistics[kMostRows];
    MeasureRows(x, some, length_, takes_mean_, statistics);
    for (int64_t r = 0; r < some; ++r, x += length_, y += length_) {
      const float factor = 1.0f / std::sqrt(statistics[r].variance + epsilon_);
      NormaliseRow(x, y, length_, statistics[r].mean, factor, scale, bias);
    }
    rows -= some;
  }
}

}  // namespace fettle::kernels
