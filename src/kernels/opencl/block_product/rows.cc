// opencl.block_product.rows: BlockMatMul of few rows, with the element-wise operators behind it.
// One row is rounded by each work-group for itself, more of them by a launch before.
#include <algorithm>

#include "kernels/family.h"
#include "kernels/opencl/block_product/rows_tile.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

constexpr int64_t kMostRows = 16;

Result<BlockFacts> Read(const ir::Graph& group, const Device& device) {
  ASSIGN_OR_RETURN(BlockFacts facts, ReadBlockFacts(group));
  if (facts.p.rows > kMostRows) return Unsupported("more than {} rows", kMostRows);
  RETURN_IF_ERROR(CheckRowsTile(facts, kLeastRowsTile, AsOpenCl(device).facts()));
  return facts;
}

ParamSpace Space(const Problem&, const BlockFacts& facts, const Device& device) {
  const OpenClFacts& of = AsOpenCl(device).facts();
  return {kRowsFields.Tunables(), kRowsFields.Write(UsualRowsTile(facts, facts.p.n, of)),
          [facts, &of](const Params& params) {
            return CheckRowsTile(facts, kRowsFields.Read(params), of);
          }};
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const BlockFacts& facts,
                                                const Params& params, const Device& device) {
  const RowsTile tile = kRowsFields.Read(params);
  const bool own = RoundsItself(facts, tile, AsOpenCl(device).facts());
  ASSIGN_OR_RETURN(auto made, StartBlockProduct(problem, facts, device, !own));
  BuildOptions options = BlockOptions(facts, device);
  kRowsFields.Define(tile, options);
  options.Define("ROWS", facts.p.rows).Define("OWN", own ? 1 : 0);
  ASSIGN_OR_RETURN(
      std::shared_ptr<OpenClKernel> kernel,
      AsOpenCl(device).BuildKernel(
          MakeProgram("block_product/rows.cl", options, made->expression.text()), "rows"));
  const int64_t tiles = DivideUp(facts.p.n, tile.group_columns());
  const int64_t groups = own ? LaunchedGroups(tile, tiles, AsOpenCl(device).facts()) : tiles;
  RecordedLaunch launch(std::move(kernel), GroupSizes(tile.items, groups));
  if (own)
    launch.Input(InputIndex(*problem.group, problem.group->nodes()[0].inputs[0]), 4);
  else
    AddRoundedRows(facts, launch);
  launch.Packed(0, facts.unit_bytes())
      .Packed(1, facts.pair_bytes())
      .Output(0, 4)
      .Int(facts.p.n)
      .Int(groups);
  made->recorded.push_back(std::move(launch));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<BlockFacts> kFamily{.read = Read,
                                     .states = BlockStates,
                                     .prepare = Prepare,
                                     .params = Space,
                                     .taste = Always<20>,
                                     .work = BlockWork};

}  // namespace

extern const KernelDesc kOpenClBlockProductRows;
const KernelDesc kOpenClBlockProductRows = {.name = "opencl.block_product.rows",
                                            .match = MatchAs<kFamily>,
                                            .parameters = ParametersOf<kRowsFields>};

}  // namespace fettle::kernels
