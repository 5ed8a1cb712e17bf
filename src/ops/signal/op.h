// Spectra: attributes, as kernels read them.
#pragma once

#include <optional>

#include "base/status.h"
#include "ir/graph.h"
#include "tensor/shape.h"

namespace fettle::ops {

/// DFT over one axis of x [..., 1 or 2]; the last axis holds real (and imaginary) parts. One-sided:
/// only the bins up to half the length are written (forward) or read (inverse, to a real signal).
struct DftAttributes {
  int axis = 0;
  bool inverse = false, onesided = false;
  int64_t length = 0;  // of the transform: the signal is cut or padded with zeros to it
  int64_t bins = 0;    // extent of the output
};
/// `length` and `axis` are the value operands, where present.
Result<DftAttributes> ReadDft(const ir::Node& node, const Shape& x, std::optional<int64_t> length,
                              std::optional<int64_t> axis);

/// STFT over signal [batch, samples] or [batch, samples, 1 or 2].
struct StftAttributes {
  int64_t step = 0, length = 0;  // of a frame
  int64_t frames = 0, bins = 0;
  bool complex = false;
};
/// `length` is the value operand frame_length; without it the window's extent counts.
Result<StftAttributes> ReadStft(const ir::Node& node, const Shape& signal, int64_t step,
                                std::optional<int64_t> length, const Shape* window);

}  // namespace fettle::ops
