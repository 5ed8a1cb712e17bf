// Convolutions of bytes in NCHW4c, to bytes, to sums or to floats.
//   opencl.quantised.conv       any window, stride, dilation, padding and groups
//   opencl.quantised.depthwise  one filter per channel
#include <algorithm>

#include "kernels/opencl/depthwise/depthwise.h"
#include "kernels/opencl/quantised/byte_product.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

Result<ByteProduct> ReadByteConv(const ir::Graph& group) {
  ASSIGN_OR_RETURN(ByteProduct product, ReadByteProduct(group));
  if (product.is_matrix) return Unsupported("{} is no convolution", product.q.core->op);
  return product;
}

Result<std::vector<StateAssignment>> Candidates(const ir::Graph& group, const Device& device) {
  ASSIGN_OR_RETURN(const ByteProduct product, ReadByteConv(group));
  if (product.IsDepthwise()) return Unsupported("left to opencl.quantised.depthwise");
  return ByteStates(group, product, device);
}

Result<std::vector<StateAssignment>> DepthwiseCandidates(const ir::Graph& group,
                                                         const Device& device) {
  ASSIGN_OR_RETURN(const ByteProduct product, ReadByteConv(group));
  if (!product.IsDepthwise()) return Unsupported("not a filter per channel");
  return ByteStates(group, product, device);
}

/// Arguments of both kernels behind BYTE_PARAMS.
void AppendWindow(const Problem& problem, const ByteProduct& product, RecordedLaunch& launch) {
  launch.Value(PixelDims(problem.shape(product.q.x)));
  launch.Value(PixelDims(problem.shape(product.q.anchor())));
  launch.Value(WindowArg(product.conv)).Value(BordersArg(product.conv));
}

/// Access to the output, which is floats in pixels or of no concern to access.clh.
State AccessOf(const Problem& problem, const ByteProduct& product) {
  State pixels = problem.states.outputs[0];
  if (product.result != ByteResult::kFloats) pixels.storage = DType::kF32;
  return pixels;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Params& params,
                                                const Device& device) {
  ASSIGN_OR_RETURN(const ByteProduct product, ReadByteProduct(*problem.group));
  const QuadPlan plan = PlanQuads(product.conv, ReadTile(params));
  const bool dot = params.at("dot") != 0;
  ByteProgram program{
      .path = "quantised/conv.cl",
      .function = "quantised_conv",
      .options = TileOptions(params, AccessOf(problem, product)),
      .sizes = RowTileSizes(product.conv, params.at("columns"), plan.blocks, params),
      .form = ByteForm(product, plan, dot),
      .dot = dot};
  DefineBytes(problem, product, program.options);
  program.options.Define("DOT", dot ? 1 : 0);
  return RecordByteProduct(problem, product, program, AsOpenCl(device),
                           [&](RecordedLaunch& launch) {
                             AppendWindow(problem, product, launch);
                             launch.Int(plan.depth).Value(Int2(plan.group_ic, plan.group_oc));
                           });
}

Result<std::unique_ptr<PreparedKernel>> PrepareDepthwise(const Problem& problem,
                                                         const Params& params,
                                                         const Device& device) {
  ASSIGN_OR_RETURN(const ByteProduct product, ReadByteProduct(*problem.group));
  const int64_t columns = params.at("columns");
  ByteProgram program{
      .path = "quantised/depthwise.cl",
      .function = "quantised_depthwise",
      .options = AccessOptions(AccessOf(problem, product)),
      .sizes = RowTileSizes(product.conv, columns, DivideUp(product.conv.oc, 4), params),
      .form = DepthwiseForm(product.conv)};
  program.options.Define("TILE_W", columns);
  DefineBytes(problem, product, program.options);
  return RecordByteProduct(problem, product, program, AsOpenCl(device),
                           [&](RecordedLaunch& launch) { AppendWindow(problem, product, launch); });
}

}  // namespace

extern const KernelDesc kOpenClQuantisedConv;
const KernelDesc kOpenClQuantisedConv = {.name = "opencl.quantised.conv",
                                         .version = 2,
                                         .device = DeviceKind::kOpenCl,
                                         .preference = 15,
                                         .candidates = Candidates,
                                         .prepare = Prepare,
                                         .tunables = ByteTunables,
                                         .valid = CheckGroup,
                                         .default_params = ByteDefaults};

extern const KernelDesc kOpenClQuantisedDepthwise;
const KernelDesc kOpenClQuantisedDepthwise = {
    .name = "opencl.quantised.depthwise",
    .device = DeviceKind::kOpenCl,
    .preference = 20,
    .candidates = DepthwiseCandidates,
    .prepare = PrepareDepthwise,
    .tunables = [](const Problem&, const Device&) { return DepthwiseTunables(); },
    .valid = CheckGroup,
    .default_params =
        [](const Problem& problem, const Device&) {
          return DepthwiseDefaults(ReadByteProduct(*problem.group).value().conv);
        }};

}  // namespace fettle::kernels
