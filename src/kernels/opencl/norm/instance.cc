// opencl.norm.instance: InstanceNormalization of planes in pixels, with an epilogue.
#include "kernels/family.h"
#include "kernels/fields.h"
#include "kernels/opencl/norm/operands.h"
#include "kernels/opencl/pixels.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

/// Scale and bias, and the extents.
struct InstancePlan {
  std::vector<PackRequest> packs;
  int64_t planes = 1, pixels = 1;  // planes of four channels
};

/// Work-items of a group, and the groups that share a plane.
struct InstanceTile {
  int64_t items = 64, parts = 1;
};
constexpr Fields kFields("norm/instance.cl",
                         Field{"items", &InstanceTile::items, {64, 256}, "GROUP_ITEMS"},
                         Field{"parts", &InstanceTile::parts, {1, 4, 16, 64}});

Result<InstancePlan> Read(const ir::Graph& group, const Device&) {
  const ir::Node& node = group.nodes()[0];
  if (node.op != "InstanceNormalization"_op)
    return Unsupported("computes InstanceNormalization only");
  RETURN_IF_ERROR(CheckNormalisation(group));
  const Shape& x = *group.value(node.inputs[0]).shape;
  if (x.rank() != 4) return Unsupported("expected a tensor of rank 4");
  InstancePlan plan{.planes = x[0] * DivideUp(x[1], 4), .pixels = x[2] * x[3]};
  for (size_t i = 1; i <= 2; ++i) {
    ASSIGN_OR_RETURN(PackRequest pack,
                     VectorPack(group, node.inputs[i], x[1], DivideUp(x[1], 4) * 4));
    plan.packs.push_back(std::move(pack));
  }
  return plan;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const InstancePlan&,
                                            const Device& device) {
  return PixelCandidates(group, group.nodes()[0].output(0), device);
}

/// Few large planes are cut until a GPU has something to do, each part a few pixels an item.
InstanceTile UsualTile(const InstancePlan& plan, const OpenClFacts& facts) {
  constexpr int64_t kSmallPlane = 512, kLargePlane = 4096;
  InstanceTile tile;
  if (facts.is_cpu || plan.pixels < kSmallPlane) return tile;
  if (facts.max_work_group_size >= 256) tile.items = 256;
  if (plan.pixels < kLargePlane) return tile;
  while (tile.parts < 64 && plan.planes * tile.parts < 2 * facts.compute_units &&
         plan.pixels / (4 * tile.parts) >= tile.items)
    tile.parts *= 4;
  return tile;
}

ParamSpace Space(const Problem&, const InstancePlan& plan, const Device& device) {
  const OpenClFacts& facts = AsOpenCl(device).facts();
  return {kFields.Tunables(), kFields.Write(UsualTile(plan, facts)),
          [pixels = plan.pixels, most = facts.max_work_group_size](const Params& params) {
            const InstanceTile tile = kFields.Read(params);
            if (tile.items > most)
              return Unsupported("a work-group of {} items: the device takes {}", tile.items, most);
            if (tile.parts == 1 || tile.parts * tile.items <= pixels) return OkStatus();
            return InvalidArgument("parts: expected at most {}, got {}",
                                   std::max<int64_t>(pixels / tile.items, 1), tile.parts);
          }};
}

/// Puts the launch that leaves the parts' statistics before the one that takes them.
Status AddParts(const Problem& problem, const PixelProgram& joined, int64_t span, int64_t count,
                const Device& device, RecordedKernel& made) {
  const ir::Graph& group = *problem.group;
  const ir::ValueId x = problem.node().input(0);
  const size_t input = InputIndex(group, x);
  ASSIGN_OR_RETURN(
      std::shared_ptr<OpenClKernel> kernel,
      AsOpenCl(device).BuildKernel(MakeProgram(joined.path, joined.options), "instance_parts"));
  RecordedLaunch parts(std::move(kernel), joined.sizes);
  parts.Input(input, PixelBytes(problem.states.inputs[input].storage))
      .Value(PixelDims(problem.shape(x)))
      .Workspace(0, sizeof(cl_float4))
      .Int(span)
      .Int(count);
  made.recorded.back().Workspace(0, sizeof(cl_float4)).Int(span).Int(count);
  made.recorded.insert(made.recorded.begin(), std::move(parts));
  return OkStatus();
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const InstancePlan& plan,
                                                const Params& params, const Device& device) {
  const ir::Node& node = problem.node();
  const Shape& shape = problem.shape(problem.group->outputs[0]);
  const InstanceTile tile = kFields.Read(params);
  const int64_t span = DivideUp(plan.pixels, tile.parts), parts = DivideUp(plan.pixels, span);
  PixelProgram program{.path = "norm/instance.cl",
                       .function = parts > 1 ? "instance_joined" : "instance",
                       .options = AccessOptions(problem.states.outputs[0]),
                       .sizes = GroupSizes(tile.items, parts, DivideUp(shape[1], 4), shape[0])};
  kFields.Define(tile, program.options);
  ASSIGN_OR_RETURN(std::unique_ptr<RecordedKernel> made,
                   RecordPixels(problem, node.input(0), node.output(0), program, device));
  made->own_packs = plan.packs;
  made->recorded[0]
      .Packed(0, sizeof(float))
      .Packed(1, sizeof(float))
      .Value(static_cast<cl_float>(node.attributes.Float("epsilon", 1e-5)));
  if (parts > 1) {
    made->workspace = plan.planes * parts * 2 * static_cast<int64_t>(sizeof(cl_float4));
    RETURN_IF_ERROR(AddParts(problem, program, span, parts, device, *made));
  }
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<InstancePlan> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .params = Space, .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClNormInstance;
const KernelDesc kOpenClNormInstance = {.name = "opencl.norm.instance",
                                        .version = 2,
                                        .match = MatchAs<kFamily>,
                                        .parameters = ParametersOf<kFields>};

}  // namespace fettle::kernels
