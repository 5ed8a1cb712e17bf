// compiled: small
#include "kernels/cpu/quantised/gemm_problem.h"

#include <algorithm>
#include <cstdlib>

#include "kernels/cpu/epilogue/epilogue.h"
#include "kernels/cpu/quantised/tail.h"

namespace fettle::kernels {
namespace {

/// Those of a product: its rows are the pixels of a line.
Result<QuantShapes> ReadProductShapes(const ir::Graph& group, const QuantisedGroup& q) {
  QuantShapes shapes;
  ConvGeometry& g = shapes.g;
  const Shape& a = *group.value(q.core->input(0)).shape;
  const Shape& b = *group.value(q.core->input(1)).shape;
  if (a.rank() < 2 || b.rank() != 2) return Unsupported("weights of rank {}", b.rank());
  g.ic = a[a.rank() - 1];
  const bool rows_are_channels = q.core->op == "Gemm"_op && q.core->attributes.Int("transB") != 0;
  shapes.transposed = !rows_are_channels;
  g.oc = b[rows_are_channels ? 0 : 1];
  g.in[2] = g.out[2] = a.Count(0, a.rank() - 1);
  if (q.bias != ir::kAbsent && group.value(q.bias).shape->elements() != g.oc)
    return Unsupported("the addend is not a row of the output");
  return shapes;
}

/// Whether these weights' sums are far below 2^31, whatever the input.
bool SumsFit(const ir::Graph& group, const QuantBytes& bytes) {
  const QuantConstants constants = QuantConstants::Of(group, bytes.q);
  const Constant& w = *constants.w;
  const ConvGeometry& g = bytes.shapes.g;
  std::vector<uint8_t> all(w.elements());
  w.CopyTo(0, w.elements(), reinterpret_cast<std::byte*>(all.data()));
  std::vector<int64_t> sums(g.oc), zeros;
  for (int64_t c = 0; c < g.oc; ++c) zeros.push_back(constants.Zero(c));
  const int64_t depth = w.elements() / g.oc;
  for (int64_t i = 0; i < w.elements(); ++i) {
    const int64_t channel = bytes.shapes.transposed ? i % g.oc : i / depth;
    const int weight = w.dtype() == DType::kI8 ? static_cast<int8_t>(all[i]) : all[i];
    sums[channel] += std::abs(weight - zeros[channel]);
  }
  constexpr int64_t kMost = (int64_t{1} << 30) / 255;
  return *std::max_element(sums.begin(), sums.end()) <= kMost;
}

}  // namespace

Result<QuantBytes> ReadQuantBytes(const ir::Graph& group) {
  QuantBytes bytes;
  ASSIGN_OR_RETURN(bytes.q, ReadQuantisedGroup(group));
  ConvGeometry& g = bytes.shapes.g;
  if (bytes.is_conv()) {
    ASSIGN_OR_RETURN(g, ReadConvGeometry(group, *bytes.q.core));
    g = AsLines(g);
  } else {
    ASSIGN_OR_RETURN(bytes.shapes, ReadProductShapes(group, bytes.q));
  }
  if (g.pixels() == 0 || g.ic == 0 || g.oc == 0) return Unsupported("an empty operand");
  bytes.signed_bytes =
      WeightZerosAre(group, bytes.q, group.value(bytes.q.w).dtype == DType::kU8 ? 128 : 0);
  if (g.ic / g.groups * g.taps() > kMaxQuantDepth && !SumsFit(group, bytes))
    return Unsupported("sums of over {} products that i32 may not hold", kMaxQuantDepth);
  return bytes;
}

const QuantKernels* KernelsFor(const QuantBytes& bytes, const Device& device) {
  constexpr int64_t kFewRows = 4;
  const ConvGeometry& g = bytes.shapes.g;
  const int64_t columns = g.oc / g.groups, words = g.oc * g.ic / g.groups * g.taps() * 2;
  // Words that stay in the second-level cache need not be made each time.
  const bool come_from_memory = words > static_cast<const CpuDevice&>(device).info().l2_bytes;
  if (bytes.signed_bytes && g.pixels() <= kFewRows && come_from_memory)
    if (const QuantKernels* narrow = GetNarrowKernels(columns)) return narrow;
  return &GetQuantKernels(columns);
}

Result<std::optional<elementwise::Program>> CompileResults(const ir::Graph& group,
                                                           const QuantisedGroup& q,
                                                           const StateAssignment& states) {
  if (!q.residual) return CompileQuantTail(group, q, states);
  const State& shortcut = states.inputs[IndexOf(group.inputs, q.residual->shortcut)];
  if (shortcut.layout != states.outputs[0].layout)
    return Unsupported("a shortcut in another layout");
  return std::optional<elementwise::Program>();
}

Result<StateAssignment> UsualQuantStates(const ir::Graph& group, const QuantBytes& bytes) {
  ASSIGN_OR_RETURN(StateAssignment states,
                   bytes.is_conv() ? ChannelsLastStates(group) : FloatRowMajorStates(group));
  RETURN_IF_ERROR(CompileResults(group, bytes.q, states).status());
  return states;
}

Result<ConvPixels> ReadQuantPixels(const Problem& problem, const QuantBytes& bytes) {
  const ConvGeometry& g = bytes.shapes.g;
  if (bytes.is_conv()) return ReadConvPixels(problem, bytes.q.x);
  return ConvPixels{ChannelsLastPixels(g.ic, g.pixels()), ChannelsLastPixels(g.oc, g.pixels())};
}

QuantCut CutBy(const QuantTileSize& tile, const ConvGeometry& g, int64_t depth, int64_t most_rows,
               int threads, const CpuDevice& device) {
  const int64_t columns = g.groups * RoundUp(g.oc / g.groups, tile.nr);
  const int64_t steps = CeilDiv(depth, tile.step_bytes);
  most_rows = std::max<int64_t>(most_rows, tile.mr);
  return {tile.mr, most_rows / tile.mr, columns / tile.nr,
          ChooseBlocking(device.info(), tile.mr, tile.nr, g.pixels(), columns, steps, threads,
                         most_rows)};
}

QuantCut CutForVectors(const Problem& problem, const QuantBytes& bytes, const QuantKernels& kernels,
                       const Device& device) {
  const ConvGeometry& g = bytes.shapes.g;
  const TapPlan taps = PlanTaps(g, ReadQuantPixels(problem, bytes).value().in, 1);
  // Pointers stay in the first-level cache.
  const int64_t most_rows = std::min<int64_t>(16384 / taps.taps, kernels.wide ? 896 : 448);
  return CutBy({kernels.mr, kernels.nr, kernels.wide ? 2 : 4}, g, DepthOf(g, taps), most_rows,
               problem.threads, static_cast<const CpuDevice&>(device));
}

int64_t DepthOf(const ConvGeometry& g, const TapPlan& taps) {
  return taps.taps * (g.groups == 1 ? taps.depth : g.ic / g.groups);
}

ParamSpace SpaceOf(const QuantCut& cut) {
  ParamSpace space{BlockingTunables(cut.usual, cut.mr, cut.max_tiles, cut.all_panels),
                   BlockingParams(cut.usual, cut.mr),
                   {}};
  space.usual.erase(space.tunables.back().name);
  space.tunables.pop_back();
  return space;
}

Result<QuantProduct> ReadQuantProduct(const Problem& problem, const QuantBytes& bytes,
                                      const QuantKernels* kernels, const QuantCut& cut,
                                      const Params& params) {
  ASSIGN_OR_RETURN(const ConvPixels pixels, ReadQuantPixels(problem, bytes));
  ASSIGN_OR_RETURN(std::optional<elementwise::Program> program,
                   CompileResults(*problem.group, bytes.q, problem.states));
  return QuantProduct{problem,           bytes.q,
                      bytes.shapes,      pixels,
                      kernels,           ReadBlocking(params, cut.usual, cut.mr, cut.max_tiles),
                      std::move(program)};
}

}  // namespace fettle::kernels
