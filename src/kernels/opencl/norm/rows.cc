// opencl.norm.rows: LayerNormalization and RMSNormalization over the innermost axes, Instance- and
// GroupNormalization, row-major.
#include "kernels/opencl/rows.h"

#include "kernels/family.h"
#include "kernels/opencl/norm/operands.h"
#include "kernels/opencl/work_sizes.h"
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

/// Work-groups that share a row.
struct RowParts {
  int64_t parts = 1;
};
constexpr Fields kPartsFields("", Field{"parts", &RowParts::parts, {1, 4, 16, 64}});
constexpr int64_t kPartItems = 256;  // of each, then

/// Few long rows are cut until a GPU has something to do.
RowParts UsualParts(const RowExtents& extents, const OpenClFacts& facts) {
  constexpr int64_t kLongRow = 8192, kLeastPart = 4 * kPartItems;
  RowParts of;
  if (facts.is_cpu || extents.row < kLongRow || facts.max_work_group_size < kPartItems) return of;
  while (of.parts < 64 && extents.outer * of.parts < 2 * facts.compute_units &&
         extents.row / (4 * of.parts) >= kLeastPart)
    of.parts *= 4;
  return of;
}

ParamSpace Space(const Problem&, const NormPlan& plan, const Device& device) {
  ParamSpace space = RowSpace(plan.extents, device);
  const RowParts usual = UsualParts(plan.extents, AsOpenCl(device).facts());
  kPartsFields.AppendTunables(space.tunables);
  kPartsFields.Write(usual, space.usual);
  if (usual.parts > 1) kRowFields.Write({.items = kPartItems, .columns = 1}, space.usual);
  space.check = [rows = space.check, row = plan.extents.row](const Params& params) {
    const int64_t parts = kPartsFields.Read(params).parts;
    const RowShape shape = kRowFields.Read(params);
    if (parts > 1 && (shape.items != kPartItems || shape.columns != 1))
      return InvalidArgument("parts: expected 1 where a row has not {} work-items", kPartItems);
    if (parts > 1 && parts * kPartItems > row)
      return InvalidArgument("parts: expected at most {}, got {}", row / kPartItems, parts);
    return rows(params);
  };
  return space;
}

/// Two launches over parts of `span` elements: their statistics, then what is made of them.
Result<std::unique_ptr<RecordedKernel>> RecordParts(const Problem& problem, const NormPlan& plan,
                                                    int64_t span, const Device& device) {
  const State& state = problem.states.outputs[0];
  const int64_t parts = DivideUp(plan.extents.row, span);
  const size_t x = InputIndex(*problem.group, problem.node().input(0));
  BuildOptions options = AccessOptions(state);
  kRowFields.Define({.items = kPartItems, .columns = 1}, options);
  auto made = std::make_unique<RecordedKernel>();
  made->workspace = plan.extents.outer * parts * static_cast<int64_t>(sizeof(cl_float2));
  for (const std::string_view function : {"rows_parts", "rows_joined"}) {
    ASSIGN_OR_RETURN(
        std::shared_ptr<OpenClKernel> kernel,
        AsOpenCl(device).BuildKernel(MakeProgram("norm/rows.cl", options), std::string(function)));
    made->recorded
        .emplace_back(std::move(kernel), GroupSizes(kPartItems, 1, plan.extents.outer, parts))
        .Input(x, StorageBytes(state.storage, 1));
  }
  made->recorded[0].Workspace(0, sizeof(cl_float2)).Int(plan.extents.row).Int(span).Int(parts);
  made->recorded[1].Output(0, StorageBytes(state.storage, 1));
  return made;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const NormPlan& plan,
                                                const Params& params, const Device& device) {
  const ir::Graph& group = *problem.group;
  const ir::Node& node = problem.node();
  const int64_t span = DivideUp(plan.extents.row, kPartsFields.Read(params).parts);
  const bool has_parts = span < plan.extents.row;
  ASSIGN_OR_RETURN(
      std::unique_ptr<RecordedKernel> made,
      has_parts ? RecordParts(problem, plan, span, device)
                : RecordRows(problem, "norm/rows.cl", plan.extents, device, params, kMostHeld));
  const bool has_bias = node.input(2) != ir::kAbsent;
  for (size_t i = 1; i <= (has_bias ? 2 : 1); ++i) {
    ASSIGN_OR_RETURN(PackRequest pack,
                     VectorPack(group, node.inputs[i], plan.vector(), plan.vector()));
    made->own_packs.push_back(std::move(pack));
  }
  RecordedLaunch& launch = made->recorded.back();
  launch.Packed(0, sizeof(float))
      .Packed(has_bias ? 1 : 0, sizeof(float))
      .Int(node.op == "RMSNormalization"_op ? 0 : 1)
      .Int(has_bias ? 1 : 0)
      .Value(static_cast<cl_float>(node.attributes.Float("epsilon", 1e-5)));
  if (!has_parts) launch.Int(plan.extents.outer);
  launch.Int(plan.extents.row).Int(plan.groups).Int(plan.channels).Int(plan.space);
  if (has_parts)
    launch.Workspace(0, sizeof(cl_float2)).Int(span).Int(DivideUp(plan.extents.row, span));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<NormPlan> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .params = Space, .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClNormRows;
const KernelDesc kOpenClNormRows = {.name = "opencl.norm.rows",
                                    .match = MatchAs<kFamily>,
                                    .parameters = ParametersOf<kRowFields, kPartsFields>};

}  // namespace fettle::kernels
