// compiled: small
// cpu.conv.grouped.nhwc: convolutions three columns wide in groups of few channels, where a product
// for each group would leave most of a vector empty. Lines of the input are spread so that each
// input of a group meets the group's lanes, in a ring of as many lines as the kernel has rows; then
// strips of pixels pass over them (kernels/cpu/conv_strips/strip.h).
#include <algorithm>

#include "kernels/cpu/conv_strips/strip_conv.h"
#include "kernels/cpu/gemm/block.h"
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

/// Sums that hide the latency of a multiply-add: 4 cycles, two at a time.
constexpr int64_t kEnoughSums = 8;
/// Of the first-level cache, what the weights of a vector may take.
constexpr int64_t kNearBytes = 24 << 10;

/// Where there are 16 registers a product whose panels are whole outruns strips of few pixels,
/// which wait for their sums, and strips that read their weights from far (docs/laboratory/cpu.md).
int Taste(const StripProblem& conv, const Device&) {
  const StripKernels& kernels = GetStripKernels();
  const bool has_many_registers = kernels.most_outputs == kMostStripOutputs;
  const bool is_scalar = kernels.lanes == 1;
  if (has_many_registers || is_scalar || conv.outputs() % GetMicroKernels().nr != 0) return 15;
  const int64_t width = std::max<int64_t>(conv.g.out[2], 1);
  const int64_t pixels = CeilDiv(width, CeilDiv(width, int64_t{kernels.most_outputs}));
  const int64_t bytes = conv.vector_floats() * static_cast<int64_t>(sizeof(float));
  return pixels < kEnoughSums || bytes >= kNearBytes ? 9 : 15;
}

constexpr Family<StripProblem> kFamily{.read = Read,
                                       .states = States,
                                       .prepare = PrepareStrips,
                                       .params = StripParams,
                                       .taste = Taste};

}  // namespace

extern const KernelDesc kCpuConvGroupedNhwc;
const KernelDesc kCpuConvGroupedNhwc = {.name = "cpu.conv.grouped.nhwc", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
