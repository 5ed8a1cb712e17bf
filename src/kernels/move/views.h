// Which outputs of a move are windows of inputs, where the bytes already lie as wanted.
#pragma once

#include <vector>

#include "kernels/join_windows.h"
#include "kernels/move/move_plan.h"

namespace fettle::kernels {

/// The views among `pieces`, all copies that the node is in these states: outputs that one piece
/// alone writes, to where it reads them, at a place where planned tensors may begin.
std::vector<Alias> FindViews(const MoveContext& context, const StateAssignment& states,
                             const std::vector<Piece>& pieces);

/// Whether the whole move is views: there is nothing to do.
bool IsView(const Problem& problem, const std::vector<Piece>& pieces);

/// The inputs that one piece alone copies, to output 0, and in whole pixels: what writes the input
/// may write them there.
std::vector<Window> FindWindows(const MoveContext& context, const StateAssignment& states,
                                const std::vector<Piece>& pieces);

}  // namespace fettle::kernels
