// opencl.quantised.matmul: rows of bytes times constant weights of MatMul, Gemm and MatMulInteger,
// to bytes, to sums or to floats.
#include "kernels/opencl/quantised/byte_product.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

Result<ByteProduct> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(ByteProduct product, ReadByteProduct(group));
  if (!product.is_matrix) return Unsupported("{} is not a matrix product", product.q.core->op);
  return product;
}

/// One row is spread over as many work-items as there are quads of columns.
ParamSpace Space(const Problem& problem, const ByteProduct& product, const Device& device) {
  ParamSpace space = ByteSpace(problem, product, device);
  if (product.conv.out[2] == 1 && !AsOpenCl(device).facts().is_cpu) {
    TileShape tile = kTileFields.Read(space.usual);
    tile.quads = 1;
    kTileFields.Write(tile, space.usual);
  }
  return space;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const ByteProduct& product,
                                                const Params& params, const Device& device) {
  const TileShape tile = kTileFields.Read(params);
  const ByteDot dot = kByteFields.Read(params);
  const QuadPlan plan = PlanQuads(product.conv, tile);
  const int64_t rows = product.conv.out[2];
  ByteProgram program{.path = "quantised/matmul.cl",
                      .function = "quantised_matmul",
                      .sizes = PlaceSizes(DivideUp(rows, tile.columns), plan.blocks),
                      .form = ByteForm(product, plan, dot.dot != 0),
                      .dot = dot.dot != 0};
  program.sizes.lws = GroupOf(tile);
  program.options.Define("FETTLE_HALF", problem.states.outputs[0].storage == DType::kF16 ? 1 : 0);
  kTileFields.Define(tile, program.options);
  kByteFields.Define(dot, program.options);
  DefineBytes(problem, product, program.options);
  return RecordByteProduct(problem, product, program, AsOpenCl(device),
                           [&](RecordedLaunch& launch) { launch.Int(rows).Int(product.conv.ic); });
}

constexpr Family<ByteProduct> kFamily{
    .read = Read, .states = ByteStates, .prepare = Prepare, .params = Space, .taste = Always<15>};

}  // namespace

extern const KernelDesc kOpenClQuantisedMatMul;
const KernelDesc kOpenClQuantisedMatMul = {.name = "opencl.quantised.matmul",
                                           .match = MatchAs<kFamily>,
                                           .parameters = ParametersOf<kByteFields, kTileFields>};

}  // namespace fettle::kernels
