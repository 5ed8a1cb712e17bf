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

/// How far apart `piece` puts rows of `row` elements that lie one behind the other in its source,
/// of `elements`: 0 where they stay so; nothing where it tears them up, or copies a part alone.
std::optional<int64_t> PitchOf(const Piece& piece, int64_t row, int64_t elements) {
  std::vector<CopyAxis> axes;
  for (const CopyAxis& axis : piece.axes) {
    if (axis.extent > 1) axes.push_back(axis);
  }
  std::sort(axes.begin(), axes.end(),
            [](const CopyAxis& a, const CopyAxis& b) { return a.src_stride < b.src_stride; });
  int64_t src = 1, dst = 1, pitch = 0;
  for (const CopyAxis& axis : axes) {
    if (axis.src_stride != src) return std::nullopt;
    if (axis.dst_stride != dst) {
      if (pitch != 0 || src != row || axis.dst_stride < dst) return std::nullopt;
      pitch = axis.dst_stride;
    }
    src = axis.src_stride * axis.extent;
    dst = axis.dst_stride * axis.extent;
  }
  return src == elements ? std::optional(pitch) : std::nullopt;
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

bool IsView(const Problem& problem, const std::vector<Piece>& pieces) {
  const MoveContext context(*problem.group, problem.states);
  return IsAllViews(*problem.group, FindViews(context, problem.states, pieces));
}

std::vector<Window> FindWindows(const MoveContext& context, const StateAssignment& states,
                                const std::vector<Piece>& pieces) {
  std::vector<Window> windows;
  if (!FindViews(context, states, pieces).empty()) return windows;  // the other way round
  for (const Piece& piece : pieces) {
    if (piece.source == kZeroSource || piece.src_offset != 0) continue;
    const MoveOperand& source = context.input(piece.source);
    // Operands may be one input.
    const auto readers = std::count_if(pieces.begin(), pieces.end(), [&](const Piece& other) {
      return other.source != kZeroSource && context.input(other.source).index == source.index;
    });
    if (readers != 1 || source.index < 0 || states.inputs[source.index].external ||
        piece.output != 0)
      continue;
    const int64_t byte_offset = StorageBytes(states.outputs[0].storage, piece.dst_offset);
    const std::vector<int64_t> extents = ToPhysical(source.shape, source.layout).extent;
    const int64_t row = extents.empty() ? 1 : extents.back();
    const std::optional<int64_t> pitch =
        PitchOf(piece, row, PhysicalElements(source.shape, source.layout));
    if (pitch && byte_offset % static_cast<int64_t>(kTensorAlignment) == 0)
      windows.push_back({source.index, byte_offset, {row, *pitch}});
  }
  return windows;
}

}  // namespace fettle::kernels
