// What the ways to compute a 3x3 convolution by Winograd's F(tile, 3) have in common: patches of
// the input, transformed filters, and the launches before and behind the products.
#pragma once

#include <array>
#include <vector>

#include "kernels/opencl/conv/pixel_conv.h"
#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {

/// Outputs of a patch in both axes.
struct WinogradTile {
  int64_t tile = 4;
};
inline constexpr Fields kWinogradFields("winograd/transform.clh",
                                        Field{"tile", &WinogradTile::tile, {4, 2}, "TILE"});

/// A convolution of 3x3 taps, stride 1 and one group with so many channels that the transforms cost
/// less than they save.
Result<PixelConv> ReadWinograd(const ir::Graph& group);
/// The same or one of a volume, of any number of such planes of taps.
Result<PixelConv> ReadWinogradOfPlanes(const ir::Graph& group);

/// Patches of all images, of (tile + 2)^2 places each; stages lie in memory place by place, in
/// `storage`. Of volumes each plane is an image: `inputs` are those of all planes that are read.
struct Patches {
  int64_t tile = 4, of_row = 0, of_image = 0, all = 0, inputs = 0;
  DType storage = DType::kF32;
  int64_t places() const { return (tile + 2) * (tile + 2); }
  /// Channels that lie together: those of 16 bytes.
  int64_t chunk() const { return 16 / StorageBytes(storage, 1); }
  int64_t ChunksOf(int64_t channels) const { return DivideUp(channels, chunk()); }
  /// Bytes of the transformed patches, and of the products.
  int64_t InputBytes(const PixelConv& conv) const {
    return places() * ChunksOf(conv.ic) * inputs * 16;
  }
  int64_t ProductBytes(const PixelConv& conv) const {
    return places() * DivideUp(conv.oc, 4) * all * StorageBytes(storage, 4);
  }
  /// Where the products begin in the workspace, and where they end.
  int64_t ProductsAt(const PixelConv& conv) const { return DivideUp(InputBytes(conv), 64) * 64; }
  int64_t WorkspaceBytes(const PixelConv& conv) const {
    return ProductsAt(conv) + ProductBytes(conv);
  }
};
Patches CutPatches(const PixelConv& conv, int64_t tile, DType storage = DType::kF32);
/// kUnsupported where the device has no workspace of that size.
Status CheckMemory(const PixelConv& conv, const Patches& patches, const Device& device);

/// G g G^T of one filter, row by row.
class FilterTransform {
 public:
  explicit FilterTransform(int64_t tile);
  const std::vector<float>& Run(const float* filter);

 private:
  std::vector<std::array<double, 3>> rows_;
  std::vector<float> out_;
};

/// The launch in front of the products: `x` to patches at the beginning of the workspace,
/// [place][chunk of input channels][patch].
Status RecordWinogradInput(const Problem& problem, const PixelConv& conv, const Patches& patches,
                           const OpenClDevice& device, RecordedKernel& made);
/// The launch behind the products, [place][output quad][patch]; the first pack begins with the bias
/// of whole quads.
Status RecordWinogradOutput(const Problem& problem, const PixelConv& conv, const Patches& patches,
                            const OpenClDevice& device, RecordedKernel& made);

}  // namespace fettle::kernels
