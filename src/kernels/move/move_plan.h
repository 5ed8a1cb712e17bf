// What operators that only move elements come down to: strided copies from operands to outputs.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "kernels/kernel.h"
#include "kernels/move/copy_axis.h"

namespace fettle::kernels {

/// How far apart neighbours along an axis lie: `count` elements of memory, or, where the layout
/// cuts the axis into blocks, `count` indices of that axis.
struct Step {
  int64_t count = 0;
  int blocked_axis = -1;
  bool is_blocked() const { return blocked_axis >= 0; }
};
inline Step operator*(Step step, int64_t n) { return {step.count * n, step.blocked_axis}; }
inline Step operator*(int64_t n, Step step) { return step * n; }

/// Where an element lies: steps from the first element of its tensor.
class Place {
 public:
  Place() = default;
  Place(Step step) { *this += step; }  // NOLINT: a step from the first element is a place
  Place& operator+=(Step step);
  /// Elements, along the axes that are not blocked.
  int64_t elements() const { return elements_; }
  /// The index along a blocked axis.
  int64_t Index(int axis) const;

 private:
  int64_t elements_ = 0;
  std::vector<int64_t> indices_;  // by axis
};

/// A tensor in the layout that it has.
struct MoveOperand {
  MoveOperand() = default;
  MoveOperand(Shape of, Layout in);

  Shape shape;
  Layout layout;
  std::vector<Step> strides;  // per logical axis
  ir::ValueId id = ir::kAbsent;
  int index = -1;  // in group->inputs or group->outputs; -1: a constant, packed row-major
  const Constant* constant = nullptr;
};

/// The source of elements that come from nowhere: zero.
inline constexpr int kZeroSource = -1;

/// One loop of a move.
struct MoveAxis {
  int64_t extent;
  Step src_stride;
  Step dst_stride;
};

/// What an operator does to elements: nested loops over places of both sides, in any layout.
struct Move {
  int source = 0;  // operand of the node, or kZeroSource
  int output = 0;
  Place src_offset;
  Place dst_offset;
  std::vector<MoveAxis> axes;
};

/// One strided copy. Offsets and strides in elements.
struct Piece {
  int source = 0;  // as in Move
  int output = 0;
  int64_t src_offset = 0;
  int64_t dst_offset = 0;
  std::vector<CopyAxis> axes;
};

/// The strided copies that a move between these operands comes down to: one where no blocked axis
/// is cut elsewhere than between its blocks. Fails with kUnsupported where they are very many.
Result<std::vector<Piece>> CutMove(const Move& move, const MoveOperand& src,
                                   const MoveOperand& dst);

/// Zeroes the pad lanes of an output.
std::vector<Piece> PadPieces(int output, const MoveOperand& operand);

/// A single node with its operands under one assignment of states.
class MoveContext {
 public:
  MoveContext(const ir::Graph& group, const StateAssignment& states);

  const ir::Node& node() const { return *node_; }
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  /// Absent operands have the id kAbsent.
  const MoveOperand& input(int i) const { return inputs_[i]; }
  const MoveOperand& output(int i) const { return outputs_[i]; }
  bool has_input(int i) const { return i < num_inputs() && input(i).id != ir::kAbsent; }
  /// The integers of constant operand `i`; empty where it is absent. Fails with kUnsupported where
  /// they are only known at run time.
  Result<std::vector<int64_t>> Ints(int i) const;

 private:
  const ir::Node* node_ = nullptr;
  std::vector<MoveOperand> inputs_, outputs_;
};

/// Whether nodes of `op` move elements and do no more, as far as the operator tells.
bool MovesElements(ir::OpRef op);
/// What the node does to elements. Fails with kUnsupported where that is more than moving them, or
/// depends on what is only known at run time.
Result<std::vector<Move>> ListMoves(const MoveContext& context);

/// The copies that compute the node: they write each output element once, and zeros to pad lanes.
/// Fails with kUnsupported where the operator, or these states, are no set of strided copies.
Result<std::vector<Piece>> PlanMoves(const MoveContext& context);

/// How one operator family is planned (plan_*.cc).
struct MovePlanner {
  std::string_view op;
  Result<std::vector<Move>> (*plan)(const MoveContext&);
  /// Elements change their axis: one layout is as good as another on the other side.
  bool trades_axes = false;
};
// keep-sorted start
std::span<const MovePlanner> JoinPlanners();
std::span<const MovePlanner> PadPlanners();
std::span<const MovePlanner> RepeatPlanners();
std::span<const MovePlanner> ReshapePlanners();
std::span<const MovePlanner> ShufflePlanners();
// keep-sorted end

/// Whether the operator's elements change their axis.
bool TradesAxes(const ir::Node& node);

/// Whether input `i` holds elements to move; the others are read at shape time.
bool IsMoved(const ir::Node& node, size_t i);

}  // namespace fettle::kernels
