// cpu.norm.layer: LayerNormalization and RMSNormalization over the innermost axes, in fp32, in
// place where the input dies.
#include <algorithm>
#include <cmath>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/norm/operands.h"
#include "kernels/cpu/norm/rows.h"
#include "kernels/family.h"
#include "kernels/match/extents.h"
#include "ops/norm/op.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

constexpr int64_t kElementsPerTask = 8192;

struct Facts {
  RowExtents extents;
  Shape row;  // the input's, with 1 for the axes that are not normalised
  bool takes_mean;
  float epsilon;
};

Shape RowShape(const ops::NormGroups& groups, const Shape& x) {
  Shape row = x;
  for (int i = 0; i < x.rank(); ++i) {
    if (!groups.mask[i]) row[i] = 1;
  }
  return row;
}

class LayerNorm final : public PreparedKernel {
 public:
  LayerNorm(const Problem& problem, const Facts& facts)
      : extents_(facts.extents), takes_mean_(facts.takes_mean), epsilon_(facts.epsilon) {
    const ir::Node& node = problem.node();
    x_ = static_cast<size_t>(
        std::find(problem.group->inputs.begin(), problem.group->inputs.end(), node.inputs[0]) -
        problem.group->inputs.begin());
    scale_ = VectorOperand(*problem.group, node.input(1), facts.row, packs_);
    bias_ = VectorOperand(*problem.group, node.input(2), facts.row, packs_);
  }

  std::vector<PackRequest> packs() const override { return packs_; }
  std::vector<Alias> aliases() const override {
    return {{.output = 0, .input = static_cast<int>(x_)}};
  }

  Status Launch(const LaunchArgs& args) const override {
    if (extents_.elements() == 0) return OkStatus();
    const float *x = args.inputs[x_].host<float>(), *scale = scale_.At(args),
                *bias = bias_.At(args);
    float* y = args.outputs[0].host<float>();
    const int64_t n = extents_.row;
    const int64_t per_task = std::max<int64_t>(1, kElementsPerTask / n);
    const int64_t tasks = (extents_.outer + per_task - 1) / per_task;
    static_cast<CpuStream&>(args.stream).ParallelFor(tasks, [&](int64_t task, int) {
      const int64_t end = std::min(extents_.outer, (task + 1) * per_task);
      for (int64_t row = task * per_task; row < end; ++row) {
        const RowStatistics s = MeasureRow(x + row * n, n, takes_mean_);
        const float factor = 1.0f / std::sqrt(s.variance + epsilon_);
        NormaliseRow(x + row * n, y + row * n, n, s.mean, factor, scale, bias);
      }
    });
    return OkStatus();
  }

 private:
  RowExtents extents_;
  bool takes_mean_;
  float epsilon_;
  size_t x_ = 0;
  std::vector<PackRequest> packs_;
  VectorOperand scale_, bias_;
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  RETURN_IF_ERROR(CheckNormNode(group));
  const ir::Node& node = group.nodes()[0];
  if (node.op != "LayerNormalization"_op && node.op != "RMSNormalization"_op)
    return Unsupported("not a layer normalisation");
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
  return Facts{extents, row, node.op == "LayerNormalization"_op,
               static_cast<float>(node.attributes.Float("epsilon", 1e-5))};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts&, const Device&) {
  return std::vector<StateAssignment>{NormStates(group, Layout::RowMajor())};
}

constexpr Family<Facts> kFamily{
    .read = Read, .states = States, .prepare = Make<LayerNorm>, .taste = Always<10>};

}  // namespace

extern const KernelDesc kCpuNormLayer;
const KernelDesc kCpuNormLayer = {.name = "cpu.norm.layer", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
