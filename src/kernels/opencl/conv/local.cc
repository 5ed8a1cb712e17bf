// opencl.conv.local: convolutions as products of tiles in local memory (local.cl).
#include <algorithm>

#include "kernels/opencl/conv/pixel_conv.h"

namespace fettle::kernels {
namespace {

/// What a work-group and a work-item compute, and how much they bring to local memory at a time.
struct LocalTile {
  int64_t oc = 16, pixels = 16, depth = 16, item_oc = 4, item_pixels = 1, slices = 1;
  /// Work-items of a slice.
  int64_t items() const { return oc / item_oc * (pixels / item_pixels); }
  int64_t bytes() const {
    return std::max(slices * depth * (oc + pixels), slices / 2 * oc * pixels) * 4;
  }
};
constexpr Fields kFields("conv/local.cl",
                         Field{"oc_tile", &LocalTile::oc, {16, 32, 64, 128}, "OC_TILE"},
                         Field{"pixel_tile", &LocalTile::pixels, {16, 32, 64, 128}, "PIXEL_TILE"},
                         Field{"depth", &LocalTile::depth, {8, 16, 32}, "DEPTH"},
                         Field{"oc_item", &LocalTile::item_oc, {4, 8}, "OC_ITEM"},
                         Field{"pixel_item", &LocalTile::item_pixels, {1, 2, 4, 8}, "PIXEL_ITEM"},
                         Field{"slices", &LocalTile::slices, {1, 2, 4, 8}, "SLICES"});

int64_t RoundUp(int64_t value, int64_t multiple) { return DivideUp(value, multiple) * multiple; }

/// Rows of weights, and columns, as they lie in memory.
struct FilterExtents {
  int64_t rows = 0, oc = 0;
};
FilterExtents ExtentsOf(const PixelConv& conv, const LocalTile& tile) {
  return {RoundUp(conv.taps() * RoundUp(conv.ic, 4), tile.depth * tile.slices),
          RoundUp(conv.oc, tile.oc)};
}

FilterForm FormOf(const PixelConv& conv, const FilterExtents& extents) {
  return {.recipe = fmt::format("opencl.conv.local.{}x{}", extents.rows, extents.oc),
          .bias = extents.oc,
          .elements = extents.rows * extents.oc,
          .dims = {conv.oc, conv.ic, conv.taps()},
          .axes = {{conv.taps(), 2}, {RoundUp(conv.ic, 4), 1}, {extents.oc, 0}}};
}

WorkSizes SizesOf(const PixelConv& conv, const LocalTile& tile) {
  const size_t x = tile.pixels / tile.item_pixels;
  const size_t y = tile.oc / tile.item_oc;
  const size_t columns = DivideUp(conv.image_pixels(), tile.pixels);
  const size_t rows = DivideUp(conv.oc, tile.oc);
  const size_t slices = tile.slices;
  const size_t batch = conv.batch;
  return {.gws = {columns * x, rows * y, batch * slices}, .lws = {x, y, slices}};
}

Result<PixelConv> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(PixelConv conv, ReadPixelConv(group));
  if (conv.groups > 1) return Unsupported("groups: a tile is of one");
  return conv;
}

Status CheckTile(const LocalTile& tile, const OpenClFacts& facts) {
  const int64_t items = tile.items();
  if (items * tile.slices > facts.max_work_group_size)
    return Unsupported("{} work-items: the device takes {}", items * tile.slices,
                       facts.max_work_group_size);
  if (tile.oc * tile.depth / 4 % items != 0 || tile.pixels * tile.depth / 4 % items != 0)
    return Unsupported("{} work-items cannot share the tiles evenly", items);
  if (tile.bytes() > facts.local_bytes)
    return Unsupported("tiles of {} bytes: local memory has {}", tile.bytes(), facts.local_bytes);
  return OkStatus();
}

/// As many slices as it takes to give each unit enough work-items to hide its waiting.
int64_t SlicesFor(const PixelConv& conv, LocalTile tile, int64_t groups, const OpenClFacts& facts) {
  constexpr int64_t kItemsOfUnit = 1024, kMostItems = 512, kLeastSteps = 4;
  const int64_t steps = conv.taps() * conv.ic / tile.depth;
  if (facts.is_cpu) return 1;
  while (tile.slices < 8 &&
         groups * tile.items() * tile.slices < facts.compute_units * kItemsOfUnit) {
    LocalTile more = tile;
    more.slices *= 2;
    if (more.items() * more.slices > kMostItems || steps / more.slices < kLeastSteps) break;
    if (!CheckTile(more, facts).ok()) break;
    tile = more;
  }
  return tile.slices;
}

/// The largest tile that leaves no unit of the device idle.
LocalTile UsualTile(const PixelConv& conv, const OpenClFacts& facts) {
  constexpr LocalTile kTiles[] = {
      {64, 128, 16, 8, 8}, {64, 64, 16, 8, 4}, {32, 64, 16, 4, 4}, {32, 32, 16, 4, 2}};
  const auto groups = [&conv](const LocalTile& tile) {
    return DivideUp(conv.oc, tile.oc) * DivideUp(conv.image_pixels(), tile.pixels) * conv.batch;
  };
  LocalTile chosen;
  for (const LocalTile& tile : kTiles) {
    if (facts.is_cpu || groups(tile) < facts.compute_units || !CheckTile(tile, facts).ok())
      continue;
    chosen = tile;
    break;
  }
  chosen.slices = SlicesFor(conv, chosen, groups(chosen), facts);
  return chosen;
}

ParamSpace Space(const Problem&, const PixelConv& conv, const Device& device) {
  const OpenClFacts& facts = AsOpenCl(device).facts();
  return {kFields.Tunables(), kFields.Write(UsualTile(conv, facts)),
          [&facts](const Params& params) { return CheckTile(kFields.Read(params), facts); }};
}

/// Fewer channels leave most of a tile empty.
int Taste(const PixelConv& conv, const Device&) { return conv.oc < 8 ? 1 : 4; }

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const PixelConv& conv,
                                                const Params& params, const Device& device) {
  const LocalTile tile = kFields.Read(params);
  const FilterExtents extents = ExtentsOf(conv, tile);
  BuildOptions options = AccessOptions(problem.states.outputs[0]);
  kFields.Define(tile, options);
  ASSIGN_OR_RETURN(std::unique_ptr<RecordedKernel> made,
                   RecordConv(problem, conv, FormOf(conv, extents),
                              {.path = "conv/local.cl",
                               .function = "conv_local",
                               .options = options,
                               .sizes = SizesOf(conv, tile)},
                              device));
  made->recorded[0].Value(WindowArg(conv)).Value(BordersArg(conv)).Int(extents.rows);
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<PixelConv> kFamily{
    .read = Read, .states = PixelConvStates, .prepare = Prepare, .params = Space, .taste = Taste};

}  // namespace

extern const KernelDesc kOpenClConvLocal;
const KernelDesc kOpenClConvLocal = {.name = "opencl.conv.local",
                                     .version = 2,
                                     .match = MatchAs<kFamily>,
                                     .parameters = ParametersOf<kFields>};

}  // namespace fettle::kernels
