// opencl.pad.lookup: Pad of buffers in any mode as one launch, in which each element looks up where
// it comes from axis by axis: row-major ones of any type, and floats in pixels whose channels are
// not padded.
#include <algorithm>
#include <limits>

#include "kernels/move/move_plan.h"
#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/tables.h"
#include "kernels/opencl/work_sizes.h"
#include "kernels/planned_states.h"
#include "ops/pad/op.h"

namespace fettle::kernels {
namespace {

constexpr size_t kAxes = 5;  // that the program counts

/// One axis of the output.
struct PaddedAxis {
  int64_t extent = 1, step = 1;  // step: elements of the input from one index to the next
  std::vector<int64_t> sources;  // of the input, for each index, -1: the fill; empty: as it is

  bool is_kept() const { return sources.empty(); }
};

struct PadPlan {
  std::vector<PaddedAxis> axes;  // kAxes, the outermost first
  int64_t width = 1;             // elements that are moved together
  int64_t element_bytes = 4;     // of one
};

Result<ops::PadAttributes> ReadAttributes(const MoveContext& context, const Shape& x) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> pads, context.Ints(1));
  ASSIGN_OR_RETURN(const std::vector<int64_t> axes, context.Ints(3));
  return ops::ReadPad(context.node(), x, pads, context.has_input(3) ? &axes : nullptr);
}

/// The axes of the tensors in memory: row-major, or with four channels of a pixel innermost.
Result<std::vector<PaddedAxis>> ListAxes(const ops::PadAttributes& pad, const Shape& x,
                                         bool in_pixels, bool has_fill) {
  std::vector<PaddedAxis> axes;
  for (int i = 0; i < x.rank(); ++i) {
    PaddedAxis& axis = axes.emplace_back(PaddedAxis{.extent = pad.output[i]});
    if (pad.begin[i] != 0 || pad.end[i] != 0)
      axis.sources = ops::PadSources(pad, x, i, 0, pad.output[i]);
  }
  std::vector<int64_t> extents;
  for (int i = 0; i < x.rank(); ++i) extents.push_back(x[i]);
  if (in_pixels) {
    if (!axes[1].is_kept()) return Unsupported("channels in pixels are padded");
    if (has_fill && x[1] % 4 != 0) return Unsupported("pixels with lanes that stay zero");
    axes[1].extent = extents[1] = DivideUp(x[1], 4);
    axes.push_back({.extent = 4});
    extents.push_back(4);
  }
  int64_t step = 1;
  for (size_t i = axes.size(); i-- > 0; step *= extents[i]) axes[i].step = step;
  return axes;
}

/// Neighbours that are kept as they are become one, others of one element go.
void JoinKept(std::vector<PaddedAxis>& axes) {
  std::vector<PaddedAxis> joined;
  for (PaddedAxis& axis : axes) {
    if (axis.is_kept() && axis.extent == 1) continue;
    if (axis.is_kept() && !joined.empty() && joined.back().is_kept()) {
      joined.back().extent *= axis.extent;
      joined.back().step = axis.step;
    } else {
      joined.push_back(std::move(axis));
    }
  }
  axes = std::move(joined);
}

/// Elements of an innermost axis that is kept move together, up to 16 bytes of them.
void Widen(PadPlan& plan) {
  constexpr int64_t kMostBytes = 16;
  if (plan.axes.empty() || !plan.axes.back().is_kept()) return;
  while (plan.axes.back().extent % 2 == 0 && 2 * plan.width * plan.element_bytes <= kMostBytes) {
    plan.axes.back().extent /= 2;
    plan.width *= 2;
  }
  plan.axes.back().step = plan.width;
  for (PaddedAxis& axis : plan.axes) axis.step /= plan.width;
  if (plan.axes.back().extent == 1) plan.axes.pop_back();
}

/// Whether nothing but outermost elements is left away, so that what is left lies as it did.
bool IsPart(const std::vector<PaddedAxis>& axes) {
  for (size_t i = 0; i < axes.size(); ++i) {
    const std::vector<int64_t>& from = axes[i].sources;
    if (axes[i].is_kept()) continue;
    const auto jumps = [](int64_t a, int64_t b) { return b != a + 1; };
    if (i > 0 || std::ranges::find(from, -1) != from.end() ||
        std::ranges::adjacent_find(from, jumps) != from.end())
      return false;
  }
  return true;
}

Result<PadPlan> Plan(const ir::Graph& group, const StateAssignment& states) {
  const MoveContext context(group, states);
  const Shape& x = *group.value(group.nodes()[0].input(0)).shape;
  ASSIGN_OR_RETURN(const ops::PadAttributes pad, ReadAttributes(context, x));
  PadPlan plan{.element_bytes = StorageBytes(states.outputs[0].storage, 1)};
  ASSIGN_OR_RETURN(plan.axes, ListAxes(pad, x, IsPixels(states.outputs[0]), context.has_input(2)));
  JoinKept(plan.axes);
  if (IsPart(plan.axes)) return Unsupported("elements that lie together stay as they are");
  Widen(plan);
  if (plan.axes.size() > kAxes)
    return Unsupported("padding along {} axes: expected at most {}", plan.axes.size(), kAxes);
  plan.axes.insert(plan.axes.begin(), kAxes - plan.axes.size(), PaddedAxis());
  return plan;
}

