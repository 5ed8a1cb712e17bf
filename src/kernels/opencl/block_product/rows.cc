// opencl.block_product.rows: BlockMatMul of few rows, with the element-wise operators behind it.
// One row is rounded by each work-group for itself, more of them by a launch before.
#include <algorithm>

#include "kernels/family.h"
#include "kernels/fields.h"
#include "kernels/opencl/block_product/block_weights.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

constexpr int64_t kMostRows = 16;

/// Work-items of a group, those that share a row of weights, and rows that each sums at a time.
struct RowsTile {
  int64_t items = 128, lanes = 32, columns = 4;

  int64_t group_columns() const { return items / lanes * columns; }
};
constexpr Fields kRowsFields("block_product/rows.cl",
                             Field{"items", &RowsTile::items, {32, 64, 128, 256}, "ITEMS"},
                             Field{"lanes", &RowsTile::lanes, {8, 16, 32, 64}, "LANES"},
                             Field{"columns", &RowsTile::columns, {1, 2, 4, 8}, "COLUMNS"});

int64_t SumBytes(const BlockFacts& facts, const RowsTile& tile) {
  return facts.p.rows * tile.columns * tile.items * 4;
}

/// What a row takes in local memory where the work-group rounds it.
int64_t OwnBytes(const BlockFacts& facts) { return facts.units() * 40; }

bool RoundsItself(const BlockFacts& facts, const RowsTile& tile, const OpenClFacts& of) {
  return facts.p.rows == 1 && SumBytes(facts, tile) + OwnBytes(facts) <= of.local_bytes;
}

Status CheckTile(const BlockFacts& facts, const RowsTile& tile, const OpenClFacts& of) {
  if (tile.lanes > tile.items) return InvalidArgument("lanes: expected at most {}", tile.items);
  if (tile.items > std::min(of.max_work_group_size, of.max_work_item_sizes[0]))
    return Unsupported("{} work-items: the device takes fewer", tile.items);
  if (SumBytes(facts, tile) > of.local_bytes)
    return Unsupported("{} bytes of local memory: there are {}", SumBytes(facts, tile),
                       of.local_bytes);
  return OkStatus();
}

constexpr RowsTile kLeastTile{.items = 32, .lanes = 32, .columns = 1};

Result<BlockFacts> Read(const ir::Graph& group, const Device& device) {
  ASSIGN_OR_RETURN(BlockFacts facts, ReadBlockFacts(group));
  if (facts.p.rows > kMostRows) return Unsupported("more than {} rows", kMostRows);
  RETURN_IF_ERROR(CheckTile(facts, kLeastTile, AsOpenCl(device).facts()));
  return facts;
}

/// As many columns to a work-item as leave each compute unit two groups; many rows have sums
/// enough.
RowsTile UsualTile(const BlockFacts& facts, const OpenClFacts& of) {
  RowsTile tile;
  while (tile.columns > 1 && tile.columns * facts.p.rows > 32) tile.columns /= 2;
  while (tile.lanes > 8 && tile.lanes > facts.units()) tile.lanes /= 2;
  const auto groups = [&] { return DivideUp(facts.p.n, tile.group_columns()); };
  while (tile.columns > 1 && groups() < 2 * of.compute_units) tile.columns /= 2;
  while (tile.items > 64 && groups() < of.compute_units) tile.items /= 2;
  return CheckTile(facts, tile, of).ok() ? tile : kLeastTile;
}

ParamSpace Space(const Problem&, const BlockFacts& facts, const Device& device) {
  const OpenClFacts& of = AsOpenCl(device).facts();
  return {kRowsFields.Tunables(), kRowsFields.Write(UsualTile(facts, of)),
          [facts, &of](const Params& params) {
            return CheckTile(facts, kRowsFields.Read(params), of);
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
  RecordedLaunch launch(std::move(kernel),
                        GroupSizes(tile.items, DivideUp(facts.p.n, tile.group_columns())));
  if (own)
    launch.Input(InputIndex(*problem.group, problem.group->nodes()[0].inputs[0]), 4);
  else
    AddRoundedRows(facts, launch);
  launch.Packed(0, facts.unit_bytes()).Packed(1, facts.pair_bytes()).Output(0, 4).Int(facts.p.n);
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
