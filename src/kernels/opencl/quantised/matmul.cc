// opencl.quantised.matmul: rows of bytes times constant weights of MatMul, Gemm and MatMulInteger,
// to bytes, to sums or to floats.
#include "kernels/opencl/quantised/byte_product.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

Result<std::vector<StateAssignment>> Candidates(const ir::Graph& group, const Device& device) {
  ASSIGN_OR_RETURN(const ByteProduct product, ReadByteProduct(group));
  if (!product.is_matrix) return Unsupported("{} is no matrix product", product.q.core->op);
  return ByteStates(group, product, device);
}

/// One row is spread over as many work-items as there are quads of columns.
Params Defaults(const Problem& problem, const Device& device) {
  const ByteProduct product = ReadByteProduct(*problem.group).value();
  Params params = ByteDefaults(problem, device);
  if (product.conv.out[1] == 1 && !AsOpenCl(device).facts().is_cpu) params["quads"] = 1;
  return params;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Params& params,
                                                const Device& device) {
  ASSIGN_OR_RETURN(const ByteProduct product, ReadByteProduct(*problem.group));
  const TileShape tile = ReadTile(params);
  const QuadPlan plan = PlanQuads(product.conv, tile);
  const int64_t rows = product.conv.out[1];
  const bool dot = params.at("dot") != 0;
  ByteProgram program{.path = "quantised/matmul.cl",
                      .function = "quantised_matmul",
                      .sizes = PlaceSizes(DivideUp(rows, tile.columns), plan.blocks),
                      .form = ByteForm(product, plan, dot),
                      .dot = dot};
  program.sizes.lws = GroupOf(params);
  program.options.Define("FETTLE_HALF", problem.states.outputs[0].storage == DType::kF16 ? 1 : 0);
  program.options.Define("QUADS", tile.quads).Define("TILE_W", tile.columns);
  program.options.Define("DOT", dot ? 1 : 0);
  DefineBytes(problem, product, program.options);
  return RecordByteProduct(problem, product, program, AsOpenCl(device),
                           [&](RecordedLaunch& launch) { launch.Int(rows).Int(product.conv.ic); });
}

}  // namespace

extern const KernelDesc kOpenClQuantisedMatMul;
const KernelDesc kOpenClQuantisedMatMul = {.name = "opencl.quantised.matmul",
                                           .device = DeviceKind::kOpenCl,
                                           .preference = 15,
                                           .candidates = Candidates,
                                           .prepare = Prepare,
                                           .tunables = ByteTunables,
                                           .valid = CheckGroup,
                                           .default_params = Defaults};

}  // namespace fettle::kernels
