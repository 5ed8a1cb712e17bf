// Products of bytes with i32 sums; results are requantised, turned into floats for an element-wise
// program, or stored as sums.
//   cpu.quantised.gemm         matrix products, and convolutions of channels-last pixels
//   cpu.quantised.gemm.nchwc   convolutions from or to blocks of channels, or both
#include <algorithm>

#include "kernels/cpu/quantised/gemm_kernel.h"
#include "kernels/cpu/quantised/tail.h"
#include "kernels/family.h"

namespace fettle::kernels {
namespace {

/// Longest sum of products that i32 holds: 2^31 / (255 * 255), rounded down.
constexpr int64_t kMaxDepth = 33000;

bool IsConv(const QuantisedGroup& q) {
  return q.core->op == "Conv"_op || q.core->op == "ConvInteger"_op;
}

Result<QuantShapes> ReadShapes(const ir::Graph& group, const QuantisedGroup& q) {
  QuantShapes shapes;
  ConvGeometry& g = shapes.g;
  if (IsConv(q)) {
    ASSIGN_OR_RETURN(g, ReadConvGeometry(group, *q.core));
    g = AsLines(g);
  } else {
    const Shape& a = *group.value(q.core->input(0)).shape;
    const Shape& b = *group.value(q.core->input(1)).shape;
    if (a.rank() < 2 || b.rank() != 2) return Unsupported("weights of rank {}", b.rank());
    g.ic = a[a.rank() - 1];
    const bool rows_are_channels = q.core->op == "Gemm"_op && q.core->attributes.Int("transB") != 0;
    shapes.transposed = !rows_are_channels;
    g.oc = b[rows_are_channels ? 0 : 1];
    g.in[2] = g.out[2] = a.Count(0, a.rank() - 1);
    if (q.bias != ir::kAbsent && group.value(q.bias).shape->elements() != g.oc)
      return Unsupported("the addend is no row of the output");
  }
  if (g.ic / g.groups * g.taps() > kMaxDepth)
    return Unsupported("sums of over {} products", kMaxDepth);
  if (g.pixels() == 0 || g.ic == 0 || g.oc == 0) return Unsupported("an empty operand");
  return shapes;
}

struct Bytes {
  QuantisedGroup q;
  QuantShapes shapes;
};

Result<Bytes> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(const QuantisedGroup q, ReadQuantisedGroup(group));
  ASSIGN_OR_RETURN(const QuantShapes shapes, ReadShapes(group, q));
  return Bytes{q, shapes};
}

Result<StateAssignment> UsualStates(const ir::Graph& group, const QuantisedGroup& q) {
  ASSIGN_OR_RETURN(StateAssignment states,
                   IsConv(q) ? ChannelsLastStates(group) : FloatRowMajorStates(group));
  RETURN_IF_ERROR(CompileQuantTail(group, q, states).status());
  return states;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Bytes& bytes,
                                            const Device&) {
  ASSIGN_OR_RETURN(StateAssignment states, UsualStates(group, bytes.q));
  return std::vector<StateAssignment>{std::move(states)};
}

Result<Bytes> ReadImages(const ir::Graph& group, const Device& device) {
  ASSIGN_OR_RETURN(Bytes bytes, Read(group, device));
  if (!IsConv(bytes.q) || group.value(bytes.q.x).shape->rank() != 4)
    return Unsupported("not an image");
  if (bytes.shapes.g.groups != 1) return Unsupported("more than one group");
  return bytes;
}

Result<std::vector<StateAssignment>> BlockedStates(const ir::Graph& group, const Bytes& bytes,
                                                   const Device&) {
  ASSIGN_OR_RETURN(const StateAssignment usual, UsualStates(group, bytes.q));
  const ConvGeometry& g = bytes.shapes.g;
  const Layout blocks = ChannelBlockLayout(), last = Layout::ChannelsLast(4);
  const int64_t block = blocks.blocks[0].size;
  std::vector<ConvLayouts> layouts;
  if (2 * g.ic >= block && 2 * g.oc >= block) layouts.push_back({blocks, blocks});
  if (2 * g.oc >= block) layouts.push_back({last, blocks});
  if (2 * g.ic >= block) layouts.push_back({blocks, last});
  return StatesIn(group, bytes.q.x, usual, layouts, [&](const StateAssignment& states) {
    return CompileQuantTail(group, bytes.q, states).status();
  });
}

/// The pixels of a convolution; rows of a product are pixels too.
Result<ConvPixels> ReadQuantPixels(const Problem& problem, const QuantisedGroup& q,
                                   const ConvGeometry& g) {
  if (IsConv(q)) return ReadConvPixels(problem, q.x);
  return ConvPixels{ChannelsLastPixels(g.ic, g.pixels()), ChannelsLastPixels(g.oc, g.pixels())};
}

/// Row tiles that a task may have: their pointers stay in the first-level cache.
int64_t MostRows(const ConvGeometry& g, const TapPlan& taps) {
  return std::clamp<int64_t>(16384 / taps.taps, KernelsFor(g).mr, 448);
}

Blocking UsualBlocking(const ConvGeometry& g, const TapPlan& taps, const CpuDevice& device) {
  const QuantKernels& kernels = KernelsFor(g);
  const int64_t steps =
      taps.taps * CeilDiv(g.groups == 1 ? taps.depth : g.ic / g.groups, kernels.wide ? 2 : 4);
  const int64_t columns = g.groups * RoundUp(g.oc / g.groups, kernels.nr);
  return ChooseBlocking(device.info(), kernels.mr, kernels.nr, g.pixels(), columns, steps,
                        device.pool().threads(), MostRows(g, taps));
}

/// What a problem is cut by.
struct Cut {
  int mr;
  int64_t max_tiles, all_panels;
  Blocking usual;
};

Cut ReadCut(const Problem& problem, const Bytes& bytes, const Device& device) {
  const ConvGeometry& g = bytes.shapes.g;
  const TapPlan taps = PlanTaps(g, ReadQuantPixels(problem, bytes.q, g).value().in, 1);
  const QuantKernels& kernels = KernelsFor(g);
  return {kernels.mr, MostRows(g, taps) / kernels.mr,
          g.groups * CeilDiv(g.oc / g.groups, kernels.nr),
          UsualBlocking(g, taps, static_cast<const CpuDevice&>(device))};
}

/// Sums stay in registers: depth is not cut.
ParamSpace Space(const Problem& problem, const Bytes& bytes, const Device& device) {
  const Cut cut = ReadCut(problem, bytes, device);
  ParamSpace space{BlockingTunables(cut.usual, cut.mr, cut.max_tiles, cut.all_panels),
                   BlockingParams(cut.usual, cut.mr),
                   {}};
  space.usual.erase(space.tunables.back().name);
  space.tunables.pop_back();
  return space;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Bytes& bytes,
                                                const Params& params, const Device& device) {
  ASSIGN_OR_RETURN(const ConvPixels pixels, ReadQuantPixels(problem, bytes.q, bytes.shapes.g));
  ASSIGN_OR_RETURN(std::optional<elementwise::Program> program,
                   CompileQuantTail(*problem.group, bytes.q, problem.states));
  const Cut cut = ReadCut(problem, bytes, device);
  const Blocking blocking = ReadBlocking(params, cut.usual, cut.mr);
  return MakeQuantGemm(problem, bytes.q, bytes.shapes, pixels, blocking, std::move(program),
                       static_cast<const CpuDevice&>(device));
}

constexpr Family<Bytes> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .params = Space, .taste = Always<15>};
constexpr Family<Bytes> kBlockedFamily{.read = ReadImages,
                                       .states = BlockedStates,
                                       .prepare = Prepare,
                                       .params = Space,
                                       .taste = Always<13>};

}  // namespace

extern const KernelDesc kCpuQuantisedGemm;
const KernelDesc kCpuQuantisedGemm = {
    .name = "cpu.quantised.gemm", .version = 3, .match = MatchAs<kFamily>};

extern const KernelDesc kCpuQuantisedGemmNchwc;
const KernelDesc kCpuQuantisedGemmNchwc = {
    .name = "cpu.quantised.gemm.nchwc", .version = 2, .match = MatchAs<kBlockedFamily>};

}  // namespace fettle::kernels
