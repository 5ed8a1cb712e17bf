// opencl.norm.rows: LayerNormalization and RMSNormalization over the innermost axes, Instance- and
// GroupNormalization, row-major.
#include "kernels/opencl/rows.h"

#include "kernels/family.h"
#include "kernels/opencl/norm/operands.h"
#include "ops/norm/op.h"

namespace fettle::kernels {
namespace {

/// Elements that a work-item keeps in registers.
constexpr int64_t kMostHeld = 16;

struct NormPlan {
  RowExtents extents;  // inner is 1
  int64_t groups = 1, channels = 1, space = 1;
  int64_t vector() const { return groups * channels; }
};

Result<NormPlan> Read(const ir::Graph& group, const Device&) {
  const ir::Node& node = group.nodes()[0];
  if (group.nodes().size() != 1) return Unsupported("computes normalisations only, alone");
  const bool is_layer = node.op == "LayerNormalization"_op || node.op == "RMSNormalization"_op;
  const bool is_instance = node.op == "InstanceNormalization"_op;
  if (!is_layer && !is_instance && node.op != "GroupNormalization"_op)
    return Unsupported("computes normalisations only");
  RETURN_IF_ERROR(CheckNormalisation(group));
  const Shape& x = *group.value(node.inputs[0]).shape;
  NormPlan plan;
  if (is_layer) {
    ASSIGN_OR_RETURN(const ops::NormGroups groups, ops::ReadNormGroups(node, x));
    ASSIGN_OR_RETURN(plan.extents, SplitRows(x, Layout::RowMajor(), groups.mask));
    if (plan.extents.inner != 1)
      return Unsupported("the normalised axes are not the innermost ones");
    plan.channels = plan.extents.row;
  } else {
    plan.groups = is_instance ? x[1] : node.attributes.Int("num_groups", 1);
    plan.channels = x[1] / plan.groups;
    plan.space = x.Count(2, x.rank());
    plan.extents = {.outer = x[0] * plan.groups, .row = plan.channels * plan.space};
  }
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i] != ir::kAbsent)
      RETURN_IF_ERROR(VectorPack(group, node.inputs[i], plan.vector(), plan.vector()).status());
  }
  return plan;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const NormPlan&,
                                            const Device&) {
  return RowAssignments(group);
}

ParamSpace Space(const Problem&, const NormPlan& plan, const Device& device) {
  return RowSpace(plan.extents, device);
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const NormPlan& plan,
                                                const Params& params, const Device& device) {
  const ir::Graph& group = *problem.group;
  const ir::Node& node = problem.node();
  ASSIGN_OR_RETURN(std::unique_ptr<RecordedKernel> made,
                   RecordRows(problem, "norm/rows.cl", plan.extents, device, params, kMostHeld));
  const bool has_bias = node.input(2) != ir::kAbsent;
  for (size_t i = 1; i <= (has_bias ? 2 : 1); ++i) {
    ASSIGN_OR_RETURN(PackRequest pack,
                     VectorPack(group, node.inputs[i], plan.vector(), plan.vector()));
    made->own_packs.push_back(std::move(pack));
  }
  made->recorded[0]
      .Packed(0, sizeof(float))
      .Packed(has_bias ? 1 : 0, sizeof(float))
      .Int(node.op == "RMSNormalization"_op ? 0 : 1)
      .Int(has_bias ? 1 : 0)
      .Value(static_cast<cl_float>(node.attributes.Float("epsilon", 1e-5)))
      .Int(plan.extents.outer)
      .Int(plan.extents.row)
      .Int(plan.groups)
      .Int(plan.channels)
      .Int(plan.space);
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<NormPlan> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .params = Space, .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClNormRows;
const KernelDesc kOpenClNormRows = {
    .name = "opencl.norm.rows", .match = MatchAs<kFamily>, .parameters = ParametersOf<kRowFields>};

}  // namespace fettle::kernels
