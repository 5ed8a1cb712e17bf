// What convolutions by matrix instructions have in common (gathered_tiles.clh).
#pragma once

#include "kernels/opencl/conv/pixel_conv.h"
#include "kernels/opencl/gemm/warp_tile.h"

namespace fettle::kernels {

/// A convolution over one or two axes in one group, on a device that has the instructions.
Result<PixelConv> ReadForMma(const ir::Graph& group, const Device& device);
/// The same over up to three axes, and in any groups whose channels make blocks (BlocksOf).
Result<PixelConv> ReadGroupedForMma(const ir::Graph& group, const Device& device);

/// Outputs that tiles cut evenly are a block: they are made of the inputs of all of their groups,
/// by weights that are zero between groups. In one group all channels are a block.
struct ChannelBlocks {
  int64_t inputs = 0, outputs = 0;  // channels of each
  /// Of the block that begins with output channel `output`: a multiple of four.
  static int64_t FirstInput(const PixelConv& conv, int64_t output) {
    return output / (conv.oc / conv.groups) * (conv.ic / conv.groups) / 4 * 4;
  }
  /// Whether all blocks read inputs that are there.
  bool AreWhole(const PixelConv& conv) const;
};
/// Of whole chunks of inputs: as few groups as fill tiles or, where groups do not, 32 outputs.
/// kUnsupported where blocks are mostly zero.
Result<ChannelBlocks> BlocksOf(const PixelConv& conv, int64_t chunk);
/// Those of a convolution that BlocksOf takes.
ChannelBlocks KnownBlocksOf(const PixelConv& conv, int64_t chunk);
/// States in which input and output are buffers of `storage`.
Result<std::vector<StateAssignment>> BuffersOf(DType storage, const ir::Graph& group,
                                               const PixelConv& conv, const Device& device);
/// What convolutions by matrix instructions multiply: f16, f32 rounded to TF32, or f32 each in two
/// parts of TF32, which takes three products for one.
enum class MmaFactors : uint8_t { kHalves, kTf32, kFloats };
constexpr DType StorageOf(MmaFactors factors) {
  return factors == MmaFactors::kHalves ? DType::kF16 : DType::kF32;
}
constexpr Arithmetic ArithmeticOf(MmaFactors factors) {
  return factors == MmaFactors::kTf32 ? Arithmetic::kTF32 : Arithmetic::kF32;
}
/// PARTS of warp_tiles.clh.
constexpr int64_t PartsOf(MmaFactors factors) { return factors == MmaFactors::kFloats ? 2 : 1; }
/// Input channels that one copy brings.
constexpr int64_t ChunkOf(MmaFactors factors) {
  return factors == MmaFactors::kHalves ? kChunkBytes / 2 : kChunkBytes / 4;
}

/// Whether a convolution in one group is faster by opencl.conv.mma, whose tiles have 16 rows of
/// pixels and whose instructions take 16 channels, although it may not fill them
/// (docs/laboratory/gpu.md).
bool FillsMmaTiles(const PixelConv& conv);

/// Family::states and ::work.
template <MmaFactors kFactors>
Result<std::vector<StateAssignment>> MmaStates(const ir::Graph& group, const PixelConv& conv,
                                               const Device& device) {
  return BuffersOf(StorageOf(kFactors), group, conv, device);
}
Work MmaConvWork(MmaFactors factors, const PixelConv& conv);
template <MmaFactors kFactors>
Work MmaWorkOf(const Problem&, const PixelConv& conv, const Params&, const Device&) {
  return MmaConvWork(kFactors, conv);
}

/// Rows of output channels, each tap by tap, of pieces of `chunk` input channels of its block;
/// channels that fill up, and those of other groups, are zero.
FilterForm GatheredForm(const PixelConv& conv, int64_t chunk);

/// Pixels of an image by output channels; `parts` as PARTS of warp_tiles.clh.
WarpProduct GatheredProduct(const PixelConv& conv, int64_t chunk, int64_t parts = 1);

/// COLUMNS of warp_tiles.clh: where all channels are those of one warp of `wn`, those that are
/// there.
void DefineColumns(const PixelConv& conv, int64_t wn, BuildOptions& options);

/// The macros of geometry.clh, and those of gathered_tiles.clh too. `has_dims`: the kernel has
/// in_dims.
void DefineGeometry(const PixelConv& conv, BuildOptions& options);
void DefineGathered(const PixelConv& conv, const WarpTile& tile, int64_t chunk, bool has_dims,
                    BuildOptions& options);

}  // namespace fettle::kernels
