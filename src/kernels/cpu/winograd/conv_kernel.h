// A Winograd convolution made ready: packed points of the filters, and tasks of tiles and columns.
#pragma once

#include <memory>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/conv/operands.h"
#include "kernels/cpu/conv/taps.h"
#include "kernels/cpu/epilogue/epilogue.h"

namespace fettle::kernels {

/// The output cut into tiles of `outputs` x `outputs` pixels, row by row, image by image.
struct WinogradTiling {
  int64_t rows = 0, columns = 0, count = 0;
};
WinogradTiling TilesOf(const ConvGeometry& g, int outputs);

/// A convolution of volumes, whose planes are the images of one of images: an output plane is made
/// of kernel[0] planes, whose channels follow each other. Images stay as they are.
ConvGeometry AsImages(const ConvGeometry& volume);

/// A convolution by F(outputs x outputs, 3 x 3).
struct WinogradProblem {
  ConvGeometry volume;
  ConvGeometry g;  // AsImages(volume)
  ConvPixels pixels;
  int outputs;
  int64_t points() const { return (outputs + 2) * (outputs + 2); }
};

/// How much one lane works on at a time, and what it reads of the filters.
struct WinogradBlock {
  int64_t tiles = 0;
  int64_t columns = 0;  // output channels per round, a multiple of nr
  /// Tasks that share a block's tiles, each with output channels of its own. Where there are
  /// several, all windows become points before the first of them begins.
  int64_t column_tasks = 1;
  /// Filters are kept as their nine taps, and become points slice by slice of the input channels
  /// while the block runs: 9/16 or a quarter of the memory, and of what is read of it.
  bool from_taps = false;
};

WinogradBlock UsualWinogradBlock(const CpuInfo& info, const WinogradProblem& p, int threads);

/// Fewer channels leave the transforms with more work than the products save; fewer tiles do not
/// pay for streaming filters of four times the size.
inline constexpr int64_t kSafeWinogradChannels = 16, kSafeWinogradTiles = 24,
                         kLeastWinogradTiles = 4;
/// Whether F(4x4, 3x3) is a safe choice unmeasured.
bool IsSafeWinograd(const ConvGeometry& g);
/// Where tiles of 4x4 are too few, whether those of 2x2 are ahead of a product: while they fill
/// register tiles, and filters of 16 / 9 of the size do not bind them.
bool PaysWinograd23(const ConvGeometry& g);

/// With a usual block, it is made at other extents by arithmetic.
std::unique_ptr<PreparedKernel> MakeConvWinograd(const Problem& problem,
                                                 const ConvOperands& operands,
                                                 const WinogradProblem& p, Epilogue epilogue,
                                                 const WinogradBlock& block);

}  // namespace fettle::kernels
