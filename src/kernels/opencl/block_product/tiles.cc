// opencl.block_product.tiles: BlockMatMul of many rows by tiles in local memory, with the
// element-wise operators behind it.
#include "kernels/family.h"
#include "kernels/fields.h"
#include "kernels/opencl/block_product/block_weights.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

constexpr int64_t kTileColumns = 64;

struct TilesTile {
  int64_t rows = 64;

  int64_t items() const { return 4 * rows; }
};
constexpr Fields kTilesFields("block_product/tiles.cl",
                              Field{"rows", &TilesTile::rows, {16, 32, 64}, "TILE_ROWS"});

Status CheckTile(const TilesTile& tile, const OpenClFacts& of) {
  constexpr int64_t kStaged = 2;
  const int64_t bytes = kStaged * (tile.rows * 40 + kTileColumns * 24);
  if (tile.items() > std::min(of.max_work_group_size, of.max_work_item_sizes[0]))
    return Unsupported("{} work-items: the device takes fewer", tile.items());
  if (bytes > of.local_bytes)
    return Unsupported("{} bytes of local memory: there are {}", bytes, of.local_bytes);
  return OkStatus();
}

Result<BlockFacts> Read(const ir::Graph& group, const Device& device) {
  RETURN_IF_ERROR(CheckTile({.rows = 16}, AsOpenCl(device).facts()));
  return ReadBlockFacts(group);
}

TilesTile UsualTile(const BlockFacts& facts, const OpenClFacts& of) {
  TilesTile tile;
  const auto groups = [&] {
    return DivideUp(facts.p.n, kTileColumns) * DivideUp(facts.p.rows, tile.rows);
  };
  while (tile.rows > 16 && (groups() < of.compute_units || !CheckTile(tile, of).ok()))
    tile.rows /= 2;
  return tile;
}

ParamSpace Space(const Problem&, const BlockFacts& facts, const Device& device) {
  const OpenClFacts& of = AsOpenCl(device).facts();
  return {kTilesFields.Tunables(), kTilesFields.Write(UsualTile(facts, of)),
          [&of](const Params& params) { return CheckTile(kTilesFields.Read(params), of); }};
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const BlockFacts& facts,
                                                const Params& params, const Device& device) {
  const TilesTile tile = kTilesFields.Read(params);
  ASSIGN_OR_RETURN(auto made, StartBlockProduct(problem, facts, device, /*rounds=*/true));
  BuildOptions options = BlockOptions(facts, device);
  kTilesFields.Define(tile, options);
  ASSIGN_OR_RETURN(
      std::shared_ptr<OpenClKernel> kernel,
      AsOpenCl(device).BuildKernel(
          MakeProgram("block_product/tiles.cl", options, made->expression.text()), "tiles"));
  RecordedLaunch launch(std::move(kernel),
                        GroupSizes(tile.items(), DivideUp(facts.p.n, kTileColumns),
                                   DivideUp(facts.p.rows, tile.rows)));
  AddRoundedRows(facts, launch);
  launch.Packed(0, facts.unit_bytes())
      .Packed(1, facts.pair_bytes())
      .Output(0, 4)
      .Int(facts.p.rows)
      .Int(facts.p.n);
  made->recorded.push_back(std::move(launch));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<BlockFacts> kFamily{.read = Read,
                                     .states = BlockStates,
                                     .prepare = Prepare,
                                     .params = Space,
                                     .taste = Always<10>,
                                     .work = BlockWork};

}  // namespace

extern const KernelDesc kOpenClBlockProductTiles;
const KernelDesc kOpenClBlockProductTiles = {.name = "opencl.block_product.tiles",
                                             .match = MatchAs<kFamily>,
                                             .parameters = ParametersOf<kTilesFields>};

}  // namespace fettle::kernels
