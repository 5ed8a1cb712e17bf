// From moves over logical axes to strided copies: loops along blocked axes are tabulated and found
// again as loops over memory.
#include <algorithm>
#include <optional>

#include "kernels/move/index_runs.h"
#include "kernels/move/move_plan.h"
#include "kernels/move/pad_boxes.h"

namespace fettle::kernels {
namespace {

/// Copies of one move; more are no gain over a conversion before it.
constexpr size_t kMaxPieces = 64;
/// Entries of one table: channels of any network.
constexpr int64_t kMaxTable = 1 << 16;

/// One side of a move: where places lie in memory.
class Side {
 public:
  Side(const MoveOperand& operand, const Place& begin) : begin_(begin) {
    if (operand.layout.blocks.empty()) return;
    map_.emplace(operand.shape, operand.layout);
    for (int axis = 0; axis < operand.shape.rank(); ++axis) {
      if (operand.layout.BlockOf(axis) != 1) blocked_axes_.push_back(axis);
    }
  }

  const std::vector<int>& blocked_axes() const { return blocked_axes_; }
  int64_t elements() const { return begin_.elements(); }
  /// The offset that index begin + `index` of a blocked axis contributes.
  int64_t Offset(int axis, int64_t index) const {
    return map_->AxisOffset(axis, begin_.Index(axis) + index);
  }

 private:
  const Place& begin_;
  std::optional<OffsetMap> map_;
  std::vector<int> blocked_axes_;
};

/// Loops that share a blocked axis on either side: their offsets only make sense together.
struct Cluster {
  std::vector<MoveAxis> loops;
  std::vector<int> src_axes, dst_axes;  // the blocked ones

