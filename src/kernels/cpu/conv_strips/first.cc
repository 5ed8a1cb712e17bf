// compiled: small
// cpu.conv.strips.row: first layers, from a row-major input of few channels, as callers bind it, to
// channels-last (kernels/cpu/conv_strips/strip.h). A product would have rows too short for its
// tiles, and needs the input converted.
#include "kernels/cpu/conv_strips/strip_conv.h"
#include "kernels/family.h"

namespace fettle::kernels {
namespace {

/// With more, a product per pixel reads less.
constexpr int64_t kMostChannels = 4;

Result<StripProblem> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(const ConvOperands operands, ReadConvOperands(group, "Conv"));
  ASSIGN_OR_RETURN(const ConvGeometry g, ReadConvGeometry(group, group.nodes()[0]));
  if (g.groups != 1) return Unsupported("more than one group");
  if (g.ic > kMostChannels) return Unsupported("more than {} channels", kMostChannels);
  if (2 * g.oc < GetStripKernels().lanes) return Unsupported("vectors would be mostly empty");
  if (group.value(operands.x).shape->rank() != 4) return Unsupported("not two spatial axes");
  RETURN_IF_ERROR(CheckStrips(g, StripForm::kPlanes));
  return StripProblem{operands, g, StripForm::kPlanes};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const StripProblem& conv,
                                            const Device&) {
  const Layout row = Layout::RowMajor(), last = Layout::ChannelsLast(4);
  std::vector<ConvLayouts> layouts{{row, last}};
  if (group.value(conv.operands.x).dtype == DType::kF32) layouts.push_back({row, last, true});
  return ConvStatesIn(group, conv.operands, layouts);
}

constexpr Family<StripProblem> kFamily{.read = Read,
                                       .states = States,
                                       .prepare = PrepareStrips,
                                       .params = StripParams,
                                       .taste = Always<14>,
                                       .takes_near_extents = true};

}  // namespace

extern const KernelDesc kCpuConvStripsRow;
const KernelDesc kCpuConvStripsRow = {.name = "cpu.conv.strips.row", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
