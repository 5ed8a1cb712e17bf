#include "kernels/opencl/move/torn_channels.h"

#include <algorithm>

#include "kernels/move/move_plan.h"
#include "kernels/opencl/move/join_axes.h"
#include "kernels/opencl/states.h"

namespace fettle::kernels {
namespace {

/// Tensors that one launch reads.
constexpr size_t kMostSources = 16;

int64_t PlaneElements(const Shape& shape) { return shape.Count(2, shape.rank()); }

/// Floats in pixels that all have the same rank, batch and plane: an operand of another rank than
/// the first output's is row-major beside its pixels.
Status CheckOperands(const ir::Graph& group) {
  const Shape& first = *group.value(group.outputs[0]).shape;
  for (const auto* ids : {&group.outputs, &group.inputs}) {
    for (const ir::ValueId id : *ids) {
      const ir::Value& value = group.value(id);
      if (!IsFloatValue(value.dtype) || !HasVolumeRank(*value.shape))
        return Unsupported("not floats of rank 3 to 5");
      if (value.shape->rank() != first.rank())
        return Unsupported("another rank than the first output's");
      if (value.shape->elements() == 0 || (*value.shape)[0] != first[0] ||
          PlaneElements(*value.shape) != PlaneElements(first))
        return Unsupported("other planes than the first output's");
    }
  }
  return OkStatus();
}

/// Whether copies of pixels, as they lie in buffers, are few.
bool MovesWholePixels(const ir::Graph& group) {
  StateAssignment pixels;
  const Layout layout = *LayoutFromName("NCHW4c", 4);
  pixels.inputs.assign(group.inputs.size(), {.layout = layout});
  pixels.outputs.assign(group.outputs.size(), {.layout = layout});
  const Result<std::vector<Piece>> pieces = PlanMoves(MoveContext(group, pixels));
  return pieces.ok() && pieces->size() <= 2 * group.outputs.size();
}

/// The channels that a piece of row-major tensors moves, once for the whole batch.
class PieceChannels {
 public:
  PieceChannels(const Piece& piece, const Shape& x, const Shape& y)
      : axes_(JoinAxes(piece.axes)), plane_(PlaneElements(y)) {
    from_ = piece.src_offset;
    to_ = piece.dst_offset;
    if (y[0] == 1) return;
    is_whole_ = !axes_.empty() && axes_[0].extent == y[0] && axes_[0].src_stride == x[1] * plane_ &&
                axes_[0].dst_stride == y[1] * plane_;
    if (is_whole_) axes_.erase(axes_.begin());
  }

  /// Writes them to `channels`; false where a part of a channel moves, or channels turn.
  bool Write(int input, std::vector<ChannelSource>& channels) {
    if (!is_whole_ || from_ % plane_ != 0 || to_ % plane_ != 0) return false;
    int64_t run = 1;  // channels that follow each other on both sides
    if (!axes_.empty() && axes_.back().src_stride == 1 && axes_.back().dst_stride == 1) {
      if (axes_.back().extent % plane_ != 0) return false;
      run = axes_.back().extent / plane_;
      axes_.pop_back();
    } else if (plane_ != 1) {
      return false;
    }
    if (axes_.size() > 1) return false;
    const CopyAxis runs = axes_.empty() ? CopyAxis{1, 0, 0} : axes_[0];
    if (runs.src_stride % plane_ != 0 || runs.dst_stride % plane_ != 0) return false;
    for (int64_t i = 0; i < runs.extent; ++i) {
      const int64_t from = (from_ + i * runs.src_stride) / plane_;
      const int64_t to = (to_ + i * runs.dst_stride) / plane_;
      for (int64_t c = 0; c < run; ++c) channels[to + c] = {input, static_cast<int>(from + c)};
    }
    return true;
  }

 private:
  std::vector<CopyAxis> axes_;
  int64_t plane_, from_ = 0, to_ = 0;
  bool is_whole_ = true;
};

}  // namespace

std::vector<int> InputsOf(const std::vector<ChannelSource>& channels) {
  std::vector<int> inputs;
  for (const ChannelSource& from : channels) {
    if (from.input >= 0 && std::find(inputs.begin(), inputs.end(), from.input) == inputs.end())
      inputs.push_back(from.input);
  }
  return inputs;
}

Result<std::vector<std::vector<ChannelSource>>> ReadTornChannels(const ir::Graph& group) {
  if (group.nodes().size() != 1 || group.inputs.empty() || group.outputs.empty())
    return Unsupported("moves of elements only, one at a time");
  RETURN_IF_ERROR(CheckOperands(group));
  const MoveContext context(group, RowMajorStates(group));
  ASSIGN_OR_RETURN(const std::vector<Piece> pieces, PlanMoves(context));
  std::vector<std::vector<ChannelSource>> outputs;
  for (const ir::ValueId id : group.outputs) outputs.emplace_back((*group.value(id).shape)[1]);
  for (const Piece& piece : pieces) {
    if (piece.source == kZeroSource) continue;
    const MoveOperand& x = context.input(piece.source);
    const MoveOperand& y = context.output(piece.output);
    if (x.index < 0) return Unsupported("a constant is among what is moved");
    if (y.index < 0) continue;
    if (!PieceChannels(piece, x.shape, y.shape).Write(x.index, outputs[y.index]))
      return Unsupported("moves other elements than whole channels");
  }
  for (const auto& channels : outputs) {
    const size_t sources = InputsOf(channels).size();
    if (sources == 0 || sources > kMostSources)
      return Unsupported("{} operands: expected 1 to {}", sources, kMostSources);
  }
  if (MovesWholePixels(group)) return Unsupported("it moves whole pixels");
  return outputs;
}

}  // namespace fettle::kernels
