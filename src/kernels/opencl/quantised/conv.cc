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

Result<ByteProduct> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(ByteProduct product, ReadByteProduct(group));
  if (product.is_matrix) return Unsupported("{} is not a convolution", product.q.core->op);
  return product;
}

Result<ByteProduct> ReadDepthwise(const ir::Graph& group, const Device& device) {
  ASSIGN_OR_RETURN(ByteProduct product, Read(group, device));
  if (!product.IsDepthwise()) return Unsupported("not a filter per channel");
  return product;
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

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const ByteProduct& product,
                                                const Params& params, const Device& device) {
  const TileShape tile = kTileFields.Read(params);
  const QuadPlan plan = PlanQuads(product.conv, tile);
  const ByteDot dot = kByteFields.Read(params);
  ByteProgram program{.path = "quantised/conv.cl",
                      .function = "quantised_conv",
                      .options = TileOptions(tile, AccessOf(problem, product)),
                      .sizes = RowTileSizes(product.conv, tile.columns, plan.blocks, GroupOf(tile)),
                      .form = ByteForm(product, plan, dot.dot != 0),
                      .dot = dot.dot != 0};
  DefineBytes(problem, product, program.options);
  kByteFields.Define(dot, program.options);
  return RecordByteProduct(problem, product, program, AsOpenCl(device),
                           [&](RecordedLaunch& launch) {
                             AppendWindow(problem, product, launch);
                             launch.Int(plan.depth).Value(Int2(plan.group_ic, plan.group_oc));
                           });
}

Result<std::unique_ptr<PreparedKernel>> PrepareDepthwise(const Problem& problem,
                                                         const ByteProduct& product,
                                                         const Params& params,
                                                         const Device& device) {
  const DepthwiseTile tile = kDepthwiseFields.Read(params);
  ByteProgram program{.path = "quantised/depthwise.cl",
                      .function = "quantised_depthwise",
                      .options = AccessOptions(AccessOf(problem, product)),
                      .sizes = RowTileSizes(product.conv, tile.columns,
                                            DivideUp(product.conv.oc, 4), GroupOf(tile)),
                      .form = DepthwiseForm(product.conv)};
  kDepthwiseFields.Define(tile, program.options);
  DefineBytes(problem, product, program.options);
  return RecordByteProduct(problem, product, program, AsOpenCl(device),
                           [&](RecordedLaunch& launch) { AppendWindow(problem, product, launch); });
}

ParamSpace DepthwiseByteSpace(const Problem&, const ByteProduct& product, const Device& device) {
  return DepthwiseSpace(product.conv, device);
}

/// Blocks of four channels are mostly zeros where each has a filter of its own.
int Taste(const ByteProduct& product, const Device&) { return product.IsDepthwise() ? 1 : 15; }

constexpr Family<ByteProduct> kFamily{
    .read = Read, .states = ByteStates, .prepare = Prepare, .params = ByteSpace, .taste = Taste};
constexpr Family<ByteProduct> kDepthwiseFamily{.read = ReadDepthwise,
                                               .states = ByteStates,
                                               .prepare = PrepareDepthwise,
                                               .params = DepthwiseByteSpace,
                                               .taste = Always<20>};

}  // namespace

extern const KernelDesc kOpenClQuantisedConv;
const KernelDesc kOpenClQuantisedConv = {.name = "opencl.quantised.conv",
                                         .version = 2,
                                         .match = MatchAs<kFamily>,
                                         .parameters = ParametersOf<kByteFields, kTileFields>};

extern const KernelDesc kOpenClQuantisedDepthwise;
const KernelDesc kOpenClQuantisedDepthwise = {.name = "opencl.quantised.depthwise",
                                              .match = MatchAs<kDepthwiseFamily>,
                                              .parameters = ParametersOf<kDepthwiseFields>};

}  // namespace fettle::kernels
