// opencl.pool.window: pooling over windows or whole planes, by one work-item or several for each,
// with an epilogue.
#include <algorithm>

#include "kernels/family.h"
#include "kernels/fields.h"
#include "kernels/opencl/pixels.h"
#include "kernels/opencl/pool/pixel_pool.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

struct WindowPlan {
  PixelPool pool;
  int64_t taps = 1, places = 1, pixels = 1;  // of a window; of y in a plane, and in all
};

Result<WindowPlan> Read(const ir::Graph& group, const Device& device) {
  WindowPlan plan;
  ASSIGN_OR_RETURN(plan.pool, ReadPixelPool(group, device));
  for (const int64_t extent : plan.pool.window.kernel) plan.taps *= extent;
  const Shape& y = *group.value(group.nodes()[0].outputs[0]).shape;
  plan.places = y.Count(2, y.rank());
  plan.pixels = plan.places * DivideUp(y[1], 4) * y[0];
  return plan;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const WindowPlan&,
                                            const Device& device) {
  return PixelCandidates(group, group.nodes()[0].output(0), device);
}

/// Work-items that share a window.
struct WindowGroup {
  int64_t items = 1;
};
constexpr Fields kFields("pool/window.cl",
                         Field{"ITEMS", &WindowGroup::items, {1, 32, 64, 128, 256, 512}, "ITEMS"});

Status CheckGroup(const WindowGroup& group, const OpenClFacts& facts) {
  if (group.items <= facts.max_work_group_size) return OkStatus();
  return InvalidArgument("ITEMS: expected at most {}, got {}", facts.max_work_group_size,
                         group.items);
}

/// A work-item of a GPU waits for each tap: windows of many are shared where that leaves items for
/// all at once, and where they are whole planes, which neighbours would read far from each other.
/// Processors run a group's items one after the other.
WindowGroup UsualGroup(const WindowPlan& plan, const OpenClFacts& facts) {
  constexpr int64_t kManyTaps = 32, kTapsOfEach = 16, kItems = 64, kMost = 512, kItemsOfUnit = 2048;
  const bool has_items = plan.pixels * kItems <= kItemsOfUnit * facts.compute_units;
  const bool is_slow = plan.taps >= kManyTaps && (plan.places == 1 || has_items);
  if (facts.is_cpu || !is_slow || facts.max_work_group_size < kItems) return {};
  const int64_t most = std::min<int64_t>(kMost, facts.max_work_group_size);
  WindowGroup group{.items = kItems};
  while (group.items * 2 <= most && group.items * kTapsOfEach < plan.taps) group.items *= 2;
  return group;
}

/// Whether the one window of a plane is the plane.
bool IsWhole(const WindowPlan& plan, const Shape& x) {
  const auto is_zero = [](int64_t padding) { return padding == 0; };
  return plan.taps == x.Count(2, x.rank()) && plan.places == 1 &&
         std::ranges::all_of(plan.pool.window.pad_begin, is_zero) &&
         std::ranges::all_of(plan.pool.window.pad_end, is_zero);
}

ParamSpace Space(const Problem&, const WindowPlan& plan, const Device& device) {
  const OpenClFacts& facts = AsOpenCl(device).facts();
  return {kFields.Tunables(), kFields.Write(UsualGroup(plan, facts)),
          [&facts](const Params& params) { return CheckGroup(kFields.Read(params), facts); }};
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const WindowPlan& plan,
                                                const Params& params, const Device& device) {
  const ir::Node& node = problem.node();
  const Shape &x = problem.shape(node.input(0)), &y = problem.shape(node.output(0));
  const WindowGroup together = kFields.Read(params);
  PixelProgram program{.path = "pool/window.cl",
                       .function = "window",
                       .options = AccessOptions(problem.states.outputs[0]),
                       .sizes = together.items == 1 ? PixelSizes(y)
                                                    : GroupSizes(together.items, plan.places,
                                                                 DivideUp(y[1], 4), y[0])};
  kFields.Define(together, program.options);
  program.options.Define("WHOLE", together.items > 1 && IsWhole(plan, x) ? 1 : 0);
  ASSIGN_OR_RETURN(std::unique_ptr<RecordedKernel> made,
                   RecordPixels(problem, node.input(0), node.output(0), program, device));
  const ops::Window& w = plan.pool.window;
  const int64_t depth = x.rank() == 5 ? x[2] : 1, out_depth = y.rank() == 5 ? y[2] : 1;
  const auto [rows, width] = PlaneOf(x);
  made->recorded[0]
      .Value(static_cast<cl_int>(plan.pool.kind))
      .Value(Int4(depth, w.kernel[0], w.strides[0], w.dilations[0]))
      .Value(Int4(out_depth, w.pad_begin[0], depth + w.pad_end[0], 0))
      .Value(Int4(w.kernel[1], w.kernel[2], w.strides[1], w.strides[2]))
      .Value(Int4(w.dilations[1], w.dilations[2], w.pad_begin[1], w.pad_begin[2]))
      .Value(Int2(rows / depth + w.pad_end[1], width + w.pad_end[2]));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

int Taste(const WindowPlan& plan, const Device& device) {
  return UsualGroup(plan, AsOpenCl(device).facts()).items > 1 ? 12 : 10;
}

constexpr Family<WindowPlan> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .params = Space, .taste = Taste};

}  // namespace

extern const KernelDesc kOpenClPoolWindow;
const KernelDesc kOpenClPoolWindow = {
    .name = "opencl.pool.window", .match = MatchAs<kFamily>, .parameters = ParametersOf<kFields>};

}  // namespace fettle::kernels
