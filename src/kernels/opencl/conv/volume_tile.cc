#include "kernels/opencl/conv/volume.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

constexpr int64_t kItems = 256;  // of a work-group

/// Below so many channels of a group most of a work-group's would be padding, which sums of so many
/// products are worth where few items would make them.
constexpr int64_t kFewChannels = 16, kLongSum = 256;

int64_t GroupsOf(const VolumeSums& sums, const VolumeTile& tile) {
  return DivideUp(sums.quads(), tile.side()) * DivideUp(sums.channels, tile.lanes()) * sums.batch *
         sums.groups;
}

/// Large tiles, but smaller ones of which several items share an output where sums are long and
/// work-groups would be too few for a GPU.
VolumeTile UsualTileOf(const VolumeSums& sums, const OpenClFacts& facts) {
  const int64_t wanted = 2 * facts.compute_units;
  const int64_t alone = sums.quads() * sums.channels * sums.batch * sums.groups;
  const bool is_idle = !facts.is_cpu && sums.depth >= kLongSum && alone < kItems * wanted;
  if (sums.channels < kFewChannels && !is_idle) return {.slices = 0};
  VolumeTile tile{.channel_quads = sums.channels > 64 ? 2 : 1, .slices = 1};
  if (facts.is_cpu) return tile;
  if (GroupsOf(sums, tile) < wanted) tile.channel_quads = 1;
  while (tile.slices < 16 && GroupsOf(sums, tile) < wanted && sums.depth >= 2 * tile.chunk())
    tile.slices *= 4;
  return tile;
}

int64_t LocalBytes(const VolumeTile& tile) {
  constexpr int64_t kPixel = 16;
  return kPixel * tile.chunk() * (tile.side() + tile.side() * tile.channel_quads + 1);
}

Status Check(const VolumeTile& tile, const OpenClFacts& facts) {
  if (tile.slices == 0) {
    if (tile.channel_quads == 1) return OkStatus();
    return InvalidArgument("channel_quads: expected 1 where items share nothing");
  }
  if (facts.max_work_group_size < kItems)
    return Unsupported("a work-group of {} items: the device takes {}", kItems,
                       facts.max_work_group_size);
  if (LocalBytes(tile) <= facts.local_bytes) return OkStatus();
  return Unsupported("tiles of {} bytes: the device has {} of local memory", LocalBytes(tile),
                     facts.local_bytes);
}

}  // namespace

VolumeSums SumsOf(const PixelConv& conv) {
  return {.batch = conv.batch,
          .groups = conv.groups,
          .channels = conv.oc / conv.groups,
          .depth = conv.ic / conv.groups * conv.taps(),
          .out = conv.out};
}

ParamSpace VolumeSpace(const VolumeSums& sums, const Device& device) {
  const OpenClFacts& facts = AsOpenCl(device).facts();
  VolumeTile usual = UsualTileOf(sums, facts);
  if (!Check(usual, facts).ok()) usual = {.slices = 0};
  return {kVolumeFields.Tunables(), kVolumeFields.Write(usual),
          [&facts](const Params& params) { return Check(kVolumeFields.Read(params), facts); }};
}

WorkSizes VolumeSizes(const VolumeSums& sums, const VolumeTile& tile) {
  if (tile.slices == 0) return PlaceSizes(sums.quads(), sums.channels * sums.groups, sums.batch);
  return GroupSizes(kItems, DivideUp(sums.quads(), tile.side()),
                    DivideUp(sums.channels, tile.lanes()), sums.batch * sums.groups);
}

std::string_view VolumeFunction(const VolumeTile& tile) {
  return tile.slices == 0 ? "conv_volume_few" : "conv_volume";
}

BuildOptions VolumeOptions(const VolumeTile& tile, const std::array<int64_t, 3>& kernel,
                           const State& state) {
  BuildOptions options = AccessOptions(state);
  kVolumeFields.Define(tile, options);
  options.Define("KERNEL_D", kernel[0]).Define("KERNEL_H", kernel[1]);
  options.Define("KERNEL_W", kernel[2]);
  return options;
}

void AppendVolume(const ConvGeometry& conv, const VolumeSums& sums, RecordedLaunch& launch) {
  launch.Value(VolumeArg(conv.in, conv.ic / conv.groups))
      .Value(VolumeArg(sums.out, sums.channels))
      .Value(VolumeArg(conv.stride, conv.groups))
      .Value(VolumeArg(conv.pad, 0))
      .Value(VolumeArg(conv.dilation, 0));
}

Result<std::vector<StateAssignment>> VolumeStates(const ir::Graph& group, const PixelConv& conv,
                                                  const Device&) {
  if (group.outputs.size() != 1 || !IsFloatValue(group.value(group.outputs[0]).dtype))
    return Unsupported("expected one float output");
  std::vector<StateAssignment> states = RowAssignments(group);
  RETURN_IF_ERROR(Expression::Compile(group, states[0], conv.y).status());
  return states;
}

}  // namespace fettle::kernels
