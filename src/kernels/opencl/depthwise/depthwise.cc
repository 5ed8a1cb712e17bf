// opencl.conv.depthwise: one filter per channel; opencl.conv.depthwise.f16: computed in f16.
#include "kernels/opencl/depthwise/depthwise.h"

#include "kernels/opencl/states.h"

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

std::vector<Tunable> Tunables(const Problem&, const Device&) { return DepthwiseTunables(); }
Params Defaults(const Problem& problem, const Device&) {
  return DepthwiseDefaults(ReadPixelConv(*problem.group).value());
}

template <Arithmetic arithmetic>
Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Params& params,
                                                const Device& device) {
  ASSIGN_OR_RETURN(const PixelConv conv, ReadPixelConv(*problem.group));
  const int64_t columns = params.at("columns");
  BuildOptions options = AccessOptions(problem.states.outputs[0]);
  DefineArithmetic(arithmetic, device, options);
  options.Define("TILE_W", columns);
  ASSIGN_OR_RETURN(std::unique_ptr<RecordedKernel> made,
                   RecordConv(problem, conv, DepthwiseForm(conv),
                              {.path = "depthwise/depthwise.cl",
                               .function = "conv_depthwise",
                               .options = options,
                               .sizes = RowTileSizes(conv, columns, DivideUp(conv.oc, 4), params)},
                              device));
  made->recorded[0].Value(WindowArg(conv)).Value(BordersArg(conv));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

}  // namespace

extern const KernelDesc kOpenClConvDepthwise;
const KernelDesc kOpenClConvDepthwise = {.name = "opencl.conv.depthwise",
                                         .device = DeviceKind::kOpenCl,
                                         .preference = 20,
                                         .candidates = Candidates,
                                         .prepare = Prepare<Arithmetic::kF32>,
                                         .tunables = Tunables,
                                         .valid = CheckGroup,
                                         .default_params = Defaults};

extern const KernelDesc kOpenClConvDepthwiseF16;
const KernelDesc kOpenClConvDepthwiseF16 = {.name = "opencl.conv.depthwise.f16",
                                            .device = DeviceKind::kOpenCl,
                                            .preference = 21,
                                            .candidates =
                                                [](const ir::Graph& group, const Device& device) {
                                                  return HalfStates(
                                                      group, Candidates(group, device), device);
                                                },
                                            .prepare = Prepare<Arithmetic::kF16>,
                                            .tunables = Tunables,
                                            .valid = CheckGroup,
                                            .default_params = Defaults};

}  // namespace fettle::kernels
