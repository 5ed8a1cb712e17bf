// Convolutions as all backends see them: operands, and numbers brought to three spatial axes.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "ir/graph.h"
#include "ops/window.h"

namespace fettle::kernels {

struct ConvOperands {
  ir::ValueId x = ir::kAbsent, w = ir::kAbsent, b = ir::kAbsent;
  /// Weights (and the bias, where there is one) are computed: packed by each launch.
  bool computed = false;
};

/// Reads node 0, which must be `op` with a computed input and a float type; otherwise kUnsupported
/// with the reason. Weights and bias (kAbsent where left out) are both constant or, where
/// `allow_computed`, both computed.
Result<ConvOperands> ReadConvOperands(const ir::Graph& group, std::string_view op,
                                      bool allow_computed = false);

/// Missing outer axes have extent 1. Axes: depth, height, width.
struct ConvGeometry {
  int64_t batch = 1, ic = 0, oc = 0, groups = 1;
  std::array<int64_t, 3> in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1};
  std::array<int64_t, 3> stride{1, 1, 1}, dilation{1, 1, 1}, pad{0, 0, 0};
  ops::SamePads same = ops::SamePads::kNone;  // else `pad` is that of these extents
  bool pads_follow = false;                   // from extents, of a transposed convolution

  /// Output pixels of all images, and of one.
  int64_t pixels() const { return batch * image_pixels(); }
  int64_t image_pixels() const { return out[0] * out[1] * out[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  /// Each pixel of the output is made of one pixel of the input.
  bool IsPointwise() const {
    return taps() == 1 && stride == std::array<int64_t, 3>{1, 1, 1} && in == out;
  }
  bool IsDepthwise() const { return groups == ic && ic > 1; }
  /// Two spatial axes at most: the first of three has extent 1 before, in and behind the kernel.
  /// Padding alone may make an output of more planes from one.
  bool IsImage() const { return in[0] == 1 && kernel[0] == 1 && out[0] == 1; }
};

/// Reads a Conv node with concrete shapes. Fails with kUnsupported over three spatial axes.
Result<ConvGeometry> ReadConvGeometry(const ir::Graph& group, const ir::Node& node);
/// The same of a ConvTranspose: output position i * stride + t * dilation - pad meets input
/// position i through tap t.
Result<ConvGeometry> ReadTransposeGeometry(const ir::Graph& group, const ir::Node& node);

/// Whether each input pixel and tap of a transposed convolution write a pixel of their own: no
/// padding, and no kernel longer than its stride.
bool WritesApart(const ConvGeometry& transposed);
/// Of such a convolution, the rows of a product for all channels of a group, a stride's columns
/// counted whole. From kManyTransposedRows on a product outruns sums of planes.
int64_t TransposedRows(const ConvGeometry& transposed);
inline constexpr int64_t kManyTransposedRows = 48;

/// A 1x1 convolution of whole images in one group as one of lines, and images of one column as such
/// of one line, whose taps lie side by side; others as they are. Where pixels are counted line by
/// line nothing moves.
ConvGeometry AsLines(ConvGeometry geometry);

}  // namespace fettle::kernels