using Plans = PlannedStates<PadPlan>;

Status CheckOperands(const ir::Graph& group) {
  if (group.nodes().size() != 1 || group.nodes()[0].op != "Pad"_op)
    return Unsupported("computes Pad only, alone");
  const ir::Node& node = group.nodes()[0];
  const ir::Value &x = group.value(node.input(0)), &y = group.value(node.output(0));
  constexpr int64_t kMost = std::numeric_limits<cl_int>::max();
  if (x.is_constant()) return Unsupported("the input is constant");
  if (x.shape->elements() > kMost / 4 || y.shape->elements() > kMost / 4)
    return Unsupported("kernels count elements in 32 bits");
  if (y.shape->elements() == 0) return Unsupported("nothing is made");
  const int bits = IsStored(y.dtype) ? RowOf(y.dtype).bits : 0;
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
    return Unsupported("elements of type {} are not moved", DTypeName(y.dtype));
  return OkStatus();
}

Result<Plans> Read(const ir::Graph& group, const Device& device) {
  RETURN_IF_ERROR(CheckOperands(group));
  std::vector<State> forms = RowStates();
  for (const State& form : PixelStates(device))
    if (form.memory == MemoryKind::kBuffer) forms.push_back(form);
  Plans plans;
  Status refused = OkStatus();
  for (const State& form : forms) {
    StateAssignment states = StatesBeside(group, form);
    if (plans.Has(states)) continue;
    Result<PadPlan> plan = Plan(group, states);
    if (plan.ok())
      plans.Add(std::move(states), std::make_shared<const PadPlan>(*std::move(plan)));
    else if (refused.ok())
      refused = plan.status();
  }
  if (plans.size() == 0) return refused;
  return plans;
}

/// Groups as wide as rows are, of several rows where they are short.
WorkSizes SizesOf(const PadPlan& plan, const OpenClFacts& facts) {
  constexpr int64_t kWarp = 32, kItems = 256;
  const int64_t columns = plan.axes[4].extent, rows = plan.axes[3].extent;
  WorkSizes sizes =
      PlaceSizes(columns, rows, plan.axes[0].extent * plan.axes[1].extent * plan.axes[2].extent);
  if (facts.is_cpu) return sizes;
  int64_t wide = 1;
  while (wide < std::min(columns, kWarp)) wide *= 2;
  int64_t high = 1;
  while (high < rows && 2 * wide * high <= std::min(kItems, facts.max_work_group_size)) high *= 2;
  sizes.lws = {static_cast<size_t>(wide), static_cast<size_t>(high), 1};
  return sizes;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Plans& plans,
                                                const Params&, const Device& device) {
  const ir::Graph& group = *problem.group;
  const ir::Node& node = problem.node();
  const PadPlan& plan = plans.In(problem.states);
  const DType storage = problem.states.outputs[0].storage;
  const bool has_fill = node.input(2) != ir::kAbsent;
  BuildOptions options;
  options.Add(fmt::format("-DBASE={}", UnsignedName(plan.element_bytes)));
  options.Define("WIDTH", plan.width).Define("HAS_FILL", has_fill ? 1 : 0);
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClKernel> kernel,
                   AsOpenCl(device).BuildKernel(MakeProgram("pad/lookup.cl", options), "pad"));
  cl_int8 extents{}, firsts{}, steps{};
  std::vector<cl_int> table;
  for (size_t i = 0; i < kAxes; ++i) {
    const PaddedAxis& axis = plan.axes[i];
    extents.s[i] = static_cast<cl_int>(axis.extent);
    firsts.s[i] = axis.is_kept() ? -1 : static_cast<cl_int>(table.size());
    steps.s[i] = static_cast<cl_int>(axis.step);
    for (const int64_t from : axis.sources)
      table.push_back(static_cast<cl_int>(from < 0 ? -1 : from * axis.step));
  }
  auto made = std::make_unique<RecordedKernel>();
  made->own_packs.push_back(TablePack("pad.sources", std::move(table)));
  const int64_t unit = plan.width * plan.element_bytes;
  RecordedLaunch& launch =
      made->recorded.emplace_back(std::move(kernel), SizesOf(plan, AsOpenCl(device).facts()))
          .Input(InputIndex(group, node.input(0)), unit)
          .Output(0, unit);
  if (has_fill)
    made->AddRows(group, node.input(2), storage, launch);
  else
    launch.Packed(0, plan.element_bytes);  // is not read, but an argument it has
  launch.Packed(0, 0).Value(extents).Value(firsts).Value(steps);
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<Plans> kFamily{.read = Read,
                                .states = ListPlanned,
                                .prepare = Prepare,
                                .taste = Always<12>,
                                .takes_no_first_output = true};

}  // namespace

extern const KernelDesc kOpenClPadLookup;
const KernelDesc kOpenClPadLookup = {.name = "opencl.pad.lookup", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
