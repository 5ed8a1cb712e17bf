// Queries and keys of one row that the kernel turns which attends (RotaryEmbedding).
#pragma once

#include "kernels/opencl/attention/cache.h"
#include "ops/attention/op.h"

namespace fettle::kernels {

/// The node that attends, and RotaryEmbedding of its queries and keys before it.
struct TurnFacts {
  ir::NodeId queries = -1, keys = -1;
  ops::RotaryShape shape;  // of queries
  Shape cosines;
};

/// Of a group of three nodes: both are turned alike, by constants, from one first position on.
/// kUnsupported with the reason.
Result<TurnFacts> ReadTurn(const ir::Graph& group, const CacheFacts& facts);

/// What cached.cl asks for.
void DefineTurn(const TurnFacts& facts, BuildOptions& options);

/// The launch that turns new keys before they are stored, and what cached.cl takes of the turn.
class TurnLaunch {
 public:
  /// Adds cosines and sines to `packs`.
  Status Build(const ir::Graph& group, const TurnFacts& facts, const OpenClDevice& device,
               std::vector<PackRequest>& packs);
  /// Which input of the group is turned and then the input `i` (0 queries, 1 keys) of the node.
  size_t input(size_t i) const { return inputs_[i]; }
  int64_t key_bytes() const { return rows_ * heads_ * facts_.shape.size * 4; }
  Status TurnKeys(const LaunchArgs& args, const Location& to) const;
  /// Cosines, sines and the first position.
  void AddTables(const LaunchArgs& args, ArgList& list) const;

 private:
  TurnFacts facts_;
  size_t inputs_[2] = {}, first_ = 0, first_pack_ = 0;
  int64_t rows_ = 0, heads_ = 0;
  std::shared_ptr<OpenClKernel> rotary_;
};

}  // namespace fettle::kernels
