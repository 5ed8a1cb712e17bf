// What operators that only move elements come down to: strided copies from operands to outputs.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "kernels/cpu/move/strided_copy.h"
#include "kernels/kernel.h"

namespace fettle::kernels {

/// An operand of the node and how its elements lie in the state that it has.
struct MoveOperand {
  ir::ValueId id = ir::kAbsent;
  int index = -1;  // in group->inputs or group->outputs; -1: a constant, packed row-major
  Shape shape;
  Dims strides;  // elements, per logical axis
  const Constant* constant = nullptr;
};

/// The source of elements that come from nowhere: zero.
inline constexpr int kZeroSource = -1;

/// One strided copy. Offsets and strides in elements.
struct Move {
  int source = 0;  // operand of the node, or kZeroSource
  int output = 0;
  int64_t src_offset = 0;
  int64_t dst_offset = 0;
  std::vector<CopyAxis> axes;
};

/// A single node with its operands under one assignment of states.
class MoveContext {
 public:
  /// Fails with kUnsupported where a layout has no strides.
  static Result<MoveContext> Make(const ir::Graph& group, const StateAssignment& states);

  const ir::Node& node() const { return *node_; }
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  /// Absent operands have the id kAbsent.
  const MoveOperand& input(int i) const { return inputs_[static_cast<size_t>(i)]; }
  const MoveOperand& output(int i) const { return outputs_[static_cast<size_t>(i)]; }
  bool has_input(int i) const { return i < num_inputs() && input(i).id != ir::kAbsent; }
  /// The integers of constant operand `i`; empty where it is absent. Fails with kUnsupported where
  /// they are only known at run time.
  Result<std::vector<int64_t>> Ints(int i) const;

 private:
  const ir::Node* node_ = nullptr;
  std::vector<MoveOperand> inputs_, outputs_;
};

/// The copies that compute the node: they write each output element once. Fails with kUnsupported
/// where the operator, or these states, are no set of strided copies.
Result<std::vector<Move>> PlanMoves(const MoveContext& context);

/// How one operator family is planned (plan_*.cc).
struct MovePlanner {
  std::string_view op;
  Result<std::vector<Move>> (*plan)(const MoveContext&);
};
// keep-sorted start
std::span<const MovePlanner> JoinPlanners();
std::span<const MovePlanner> PadPlanners();
std::span<const MovePlanner> RepeatPlanners();
std::span<const MovePlanner> ReshapePlanners();
std::span<const MovePlanner> ShufflePlanners();
// keep-sorted end

/// Whether input `i` holds elements to move; the others are read at shape time.
bool IsMoved(const ir::Node& node, size_t i);

}  // namespace fettle::kernels
