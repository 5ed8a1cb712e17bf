// opencl.half_weights.many_rows: many rows of floats times constant weights that f16 holds exactly,
// with the element-wise operators behind them, by matrix instructions (many_rows/product.cl).
#include "kernels/family.h"
#include "kernels/opencl/half_weights/half_rows.h"
#include "kernels/opencl/many_rows/half_products.h"
#include "kernels/opencl/states.h"

namespace fettle::kernels {
namespace {

HalfProduct ProductOf(const HalfFacts& facts) {
  return {.m = facts.p.m, .n = facts.p.n, .k = facts.p.k};
}

Result<HalfFacts> Read(const ir::Graph& group, const Device& device) {
  if (group.outputs.size() != 1) return Unsupported("several results");
  ASSIGN_OR_RETURN(const Product p, ReadRowsByConstant(group));
  ASSIGN_OR_RETURN(const HalfFacts facts, ReadHalfProduct(group, p, device));
  if (facts.storage != DType::kF16) return Unsupported("weights that f16 does not hold");
  RETURN_IF_ERROR(CheckHalfProduct(ProductOf(facts), AsOpenCl(device).facts()));
  return facts;
}

ParamSpace Space(const Problem&, const HalfFacts& facts, const Device& device) {
  return HalfProductSpace(ProductOf(facts), AsOpenCl(device).facts());
}

Work WorkOf(const Problem&, const HalfFacts& facts, const Params&, const Device&) {
  return HalfProductWork(ProductOf(facts), 2);
}

int Taste(const HalfFacts& facts, const Device& device) {
  return facts.widened ? HalfProductTaste(ProductOf(facts), AsOpenCl(device).facts()) : 1;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const HalfFacts& facts,
                                                const Params& params, const Device& device) {
  const ir::Graph& group = *problem.group;
  const OpenClDevice& open = AsOpenCl(device);
  const WarpTile tile = kWarpTileFields.Read(params);
  const HalfProduct product = ProductOf(facts);
  auto made = std::make_unique<RecordedKernel>();
  ASSIGN_OR_RETURN(made->expression,
                   Expression::Compile(group, problem.states, group.nodes()[0].output(0)));
  made->own_packs.push_back(PackHalfWeights(facts));
  BuildOptions options;
  options.Define("DEPTH", product.k);
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClKernel> halve,
                   open.BuildKernel(MakeProgram("many_rows/rows.cl", options), "halve_rows"));
  const HalfWorkspace at(product, tile, open.facts());
  made->recorded.emplace_back(std::move(halve), HalvingSizes(product.m))
      .Input(InputIndex(group, facts.p.a), 4)
      .Workspace(0, kChunkBytes)
      .Workspace(at.row_factors, 4);
  RETURN_IF_ERROR(AddHalfProduct(product, tile, open, 0, *made));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<HalfFacts> kFamily{.read = Read,
                                    .states = HalfRowStates,
                                    .prepare = Prepare,
                                    .params = Space,
                                    .taste = Taste,
                                    .work = WorkOf};

}  // namespace

extern const KernelDesc kOpenClHalfWeightsManyRows;
const KernelDesc kOpenClHalfWeightsManyRows = {.name = "opencl.half_weights.many_rows",
                                               .match = MatchAs<kFamily>,
                                               .parameters = ParametersOf<kWarpTileFields>};

}  // namespace fettle::kernels
