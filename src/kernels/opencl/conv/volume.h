// Convolutions over row-major tensors by tiles in local memory (volume.cl), as three kernels see
// them: constant filters over three axes, given filters, transposed convolutions.
#pragma once

#include "kernels/opencl/conv/pixel_conv.h"

namespace fettle::kernels {

/// How work-items share outputs: `slices` of them each, or 0: each makes a quad by itself.
struct VolumeTile {
  int64_t channel_quads = 1, slices = 1;

  int64_t side() const { return slices == 1 ? 16 : slices == 4 ? 8 : 4; }
  int64_t lanes() const { return slices == 0 ? 1 : 4 * side() * channel_quads; }
  int64_t chunk() const { return 16 * slices; }
};
inline constexpr Fields kVolumeFields(
    "conv/volume.cl", Field{"channel_quads", &VolumeTile::channel_quads, {1, 2}, "CHANNEL_QUADS"},
    Field{"slices", &VolumeTile::slices, {1, 0, 4, 16}, "SLICES"});

/// What is summed: `channels` outputs of a group, each of `depth` products, at places that are
/// counted in quads of neighbouring columns.
struct VolumeSums {
  int64_t batch = 1, groups = 1, channels = 0, depth = 0;
  std::array<int64_t, 3> out{1, 1, 1};

  int64_t quads() const { return out[0] * out[1] * DivideUp(out[2], 4); }
};
/// Those of a convolution.
VolumeSums SumsOf(const PixelConv& conv);

ParamSpace VolumeSpace(const VolumeSums& sums, const Device& device);
WorkSizes VolumeSizes(const VolumeSums& sums, const VolumeTile& tile);
/// The function of volume.cl that makes them.
std::string_view VolumeFunction(const VolumeTile& tile);
/// Options of a program whose output is in `state` and whose taps are `kernel`.
BuildOptions VolumeOptions(const VolumeTile& tile, const std::array<int64_t, 3>& kernel,
                           const State& state);
/// Adds the extents, strides, pads and dilations of a convolution of `sums`.
void AppendVolume(const ConvGeometry& conv, const VolumeSums& sums, RecordedLaunch& launch);

/// (depth, height, width, `last`).
inline cl_int4 VolumeArg(const std::array<int64_t, 3>& axes, int64_t last) {
  return Int4(axes[0], axes[1], axes[2], last);
}

/// All operands as row-major buffers, where the group's expression can follow the output `y`.
Result<std::vector<StateAssignment>> VolumeStates(const ir::Graph& group, const PixelConv& conv,
                                                  const Device& device);

}  // namespace fettle::kernels
