#include "kernels/move/views.h"

#include <algorithm>
#include <optional>

namespace fettle::kernels {
namespace {

/// The window of an input that the output of `piece` is, if the copy moves nothing.
std::optional<Alias> FindView(const MoveContext& context, const StateAssignment& states,
                              const Piece& piece) {
  if (piece.source == kZeroSource || piece.dst_offset != 0) return std::nullopt;
  const MoveOperand& source = context.input(piece.source);
  if (source.index < 0) return std::nullopt;
  const State& state = states.inputs[source.index];
  const int64_t byte_offset = StorageBytes(state.storage, piece.src_offset);
  if (state.external || byte_offset % static_cast<int64_t>(kTensorAlignment) != 0)
    return std::nullopt;
  for (const CopyAxis& axis : piece.axes) {
    if (axis.extent == 0 || (axis.extent > 1 && axis.src_stride != axis.dst_stride))
      return std::nullopt;
  }
  return Alias{context.output(piece.output).index, source.index, byte_offset, true};
}

}  // namespace

std::vector<Alias> FindViews(const MoveContext& context, const StateAssignment& states,
                             const std::vector<Piece>& pieces) {
  std::vector<Alias> views;
  for (const Piece& piece : pieces) {
    const auto writers = std::count_if(pieces.begin(), pieces.end(), [&](const Piece& other) {
      return other.output == piece.output;
    });
    if (writers != 1) continue;
    if (const auto view = FindView(context, states, piece)) views.push_back(*view);
  }
  return views;
}

}  // namespace fettle::kernels
