// Operands of BlockMatMul as OpenCL kernels take them (block_product/units.clh).
#pragma once

#include <vector>

#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"
#include "ops/quantise/block_product.h"

namespace fettle::kernels {

struct BlockFacts {
  ops::BlockProduct p;
  int bits = 4;
  bool halves = false;  // scales and minima
  size_t scales = 2;    // of the node's inputs; minima are the one behind

  /// Codes that are read in one piece.
  int64_t unit() const { return bits == 4 ? p.block : 16; }
  int64_t units() const { return p.k / unit(); }
  int64_t unit_bytes() const { return unit() * bits / 8; }
  int64_t pair_bytes() const { return halves ? 4 : 8; }
};

/// A BlockMatMul of constant weights and what Expression finishes; kUnsupported with the reason.
Result<BlockFacts> ReadBlockFacts(const ir::Graph& group);
/// The same of one of several nodes, whose results are the group's.
Result<BlockFacts> ReadBlockNode(const ir::Graph& group, const ir::Node& node);
/// Floats, row-major.
Result<std::vector<StateAssignment>> BlockStates(const ir::Graph& group, const BlockFacts& facts,
                                                 const Device& device);
Work BlockWork(const BlockFacts& facts);
Work BlockWork(const Problem& problem, const BlockFacts& facts, const Params& params,
               const Device& device);

/// What units.clh and access.clh ask for.
BuildOptions BlockOptions(const BlockFacts& facts, const Device& device);

/// Codes, and pairs of scales and minima.
void AddBlockPacks(const ir::Node& node, const BlockFacts& facts, std::vector<PackRequest>& packs);

/// A kernel with the weights as its packs and the expression of the group, and a launch that rounds
/// the rows to its workspace where `rounds`.
Result<std::unique_ptr<RecordedKernel>> StartBlockProduct(const Problem& problem,
                                                          const BlockFacts& facts,
                                                          const Device& device, bool rounds);
/// Adds rows that are rounded in the workspace to a launch: LOW, HIGH and steps.
void AddRoundedRows(const BlockFacts& facts, RecordedLaunch& launch);

}  // namespace fettle::kernels
