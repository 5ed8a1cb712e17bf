// A group that is a product of bytes: its operands, states, and how it is cut into tasks.
#pragma once

#include <vector>

#include "kernels/cpu/quantised/gemm_kernel.h"

namespace fettle::kernels {

/// Longest sum of products that i32 holds, whatever the bytes: 2^31 / (255 * 255), rounded down.
inline constexpr int64_t kMaxQuantDepth = 33000;

struct QuantBytes {
  QuantisedGroup q;
  QuantShapes shapes;
  bool signed_bytes = false;  // weights less their zero points are bytes with a sign

  bool is_conv() const { return q.core->op == "Conv"_op || q.core->op == "ConvInteger"_op; }
};

/// kUnsupported, with the reason, where the group is no product of bytes, is empty, or has sums
/// that may not fit in i32.
Result<QuantBytes> ReadQuantBytes(const ir::Graph& group);

/// The micro-kernels of vectors for its columns.
const QuantKernels* KernelsFor(const QuantBytes& bytes, const Device& device);

/// What makes results of floats; nothing where they are bytes, or sums with a shortcut's.
Result<std::optional<elementwise::Program>> CompileResults(const ir::Graph& group,
                                                           const QuantisedGroup& q,
                                                           const StateAssignment& states);

/// Channels-last pixels of a convolution, rows of a product.
Result<StateAssignment> UsualQuantStates(const ir::Graph& group, const QuantBytes& bytes);

/// The pixels of a convolution; rows of a product are pixels too.
Result<ConvPixels> ReadQuantPixels(const Problem& problem, const QuantBytes& bytes);

/// What a problem is cut by.
struct QuantCut {
  int mr;
  int64_t max_tiles, all_panels;
  Blocking usual;
};

/// Micro-kernels as far as they matter for it: the tile, and bytes of depth that they read at once.
struct QuantTileSize {
  int mr, nr;
  int64_t step_bytes;
};

/// Tasks have at most `most_rows` rows, and at least those of a tile.
QuantCut CutBy(const QuantTileSize& tile, const ConvGeometry& g, int64_t depth, int64_t most_rows,
               int threads, const CpuDevice& device);
/// For micro-kernels of vectors.
QuantCut CutForVectors(const Problem& problem, const QuantBytes& bytes, const QuantKernels& kernels,
                       const Device& device);

/// Elements of a row of one group.
int64_t DepthOf(const ConvGeometry& g, const TapPlan& taps);

/// Sums stay in registers: depth is not cut.
ParamSpace SpaceOf(const QuantCut& cut);

/// The product to be made ready. `kernels`: of vectors; null where it is for matrix tiles.
Result<QuantProduct> ReadQuantProduct(const Problem& problem, const QuantBytes& bytes,
                                      const QuantKernels* kernels, const QuantCut& cut,
                                      const Params& params);

}  // namespace fettle::kernels
