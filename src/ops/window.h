// Sliding windows: the attributes that convolutions and poolings share.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "ir/attributes.h"
#include "tensor/shape.h"

namespace fettle::ops {

/// How auto_pad has the pads of an axis follow from its extent: the odd one comes last, or first.
enum class SamePads : uint8_t { kNone, kUpper, kLower };

struct Padding {
  int64_t begin = 0, end = 0;
};
/// Of an axis of `extent` elements, which windows that span `span` make one output of for each
/// `stride`. `same` is not kNone.
Padding SamePadding(SamePads same, int64_t extent, int64_t span, int64_t stride);

/// A window over the spatial axes (those from axis 2 on), resolved for one input shape.
struct Window {
  std::vector<int64_t> kernel, strides, dilations;
  std::vector<int64_t> pad_begin, pad_end;
  SamePads same = SamePads::kNone;  // else pads are those of the one input shape

  int spatial_rank() const { return static_cast<int>(kernel.size()); }
  /// Input elements that the dilated kernel spans on spatial axis `i`.
  int64_t Span(int i) const {
    const size_t at = i;
    return (kernel[at] - 1) * dilations[at] + 1;
  }
};

/// Reads strides, dilations, pads and auto_pad of a node whose input has the shape `input`;
/// auto_pad is resolved to pads. Fails with kInvalidModel on sizes that disagree or are out of
/// range.
Result<Window> ReadWindow(const ir::Attributes& attributes, std::vector<int64_t> kernel,
                          const Shape& input);

/// Checks that an attribute holds `rank` values in [low, 2^30].
Status CheckRange(std::string_view name, const std::vector<int64_t>& values, size_t rank,
                  int64_t low);

/// Output extent of spatial axis `i` at any extent of the input, also where pads follow from it;
/// rounded down; below 1 where the kernel does not fit.
int64_t WindowOutputExtent(const Window& window, int i, int64_t input_extent);

/// The taps [begin, end) of axis `i` that read inside an input of `extent` for output `position`.
struct TapRange {
  int64_t begin, end;
};
TapRange InsideTaps(const Window& window, int i, int64_t position, int64_t extent);

}  // namespace fettle::ops
