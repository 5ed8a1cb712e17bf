// Padding: attributes and operands, as kernels read them.
#pragma once

#include <span>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"
#include "tensor/shape.h"

namespace fettle::ops {

enum class PadMode { kConstant, kReflect, kEdge, kWrap };

/// One entry per axis of the input; negative amounts crop.
struct PadAttributes {
  PadMode mode = PadMode::kConstant;
  std::vector<int64_t> begin, end;
  Shape output;
};

/// `pads`: all beginnings, then all ends, of `axes` (all axes where null). Fails with
/// kInvalidModel.
Result<PadAttributes> ReadPad(const ir::Node& node, const Shape& input,
                              std::span<const int64_t> pads, const std::vector<int64_t>* axes);

/// The input index behind output indices [first, last) of `axis`; -1 where the padding value goes.
std::vector<int64_t> PadSources(const PadAttributes& pad, const Shape& input, int axis,
                                int64_t first, int64_t last);

}  // namespace fettle::ops
