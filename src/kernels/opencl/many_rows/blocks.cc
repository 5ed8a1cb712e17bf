// opencl.block_product.many_rows: BlockMatMul of many rows, with the element-wise operators behind
// it, by matrix instructions (many_rows/product.cl). Codes are unpacked once a run.
#include "kernels/family.h"
#include "kernels/opencl/block_product/block_weights.h"
#include "kernels/opencl/many_rows/half_products.h"
#include "kernels/opencl/states.h"

namespace fettle::kernels {
namespace {

HalfProduct ProductOf(const BlockFacts& facts) {
  return {.m = facts.p.rows, .n = facts.p.n, .k = facts.p.k, .cuts_weights = true};
}

Result<BlockFacts> Read(const ir::Graph& group, const Device& device) {
  ASSIGN_OR_RETURN(const BlockFacts facts, ReadBlockFacts(group));
  RETURN_IF_ERROR(CheckHalfProduct(ProductOf(facts), AsOpenCl(device).facts()));
  return facts;
}

ParamSpace Space(const Problem&, const BlockFacts& facts, const Device& device) {
  return HalfProductSpace(ProductOf(facts), AsOpenCl(device).facts());
}

Work WorkOf(const Problem&, const BlockFacts& facts, const Params&, const Device&) {
  return HalfProductWork(ProductOf(facts), 4);
}

int Taste(const BlockFacts& facts, const Device& device) {
  return HalfProductTaste(ProductOf(facts), AsOpenCl(device).facts());
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const BlockFacts& facts,
                                                const Params& params, const Device& device) {
  const ir::Graph& group = *problem.group;
  const OpenClDevice& open = AsOpenCl(device);
  const WarpTile tile = kWarpTileFields.Read(params);
  const HalfProduct product = ProductOf(facts);
  ASSIGN_OR_RETURN(auto made, StartBlockProduct(problem, facts, device, /*rounds=*/false));
  const HalfWorkspace at(product, tile, open.facts());
  const ProgramSource program = MakeProgram("many_rows/blocks.cl", BlockOptions(facts, device));
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClKernel> rows, open.BuildKernel(program, "halve_rounded"));
  made->recorded.emplace_back(std::move(rows), HalvingSizes(product.m))
      .Input(InputIndex(group, group.nodes()[0].inputs[0]), 4)
      .Workspace(0, kChunkBytes)
      .Workspace(at.row_factors, 4);
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClKernel> codes, open.BuildKernel(program, "halve_codes"));
  made->recorded.emplace_back(std::move(codes), HalvingSizes(product.n))
      .Packed(0, facts.unit_bytes())
      .Packed(1, facts.pair_bytes())
      .Workspace(at.weights, kChunkBytes)
      .Workspace(at.weight_factors, 4);
  RETURN_IF_ERROR(AddHalfProduct(product, tile, open, 0, *made));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<BlockFacts> kFamily{.read = Read,
                                     .states = BlockStates,
                                     .prepare = Prepare,
                                     .params = Space,
                                     .taste = Taste,
                                     .work = WorkOf};

}  // namespace

extern const KernelDesc kOpenClBlockProductManyRows;
const KernelDesc kOpenClBlockProductManyRows = {.name = "opencl.block_product.many_rows",
                                                .match = MatchAs<kFamily>,
                                                .parameters = ParametersOf<kWarpTileFields>};

}  // namespace fettle::kernels
