// y = scale * x + shift per channel, read from chains of nodes and applied to constants.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "passes/edit/editor.h"
#include "tensor/tensor.h"

namespace fettle::passes {

/// One scale and one shift per channel, in double.
struct ChannelAffine {
  std::vector<double> scale, shift;

  explicit ChannelAffine(int64_t channels) : scale(channels, 1), shift(channels, 0) {}
  /// Whether all scales are 1.
  bool OnlyShifts() const;
};

/// Where channels lie in a value: `from_right` axes behind the channel axis, `rank` axes in all
/// (unknown: -1).
struct ChannelAxis {
  int64_t channels = 0;
  int from_right = 0;
  int rank = -1;
};

/// Composes the effect of `node` on its operand `x` into `affine`. False, with nothing changed,
/// where the node has another form or its parameters are not constant.
bool Compose(const ir::Graph& graph, const ir::Node& node, ir::ValueId x, const ChannelAxis& axis,
             ChannelAffine& affine);

/// A constant whose rows of `inner` elements belong to channel `channel(row)`, times the channels'
/// scales. Large ones are computed whenever they are read and need no memory; splats stay splats
/// where all scales agree. Nothing where an element would not be finite, or memory is short.
std::optional<Constant> ScaleRows(const Constant& constant, int64_t inner,
                                  const std::function<int64_t(int64_t)>& channel,
                                  const std::vector<double>& scale);

}  // namespace fettle::passes
