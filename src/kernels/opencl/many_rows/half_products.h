// Products of many rows by matrix instructions of f16 whose sums are those of f32: operands are two
// halves each, or one where that holds them exactly (many_rows/product.cl).
#pragma once

#include "kernels/opencl/gemm/warp_tile.h"
#include "kernels/opencl/recorded.h"

namespace fettle::kernels {

/// Rows [m, k] times weights [n, k], which are one half each or, cut, two.
struct HalfProduct {
  int64_t m = 0, n = 0, k = 0;
  bool cuts_weights = false;

  int64_t weight_parts() const { return cuts_weights ? 2 : 1; }
};

/// kUnsupported, with the reason, where no tile of the device takes the product.
Status CheckHalfProduct(const HalfProduct& product, const OpenClFacts& facts);

/// A taste above those of kernels that multiply few rows, where there are many.
int HalfProductTaste(const HalfProduct& product, const OpenClFacts& facts);

ParamSpace HalfProductSpace(const HalfProduct& product, const OpenClFacts& facts);

/// What such a kernel has in its workspace: from 0 on the rows' halves, their factors, weights and
/// factors where they are cut, and parts of tiles that several work-groups share.
struct HalfWorkspace {
  HalfWorkspace(const HalfProduct& product, const WarpTile& tile, const OpenClFacts& facts);
  int64_t row_factors = 0, weights = 0, weight_factors = 0, shared = 0, bytes = 0;
};

/// Sizes of a launch whose work-groups make a row each (halves.clh).
WorkSizes HalvingSizes(int64_t rows);

/// Adds the launch of the product itself to `made`, whose expression is compiled. `packed`: the
/// pack that weights are where they are not cut.
Status AddHalfProduct(const HalfProduct& product, const WarpTile& tile, const OpenClDevice& device,
                      size_t packed, RecordedKernel& made);

Work HalfProductWork(const HalfProduct& product, double weight_bytes);

}  // namespace fettle::kernels
