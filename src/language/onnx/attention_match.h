// What has to be computed to know that nodes are attention over caches that grow.
#pragma once

#include "language/onnx/growing_attention.h"
#include "language/onnx/seen_window.h"
#include "ops/attention/op.h"

namespace fettle::language {

struct AttentionMatch {
  GrowingAttention attention;
  ir::NodeId node = -1;  // Attention or GroupQueryAttention; -1: products and a softmax
  // All keys and values as `node` or the products read them, where they were joined before.
  ir::ValueId read_keys = ir::kAbsent, read_values = ir::kAbsent;
  ir::ValueId key_present = ir::kAbsent, value_present = ir::kAbsent;
  // Of products: sums of queries by keys, and the softmax's operand.
  ir::ValueId sums = ir::kAbsent, weighed = ir::kAbsent;
  DType score_type = DType::kUndefined;
  double score_scale = 1;          // from one to the other
  std::vector<ir::ValueId> masks;  // that stand between, or the node's
};

/// Sizes of a node Attention; nothing where they do not fit.
std::optional<ops::AttentionShape> ReadAttentionOf(const LengthProbe& probe, const ir::Node& node);

/// Whether what is read are the caches, repeated, moved and scaled, and types and shapes are those
/// that GroupQueryAttention takes. Completes the scale.
bool ReadsCaches(std::span<const LengthProbe> probes, const OnnxForm& form, const ir::Graph& graph,
                 AttentionMatch& match);
/// What SeesWindow looks at.
void AddParts(const ir::Graph& graph, const AttentionMatch& match, ProbedParts& parts);
/// Whether queries see the keys of one window, and nothing else is done to their scores.
bool SeesWindow(const LengthProbe& probe, const ir::Graph& graph, const AttentionMatch& match,
                SeenWindow& window);

}  // namespace fettle::language
