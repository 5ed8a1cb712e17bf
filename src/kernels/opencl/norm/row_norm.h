// LayerNormalization or RMSNormalization of the rows that a product or element-wise operators make,
// behind them in the same launch (gemm/normed_rows.clh, norm/chained.cl).
#pragma once

#include <memory>
#include <vector>

#include "kernels/kernel.h"
#include "kernels/opencl/launch.h"

namespace fettle::kernels {

/// What normalises rows by constants.
struct RowNorm {
  std::vector<PackRequest> packs;  // scale, bias where there is one
  float epsilon = 0;
  bool takes_mean = true;
  /// Of the tickets that the launch draws.
  int64_t first_ticket = 0;
};

/// A group that ends in a normalisation.
struct NormedGroup {
  /// Without that and the views before it: values have the same ids, the output is what is
  /// normalised.
  std::shared_ptr<const ir::Graph> rows;
  RowNorm norm;
  int64_t length = 0;  // of a row
};

/// Reads nodes of `group` from its last one on. Its outputs are the normalised rows, and before
/// them what is normalised, or a view of it, where others read that. Fails with kUnsupported and
/// the reason.
Result<NormedGroup> ReadNormedGroup(const ir::Graph& group);

}  // namespace fettle::kernels
