#include "kernels/opencl/conv/tile.h"

#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {

QuadPlan PlanQuads(const PixelConv& conv, const TileShape& tile) {
  QuadPlan plan{.blocks = DivideUp(conv.oc, tile.lanes()),
                .lanes = tile.lanes(),
                .group_ic = conv.ic / conv.groups,
                .group_oc = conv.oc / conv.groups,
                .in_quads = DivideUp(conv.ic, 4)};
  for (int64_t block = 0; block < plan.blocks; ++block) {
    const int64_t first_group = block * plan.lanes / plan.group_oc;
    const int64_t last = std::min((block + 1) * plan.lanes, conv.oc) - 1;
    const int64_t end = DivideUp((last / plan.group_oc + 1) * plan.group_ic, 4);
    plan.depth = std::max(plan.depth, end - first_group * plan.group_ic / 4);
  }
  return plan;
}

std::vector<Tunable> TileTunables(const PixelConv& conv) {
  Tunable quads{"quads", {1}};
  for (int64_t count : {2, 4}) {
    if (conv.oc > 2 * count) quads.values.push_back(count);
  }
  std::vector<Tunable> all{std::move(quads), {"columns", {1, 2, 4, 8}}};
  AppendGroupTunables(all);
  return all;
}

Params TileDefaults(const PixelConv& conv) {
  const int64_t pixels = conv.out[0] * conv.out[1];
  Params params{{"quads", conv.oc > 8 ? 4 : conv.oc > 4 ? 2 : 1}, {"columns", pixels > 1 ? 4 : 1}};
  const TileShape tile = ReadTile(params);
  AppendGroupDefaults(PlaceSizes(DivideUp(pixels, tile.columns), DivideUp(conv.oc, tile.lanes())),
                      params);
  return params;
}

BuildOptions TileOptions(const Params& params, const State& state) {
  BuildOptions options;
  DefineAccess(state, options);
  options.Define("QUADS", params.at("quads")).Define("TILE_W", params.at("columns"));
  return options;
}

}  // namespace fettle::kernels
