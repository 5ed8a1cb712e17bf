// opencl.conv.local: convolutions as products of tiles in local memory (local.cl).
#include <algorithm>

#include "kernels/opencl/conv/pixel_conv.h"

namespace fettle::kernels {
namespace {

/// What a work-group and a work-item compute, and how much they bring to local memory at a time.
struct LocalTile {
  int64_t oc = 0, pixels = 0, depth = 0, item_oc = 0, item_pixels = 0, slices = 1;
  /// Work-items of a slice.
  int64_t items() const { return oc / item_oc * (pixels / item_pixels); }
  int64_t bytes() const {
    return std::max(slices * depth * (oc + pixels), slices / 2 * oc * pixels) * 4;
  }
};

LocalTile ReadTile(const Params& params) {
  return {params.at("oc_tile"), params.at("pixel_tile"), params.at("depth"),
          params.at("oc_item"), params.at("pixel_item"), params.at("slices")};
}

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
  const auto x = static_cast<size_t>(tile.pixels / tile.item_pixels);
  const auto y = static_cast<size_t>(tile.oc / tile.item_oc);
  const auto columns = static_cast<size_t>(DivideUp(conv.out[0] * conv.out[1], tile.pixels));
  const auto rows = static_cast<size_t>(DivideUp(conv.oc, tile.oc));
  const auto slices = static_cast<size_t>(tile.slices);
  const auto batch = static_cast<size_t>(conv.batch);
  return {.gws = {columns * x, rows * y, batch * slices}, .lws = {x, y, slices}};
}

Result<std::vector<StateAssignment>> Candidates(const ir::Graph& group, const Device& device) {
  ASSIGN_OR_RETURN(const PixelConv conv, ReadPixelConv(group));
  if (conv.groups > 1) return Unsupported("groups: a tile is of one");
  if (conv.oc < 16) return Unsupported("{} output channels: too few for a tile", conv.oc);
  return PixelCandidates(group, conv.y, device);
}

std::vector<Tunable> Tunables(const Problem&, const Device&) {
  return {{"oc_tile", {16, 32, 64, 128}}, {"pixel_tile", {16, 32, 64, 128}},
          {"depth", {8, 16, 32}},         {"oc_item", {4, 8}},
          {"pixel_item", {1, 2, 4, 8}},   {"slices", {1, 2, 4, 8}}};
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

Status Valid(const Problem&, const Params& params, const Device& device) {
  return CheckTile(ReadTile(params), AsOpenCl(device).facts());
}

Params ParamsOf(const LocalTile& tile) {
  return {{"oc_tile", tile.oc},      {"pixel_tile", tile.pixels},      {"depth", tile.depth},
          {"oc_item", tile.item_oc}, {"pixel_item", tile.item_pixels}, {"slices", tile.slices}};
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
Params Defaults(const Problem& problem, const Device& device) {
  const PixelConv conv = ReadPixelConv(*problem.group).value();
  const OpenClFacts& facts = AsOpenCl(device).facts();
  constexpr LocalTile kSmallest{16, 16, 16, 4, 1};
  constexpr LocalTile kTiles[] = {
      {64, 128, 16, 8, 8}, {64, 64, 16, 8, 4}, {32, 64, 16, 4, 4}, {32, 32, 16, 4, 2}};
  const auto groups = [&conv](const LocalTile& tile) {
    return DivideUp(conv.oc, tile.oc) * DivideUp(conv.out[0] * conv.out[1], tile.pixels) *
           conv.batch;
  };
  LocalTile chosen = kSmallest;
  for (const LocalTile& tile : kTiles) {
    if (facts.is_cpu || groups(tile) < facts.compute_units || !CheckTile(tile, facts).ok())
      continue;
    chosen = tile;
    break;
  }
  chosen.slices = SlicesFor(conv, chosen, groups(chosen), facts);
  return ParamsOf(chosen);
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Params& params,
                                                const Device& device) {
  ASSIGN_OR_RETURN(const PixelConv conv, ReadPixelConv(*problem.group));
  const LocalTile tile = ReadTile(params);
  const FilterExtents extents = ExtentsOf(conv, tile);
  BuildOptions options = AccessOptions(problem.states.outputs[0]);
  options.Define("OC_TILE", tile.oc).Define("PIXEL_TILE", tile.pixels);
  options.Define("DEPTH", tile.depth).Define("SLICES", tile.slices);
  options.Define("OC_ITEM", tile.item_oc).Define("PIXEL_ITEM", tile.item_pixels);
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

}  // namespace

extern const KernelDesc kOpenClConvLocal;
const KernelDesc kOpenClConvLocal = {.name = "opencl.conv.local",
                                     .version = 2,
                                     .device = DeviceKind::kOpenCl,
                                     .preference = 4,
                                     .candidates = Candidates,
                                     .prepare = Prepare,
                                     .tunables = Tunables,
                                     .valid = Valid,
                                     .default_params = Defaults};

}  // namespace fettle::kernels
