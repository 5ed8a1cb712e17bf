// What convolutions by matrix instructions have in common (gathered_tiles.clh).
#pragma once

#include "kernels/opencl/conv/pixel_conv.h"
#include "kernels/opencl/gemm/warp_tile.h"

namespace fettle::kernels {

/// A convolution over one or two axes in one group, on a device that has the instructions.
Result<PixelConv> ReadForMma(const ir::Graph& group, const Device& device);
/// The same over up to three axes, and in any groups whose channels make blocks (BlocksOf).
Result<PixelConv> ReadGroupedForMma(const ir::Graph& group, const Device& device);

/// Groups as few as fill tiles are a block: its outputs are made of all of its inputs, by weights
/// that are zero between groups. In one group all channels are a block.
struct ChannelBlocks {
  int64_t inputs = 0, outputs = 0;  // channels of each
};
/// Of whole chunks of inputs and outputs for the narrowest tile; kUnsupported where neighbouring
/// groups make no such blocks, or ones that are mostly zero.
Result<ChannelBlocks> BlocksOf(const PixelConv& conv, int64_t chunk);
/// The inputs of a block; BlocksOf has been asked.
int64_t BlockInputs(const PixelConv& conv, int64_t chunk);
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

/// The macros of geometry.clh, and those of gathered_tiles.clh too.
void DefineGeometry(const PixelConv& conv, BuildOptions& options);
void DefineGathered(const PixelConv& conv, const WarpTile& tile, int64_t chunk,
                    BuildOptions& options);

}  // namespace fettle::kernels
