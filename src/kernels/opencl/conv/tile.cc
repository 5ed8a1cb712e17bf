#include "kernels/opencl/conv/tile.h"

#include "kernels/opencl/states.h"

namespace fettle::kernels {
namespace {

/// Work-items that a compute unit of a GPU needs to have something to do while others wait, and
/// steps of four channels from which on a sum is a long wait.
constexpr int64_t kItemsOfUnit = 256, kLongSum = 32;

}  // namespace

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

FilterForm QuadForm(const PixelConv& conv, const QuadPlan& plan, bool transposed) {
  const int64_t taps = conv.taps();
  FilterForm form{.recipe = fmt::format("opencl.conv{}.{}.{}", transposed ? "_transpose" : "",
                                        plan.lanes, conv.groups),
                  .bias = plan.blocks * plan.lanes,
                  .elements = plan.blocks * plan.depth * taps * 4 * plan.lanes};
  if (conv.groups == 1) {
    const size_t oc = transposed ? 1 : 0, ic = transposed ? 0 : 1, tap = 2;
    form.dims = {conv.oc, conv.ic, taps};
    if (transposed) std::swap(form.dims[0], form.dims[1]);
    form.axes = {
        {plan.blocks, oc, plan.lanes}, {plan.depth, ic, 4}, {taps, tap}, {4, ic}, {plan.lanes, oc}};
    return form;
  }
  form.source = [plan, taps, transposed, oc = conv.oc](int64_t i) -> int64_t {
    const int64_t tap = i / (4 * plan.lanes) % taps;
    const int64_t quad = i / (4 * plan.lanes * taps);
    const int64_t block = quad / plan.depth;
    const int64_t o = block * plan.lanes + i % plan.lanes;
    const int64_t c = (plan.First(block) + quad % plan.depth) * 4 + i / plan.lanes % 4;
    const int64_t in_group = c - o / plan.group_oc * plan.group_ic;
    if (o >= oc || in_group < 0 || in_group >= plan.group_ic) return -1;
    if (transposed) return (c * plan.group_oc + o % plan.group_oc) * taps + tap;
    return (o * plan.group_ic + in_group) * taps + tap;
  };
  return form;
}

FilterForm RowForm(const PixelConv& conv, const QuadPlan& plan) {
  const int64_t taps = conv.taps();
  const size_t oc = 0, ic = 1, tap = 2;
  return {.recipe = fmt::format("opencl.conv.rows.{}", plan.lanes),
          .elements = plan.blocks * taps * plan.depth * 4 * plan.lanes,
          .dims = {conv.oc, conv.ic, taps},
          .axes = {{plan.blocks, oc, plan.lanes},
                   {taps, tap},
                   {plan.depth, ic, 4},
                   {4, ic},
                   {plan.lanes, oc}}};
}

MemoryRequest RowImage(const PixelConv& conv, const QuadPlan& plan, DType storage) {
  const int64_t rows = plan.blocks * conv.taps(), pixels = plan.depth * plan.lanes;
  return {.kind = MemoryKind::kImage2d,
          .bytes = rows * pixels * PixelBytes(storage),
          .width = pixels,
          .height = rows,
          .storage = storage};
}

TileShape UsualTile(const PixelConv& conv, const Device& device) {
  const OpenClFacts& facts = AsOpenCl(device).facts();
  const int64_t pixels = conv.image_pixels();
  TileShape tile{.quads = conv.oc > 8 ? 4 : conv.oc > 4 ? 2 : 1, .columns = pixels > 1 ? 4 : 1};
  const bool is_long = conv.taps() * DivideUp(conv.ic / conv.groups, 4) >= kLongSum;
  const auto leaves_units_idle = [&] {
    const int64_t items =
        conv.batch * DivideUp(pixels, tile.columns) * DivideUp(conv.oc, tile.lanes());
    return is_long && !facts.is_cpu && items < kItemsOfUnit * facts.compute_units;
  };
  // What is read for several columns weighs more than what is read for several quads.
  while (tile.quads > 1 && leaves_units_idle()) tile.quads /= 2;
  while (tile.columns > 1 && leaves_units_idle()) tile.columns /= 2;
  SetGroup(PlaceSizes(DivideUp(pixels, tile.columns), DivideUp(conv.oc, tile.lanes())), facts,
           tile);
  return tile;
}

ParamSpace TileSpace(const PixelConv& conv, const Device& device) {
  ParamSpace space = GroupedSpace<kTileFields>(UsualTile(conv, device), device);
  std::erase_if(space.tunables[0].values,
                [&](int64_t quads) { return quads > 1 && conv.oc <= 2 * quads; });
  return space;
}

ParamSpace TileSpaceOf(const Problem&, const PixelConv& conv, const Device& device) {
  return TileSpace(conv, device);
}

ParamSpace TiledSpace(const Problem& problem, const PixelConv& conv, const Device& device) {
  ParamSpace space = TileSpace(conv, device);
  const OpenClFacts& facts = AsOpenCl(device).facts();
  const auto check = [conv, storage = problem.states.outputs[0].storage,
                      &device](const Params& params) -> Status {
    if (conv.groups > 1) return Unsupported("weights of several groups lie in buffers");
    if (device.replays_launches()) return Unsupported("the driver replays no launch on images");
    return device.CheckLimits(RowImage(conv, PlanQuads(conv, kTileFields.Read(params)), storage));
  };
  const bool in_image = PrefersImages(facts) && check(space.usual).ok();
  kWeightsFields.Write({.image = in_image ? 1 : 0}, space.usual);
  kWeightsFields.AppendTunables(space.tunables);
  space.check = [check, of_tile = space.check](const Params& params) {
    RETURN_IF_ERROR(of_tile(params));
    return kWeightsFields.Read(params).image == 0 ? OkStatus() : check(params);
  };
  return space;
}

Result<std::unique_ptr<RecordedKernel>> RecordInImage(const Problem& problem, const PixelConv& conv,
                                                      const QuadPlan& plan, PixelProgram program,
                                                      const Device& device) {
  const DType storage = problem.states.outputs[0].storage;
  const FilterForm bias{.recipe = fmt::format("opencl.conv.bias.{}", plan.lanes),
                        .bias = plan.blocks * plan.lanes};
  ASSIGN_OR_RETURN(std::unique_ptr<RecordedKernel> made,
                   RecordConv(problem, conv, bias, std::move(program), device));
  made->images.emplace(made->own_packs.size(), RowImage(conv, plan, storage));
  made->recorded[0].Packed(made->own_packs.size(), 0);
  made->own_packs.push_back(RequestFilter(conv.w, ir::kAbsent, RowForm(conv, plan), storage));
  return made;
}

WorkSizes TileSizes(const PixelConv& conv, const TileShape& tile) {
  return RowTileSizes(conv, tile.columns, DivideUp(conv.oc, tile.lanes()), GroupOf(tile));
}

BuildOptions TileOptions(const TileShape& tile, const State& state) {
  BuildOptions options = AccessOptions(state);
  kTileFields.Define(tile, options);
  return options;
}

}  // namespace fettle::kernels
