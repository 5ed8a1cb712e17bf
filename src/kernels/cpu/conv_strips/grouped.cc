// cpu.conv.grouped.nhwc: convolutions three columns wide in groups of few channels, where a product
// for each group would leave most of a vector empty. Lines of the input are spread so that each
// input of a group meets the group's lanes, in a ring of as many lines as the kernel has rows; then
// strips of pixels pass over them (kernels/cpu/conv_strips/strip.h).
#include "kernels/cpu/conv_strips/strip_conv.h"
#include "kernels/family.h"

namespace fettle::kernels {
namespace {

Result<StripForm> FormOf(int64_t inputs, int64_t outputs) {
  const int64_t lanes = GetStripKernels().lanes;
  if (outputs % lanes == 0) return StripForm::kVectorsInGroup;
  if (inputs == outputs && lanes % inputs == 0) return StripForm::kGroupsInVector;
  return Unsupported("groups that neither fill vectors of {} lanes nor divide them", lanes);
}

Result<StripProblem> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(const ConvOperands operands, ReadConvOperands(group, "Conv"));
  ASSIGN_OR_RETURN(const ConvGeometry g, ReadConvGeometry(group, group.nodes()[0]));
  if (g.groups == 1) return Unsupported("one group");
  if (g.IsDepthwise()) return Unsupported("a depthwise convolution");
  if (g.oc == 0 || g.ic == 0) return Unsupported("no channels");
  ASSIGN_OR_RETURN(const StripForm form, FormOf(g.ic / g.groups, g.oc / g.groups));
  RETURN_IF_ERROR(CheckStrips(g, form));
  return StripProblem{operands, g, form};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const StripProblem& conv,
                                            const Device&) {
  ASSIGN_OR_RETURN(StateAssignment states, ConvStates(group, conv.operands));
  RETURN_IF_ERROR(Epilogue::Compile(group, states).status());
  return std::vector<StateAssignment>{std::move(states)};
}

constexpr Family<StripProblem> kFamily{.read = Read,
                                       .states = States,
                                       .prepare = PrepareStrips,
                                       .params = StripParams,
                                       .taste = Always<15>};

}  // namespace

extern const KernelDesc kCpuConvGroupedNhwc;
const KernelDesc kCpuConvGroupedNhwc = {.name = "cpu.conv.grouped.nhwc", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