  bool Touches(const MoveAxis& loop) const {
    const auto has = [](const std::vector<int>& axes, const Step& step) {
      return step.is_blocked() &&
             std::find(axes.begin(), axes.end(), step.blocked_axis) != axes.end();
    };
    return has(src_axes, loop.src_stride) || has(dst_axes, loop.dst_stride);
  }
  void Add(const MoveAxis& loop) {
    loops.push_back(loop);
    if (loop.src_stride.is_blocked()) src_axes.push_back(loop.src_stride.blocked_axis);
    if (loop.dst_stride.is_blocked()) dst_axes.push_back(loop.dst_stride.blocked_axis);
  }
  void Absorb(const Cluster& other) {
    for (const MoveAxis& loop : other.loops) Add(loop);
  }
};

/// Puts a loop along a blocked axis into the cluster that it belongs to.
void AddLoop(const MoveAxis& loop, std::vector<Cluster>& clusters) {
  Cluster joined;
  joined.Add(loop);
  std::erase_if(clusters, [&](const Cluster& cluster) {
    const bool belongs = cluster.Touches(loop);
    if (belongs) joined.Absorb(cluster);
    return belongs;
  });
  clusters.push_back(std::move(joined));
}

/// The offset on one side of coordinate `at` of a cluster's loops.
int64_t OffsetAt(const Side& side, const std::vector<MoveAxis>& loops,
                 const std::vector<int64_t>& at, Step MoveAxis::*stride) {
  int64_t offset = 0;
  for (size_t i = 0; i < loops.size(); ++i) {
    const Step& step = loops[i].*stride;
    if (!step.is_blocked()) offset += at[i] * step.count;
  }
  for (int axis : side.blocked_axes()) {
    int64_t index = 0;
    bool is_used = false;
    for (size_t i = 0; i < loops.size(); ++i) {
      const Step& step = loops[i].*stride;
      if (step.blocked_axis != axis) continue;
      index += at[i] * step.count;
      is_used = true;
    }
    if (is_used) offset += side.Offset(axis, index);
  }
  return offset;
}

/// All offsets of a cluster in the order of the destination, as loops.
Result<std::vector<LoopNest>> Tabulate(const Cluster& cluster, const Side& src, const Side& dst) {
  int64_t entries = 1;
  for (const MoveAxis& loop : cluster.loops) {
    entries *= loop.extent;
    if (entries > kMaxTable) return Unsupported("more than {} blocked indices", kMaxTable);
  }
  std::vector<OffsetPair> table;
  std::vector<int64_t> at(cluster.loops.size());
  for (int64_t entry = 0; entry < entries; ++entry) {
    int64_t rest = entry;
    for (size_t i = at.size(); i-- > 0; rest /= cluster.loops[i].extent)
      at[i] = rest % cluster.loops[i].extent;
    table.push_back({OffsetAt(src, cluster.loops, at, &MoveAxis::src_stride),
                     OffsetAt(dst, cluster.loops, at, &MoveAxis::dst_stride)});
  }
  std::sort(table.begin(), table.end(),
            [](const OffsetPair& a, const OffsetPair& b) { return a.dst < b.dst; });
  return FindLoops(table);
}

/// What the blocked axes that no loop runs along contribute.
int64_t FixedOffset(const Side& side, const std::vector<MoveAxis>& loops, Step MoveAxis::*stride) {
  int64_t offset = side.elements();
  for (int axis : side.blocked_axes()) {
    const bool is_looped = std::any_of(loops.begin(), loops.end(), [&](const MoveAxis& loop) {
      return (loop.*stride).blocked_axis == axis;
    });
    if (!is_looped) offset += side.Offset(axis, 0);
  }
  return offset;
}

/// Every piece with every nest of loops.
Result<std::vector<Piece>> Multiply(const std::vector<Piece>& pieces,
                                    const std::vector<LoopNest>& nests) {
  if (pieces.size() * nests.size() > kMaxPieces)
    return Unsupported("the blocks are cut into more than {} pieces", kMaxPieces);
  std::vector<Piece> product;
  for (const Piece& piece : pieces) {
    for (const LoopNest& nest : nests) {
      product.push_back(piece);
      product.back().src_offset += nest.src;
      product.back().dst_offset += nest.dst;
      product.back().axes.insert(product.back().axes.end(), nest.axes.begin(), nest.axes.end());
    }
  }
  return product;
}

}  // namespace

Place& Place::operator+=(Step step) {
  if (!step.is_blocked()) {
    elements_ += step.count;
    return *this;
  }
  const size_t axis = step.blocked_axis;
  if (indices_.size() <= axis) indices_.resize(axis + 1);
  indices_[axis] += step.count;
  return *this;
}

int64_t Place::Index(int axis) const {
  const size_t at = axis;
  return at < indices_.size() ? indices_[at] : 0;
}

Result<std::vector<Piece>> CutMove(const Move& move, const MoveOperand& src_operand,
                                   const MoveOperand& dst_operand) {
  for (const MoveAxis& axis : move.axes) {
    if (axis.extent == 0) return std::vector<Piece>{};
  }
  const Side src(src_operand, move.src_offset), dst(dst_operand, move.dst_offset);
  Piece whole{.source = move.source,
              .output = move.output,
              .src_offset = FixedOffset(src, move.axes, &MoveAxis::src_stride),
              .dst_offset = FixedOffset(dst, move.axes, &MoveAxis::dst_stride)};
  std::vector<Cluster> clusters;
  for (const MoveAxis& axis : move.axes) {
    if (axis.src_stride.is_blocked() || axis.dst_stride.is_blocked()) {
      AddLoop(axis, clusters);
    } else {
      whole.axes.push_back({axis.extent, axis.src_stride.count, axis.dst_stride.count});
    }
  }
  std::vector<Piece> pieces{std::move(whole)};
  for (const Cluster& cluster : clusters) {
    ASSIGN_OR_RETURN(const std::vector<LoopNest> nests, Tabulate(cluster, src, dst));
    ASSIGN_OR_RETURN(pieces, Multiply(pieces, nests));
  }
  for (const Piece& piece : pieces) {
    if (piece.axes.size() > kMaxCopyAxes)
      return Unsupported("more than {} axes are not moved by strides", kMaxCopyAxes);
  }
  return pieces;
}

std::vector<Piece> PadPieces(int output, const MoveOperand& operand) {
  std::vector<Piece> pieces;
  if (operand.shape.elements() == 0) return pieces;
  for (PadBox& box : FindPadLanes(operand.shape, operand.layout))
    pieces.push_back({kZeroSource, output, 0, box.offset, std::move(box.axes)});
  return pieces;
}

}  // namespace fettle::kernels
