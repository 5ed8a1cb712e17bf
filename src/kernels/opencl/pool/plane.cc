// opencl.pool.plane: pooling of whole planes by a work-group for each, with an epilogue.
#include <algorithm>

#include "kernels/family.h"
#include "kernels/fields.h"
#include "kernels/opencl/pixels.h"
#include "kernels/opencl/pool/pixel_pool.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

struct PlanePlan {
  PixelPoolKind kind;
  int64_t pixels;
};

Result<PlanePlan> Read(const ir::Graph& group, const Device& device) {
  ASSIGN_OR_RETURN(const PixelPool pool, ReadPixelPool(group, device));
  const ops::Window& window = pool.window;
  const Shape& x = *group.value(group.nodes()[0].inputs[0]).shape;
  const auto is = [](const auto& values, int64_t wanted) {
    return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == wanted; });
  };
  const Shape plane(Dims(x.dims().begin() + 2, x.dims().end()));
  const auto skipped = window.kernel.size() - plane.dims().size();
  const bool is_whole =
      std::equal(plane.dims().begin(), plane.dims().end(), window.kernel.begin() + skipped);
  if (!is_whole || !is(window.dilations, 1) || !is(window.pad_begin, 0) || !is(window.pad_end, 0))
    return Unsupported("a window that is not the whole plane");
  return PlanePlan{.kind = pool.kind, .pixels = plane.elements()};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const PlanePlan&,
                                            const Device& device) {
  return PixelCandidates(group, group.nodes()[0].output(0), device);
}

/// Work-items that share a plane.
struct PlaneGroup {
  int64_t items = kGroupItems;
};
constexpr Fields kFields(
    "pool/plane.cl", Field{"GROUP_ITEMS", &PlaneGroup::items, {64, 128, 256, 512}, "GROUP_ITEMS"});

Status CheckGroup(const PlaneGroup& group, const OpenClFacts& facts) {
  if (group.items <= facts.max_work_group_size) return OkStatus();
  return InvalidArgument("GROUP_ITEMS: expected at most {}, got {}", facts.max_work_group_size,
                         group.items);
}

/// Few planes are all that there is to do: large ones take more items than the usual.
PlaneGroup UsualGroup(const PlanePlan& plan, const OpenClFacts& facts) {
  constexpr int64_t kPixelsOfEach = 16, kMost = 512;
  PlaneGroup group;
  if (facts.is_cpu) return group;
  while (group.items < kMost && CheckGroup({2 * group.items}, facts).ok() &&
         group.items * kPixelsOfEach < plan.pixels)
    group.items *= 2;
  return group;
}

ParamSpace Space(const Problem&, const PlanePlan& plan, const Device& device) {
  const OpenClFacts& facts = AsOpenCl(device).facts();
  return {kFields.Tunables(), kFields.Write(UsualGroup(plan, facts)),
          [&facts](const Params& params) { return CheckGroup(kFields.Read(params), facts); }};
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const PlanePlan& plan,
                                                const Params& params, const Device& device) {
  const ir::Graph& group = *problem.group;
  const ir::Node& node = problem.node();
  const Shape& y = problem.shape(group.outputs[0]);
  const PlaneGroup together = kFields.Read(params);
  PixelProgram program{.path = "pool/plane.cl",
                       .function = "plane",
                       .options = AccessOptions(problem.states.outputs[0]),
                       .sizes = GroupSizes(together.items, 1, DivideUp(y[1], 4), y[0])};
  kFields.Define(together, program.options);
  ASSIGN_OR_RETURN(std::unique_ptr<RecordedKernel> made,
                   RecordPixels(problem, node.input(0), node.output(0), program, device));
  made->recorded[0].Value(static_cast<cl_int>(plan.kind));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

/// One work-item of a GPU waits for each pixel of a plane; a group's have something to do from so
/// many on. Processors run a group's items one after the other.
constexpr int64_t kManyPixels = 32;

int Taste(const PlanePlan& plan, const Device& device) {
  return plan.pixels >= kManyPixels && !AsOpenCl(device).facts().is_cpu ? 12 : 8;
}

constexpr Family<PlanePlan> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .params = Space, .taste = Taste};

}  // namespace

extern const KernelDesc kOpenClPoolPlane;
const KernelDesc kOpenClPoolPlane = {
    .name = "opencl.pool.plane", .match = MatchAs<kFamily>, .parameters = ParametersOf<kFields>};

}  // namespace fettle::kernels
