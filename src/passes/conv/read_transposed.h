// Code that rewrites of transposed convolutions share.

#pragma once

#include <functional>

#include "ops/conv_transpose/op.h"
#include "passes/edit/typed_nodes.h"

namespace fettle::passes {

/// The facts of a ConvTranspose: weights are [channels, outputs of a group, taps...].
struct Transposed {
  ops::ConvTransposeAttributes conv;
  Shape x, w;
  bool is_constant = true;  // the weights

  /// Channels of a group, pixels of the input and taps of the kernel.
  int64_t inputs() const { return w[0] / conv.group; }
  int64_t pixels() const { return x.Count(2, x.rank()); }
  int64_t taps() const { return w.Count(2, w.rank()); }
  /// The values that each input pixel and tap make, for all output channels.
  int64_t columns() const { return x[0] * conv.group * w[1] * taps() * pixels(); }
};

using RewriteOfTransposed = std::function<void(Editor&, ir::NodeId, const Transposed&)>;

/// Calls `rewrite` for each ConvTranspose of concrete shapes. True if anything changed.
Result<bool> RewriteTransposed(ir::Graph& graph, const RewriteOfTransposed& rewrite);

}  // namespace fettle::passes
