// opencl.conv.depthwise: one filter per channel.
#include "kernels/opencl/depthwise/depthwise.h"

namespace fettle::kernels {

FilterForm DepthwiseForm(const PixelConv& conv) {
  const int64_t quads = DivideUp(conv.oc, 4), taps = conv.taps();
  return {.recipe = "opencl.depthwise",
          .bias = quads * 4,
          .elements = quads * taps * 4,
          .dims = {conv.oc, taps},
          .axes = {{quads, 0, 4}, {taps, 1}, {4, 0}}};
}

std::vector<Tunable> DepthwiseTunables() {
  std::vector<Tunable> all{{"columns", {1, 2, 4, 8}}};
  AppendGroupTunables(all);
  return all;
}

Params DepthwiseDefaults(const PixelConv& conv) {
  const int64_t columns = conv.out[1] > 1 ? 4 : 1;
  Params params{{"columns", columns}};
  AppendGroupDefaults(
      PlaceSizes(conv.out[0] * DivideUp(conv.out[1], columns), DivideUp(conv.oc, 4)), params);
  return params;
}

namespace {

Result<std::vector<StateAssignment>> Candidates(const ir::Graph& group, const Device& device) {
  ASSIGN_OR_RETURN(const PixelConv conv, ReadPixelConv(group));
  if (conv.groups != conv.ic || conv.oc != conv.ic || conv.ic == 1)
    return Unsupported("not a filter per channel");
  return PixelCandidates(group, conv.y, device);
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Params& params,
                                                const Device& device) {
  ASSIGN_OR_RETURN(const PixelConv conv, ReadPixelConv(*problem.group));
  const int64_t columns = params.at("columns");
  ASSIGN_OR_RETURN(
      std::unique_ptr<RecordedKernel> made,
      RecordConv(problem, conv, DepthwiseForm(conv),
                 {.path = "depthwise/depthwise.cl",
                  .function = "conv_depthwise",
                  .options = AccessOptions(problem.states.outputs[0]).Define("TILE_W", columns),
                  .sizes = RowTileSizes(conv, columns, DivideUp(conv.oc, 4), params)},
                 device));
  made->recorded[0].Value(WindowArg(conv)).Value(BordersArg(conv));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

}  // namespace

extern const KernelDesc kOpenClConvDepthwise;
const KernelDesc kOpenClConvDepthwise = {
    .name = "opencl.conv.depthwise",
    .device = DeviceKind::kOpenCl,
    .preference = 20,
    .candidates = Candidates,
    .prepare = Prepare,
    .tunables = [](const Problem&, const Device&) { return DepthwiseTunables(); },
    .valid = CheckGroup,
    .default_params =
        [](const Problem& problem, const Device&) {
          return DepthwiseDefaults(ReadPixelConv(*problem.group).value());
        }};

}  // namespace fettle::kernels
