// cpu.elementwise.typed: one element-wise operator on integers, bool or double, Where on any type,
// and Cast between these and float, in any layout: plain loops that the compiler vectorises.
#include <algorithm>

#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/elementwise/broadcast.h"
#include "kernels/cpu/elementwise/tile_copy.h"
#include "kernels/cpu/elementwise/typed_rows.h"
#include "kernels/cpu/elementwise/where_rows.h"
#include "kernels/cpu/layout/broadcast.h"
#include "kernels/cpu/layout/candidates.h"
#include "kernels/cpu/layout/pad_lanes.h"
#include "kernels/cpu/operands.h"
#include "kernels/family.h"

namespace fettle::kernels {
namespace {

using elementwise::BroadcastLoop;
using elementwise::FindCastRow;
using elementwise::FindNumericRow;
using elementwise::FindWhereRow;
using elementwise::TakesOnce;
using elementwise::TypedRow;

/// The loop, and whether another kernel computes such operators in vectors of its own.
struct Facts {
  TypedRow function = nullptr;
  bool is_float = false;
  bool takes_once = false;  // bits of `once`
};

std::string_view LoopOf(const ir::Node& node) {
  if (node.op == "BitShift"_op)
    return node.attributes.Text("direction", "") == "LEFT" ? "ShiftLeft" : "ShiftRight";
  return node.op == "Mod"_op && node.attributes.Int("fmod", 0) != 0 ? "FMod" : node.op.name();
}

Result<Facts> Read(const ir::Graph& group, const Device&) {
  if (group.nodes().size() != 1) return Unsupported("computes one operator only, alone");
  const ir::Node& node = group.nodes()[0];
  if (group.outputs.size() != 1 || node.inputs.empty() ||
      node.inputs.size() > elementwise::kMaxTypedOperands) {
    return Unsupported("not an operator of one to three operands");
  }
  for (ir::ValueId id : node.inputs) {
    if (id == ir::kAbsent) return Unsupported("an operand is left out");
  }
  const DType dtype = group.value(node.inputs[0]).dtype;
  TypedRow function = nullptr;
  bool takes_once = false;
  if (node.op == "Where"_op) {
    function = FindWhereRow(group.value(node.outputs[0]).dtype);
    takes_once = true;
  } else if (node.op == "Cast"_op) {
    function = FindCastRow(dtype, group.value(node.outputs[0]).dtype);
  } else {
    function = FindNumericRow(dtype, LoopOf(node));
    takes_once = TakesOnce(dtype, LoopOf(node));
    // These take other numbers of operands, too.
    const bool folds = node.op == "Max"_op || node.op == "Min"_op;
    const size_t of_loop = folds ? 2 : node.op == "Clip"_op ? 3 : node.inputs.size();
    if (node.inputs.size() != of_loop) function = nullptr;
    // As bounds of f32 for a Clip of f64.
    if (!std::ranges::all_of(node.inputs, [&](auto id) { return group.value(id).dtype == dtype; }))
      return Unsupported("operands have other types than {}", DTypeName(dtype));
  }
  if (function == nullptr)
    return Unsupported("{} of {} has no loop here", node.op, DTypeName(dtype));
  const DType result = group.value(node.outputs[0]).dtype;
  const bool reads_float = node.op == "Where"_op || IsFloat(dtype);
  return Facts{function, reads_float && IsFloat(result) && result != DType::kF64, takes_once};
}

struct Operand {
  int64_t bytes;  // of an element
  bool packed;
  size_t index;
  bool is_dense = false;  // within a tile
  bool is_once = false;   // the same element for all of a row, which need not be repeated
};

/// The operands of one task as rows without gaps: those that are none are copied, and kept while
/// the next tile of them is the same.
class TaskRows {
 public:
  static constexpr int64_t kBytes = 4096;

  TaskRows(const BroadcastLoop& loop, std::span<const Operand> operands)
      : loop_(loop), operands_(operands) {}

  /// `count` tiles of operand `k`, the first one at `from`.
  const std::byte* Of(size_t k, const std::byte* from, int64_t count) {
    const Operand& operand = operands_[k];
    const int64_t stride = loop_.stride(k), tile = loop_.tile();
    if (operand.is_once) return from;
    if (operand.is_dense && (stride == tile || count == 1)) return from;
    std::byte* row = rows_[k];
    if (stride == 0 && from == held_[k] && count <= tiles_[k]) return row;
    held_[k] = from;
    tiles_[k] = count;
    const int64_t tile_bytes = tile * operand.bytes;
    const auto copy = [&](const std::byte* x, std::byte* to) {
      elementwise::CopyTile(operand.bytes, loop_.tile_dims(), loop_.tile_strides(k), x, to);
    };
    if (tile == 1) {
      elementwise::CopyElements(operand.bytes, from, stride, count, row);
    } else if (stride == 0) {
      copy(from, row);
      elementwise::RepeatTile(row, tile_bytes, count);
    } else {
      for (int64_t t = 0; t < count; ++t)
        copy(from + t * stride * operand.bytes, row + t * tile_bytes);
    }
    return row;
  }

 private:
  const BroadcastLoop& loop_;
  std::span<const Operand> operands_;
  const std::byte* held_[elementwise::kMaxTypedOperands] = {};
  int64_t tiles_[elementwise::kMaxTypedOperands] = {};
  alignas(64) std::byte rows_[elementwise::kMaxTypedOperands][kBytes];
};

/// Elements of rows that are joined, at least.
constexpr int64_t kMostOfTile = 512;

class Typed final : public CpuKernel {
 public:
  Typed(const ir::Graph& group, const Facts& facts, BroadcastLoop loop, PadLanes pads)
      : function_(facts.function), loop_(std::move(loop)), pads_(std::move(pads)) {
    const ir::Node& node = group.nodes()[0];
    output_bytes_ = StorageBytes(group.value(node.outputs[0]).dtype, 1);
    int64_t widest = 1;
    for (ir::ValueId id : node.inputs) {
      const ir::Value& value = group.value(id);
      const auto at = std::find(group.inputs.begin(), group.inputs.end(), id);
      operands_.push_back(
          {StorageBytes(value.dtype, 1), value.is_constant(),
           value.is_constant() ? packs_.size() : static_cast<size_t>(at - group.inputs.begin())});
      widest = std::max(widest, operands_.back().bytes);
      if (!value.is_constant()) continue;
      packs_.push_back(PackedAsIs(group, id));
    }
    // One element for all of a row is repeated in less time than it is copied.
    bool has_rows = true;
    for (size_t i = 0; i < operands_.size(); ++i) has_rows = has_rows && loop_.stride(i) == 1;
    loop_.JoinTile(has_rows ? std::max(kMostOfTile, TaskRows::kBytes / 4 / widest) : kMostOfTile);
    bool all_dense = true;
    for (size_t i = 0; i < operands_.size(); ++i) {
      Operand& operand = operands_[i];
      operand.is_dense = IsDense(i);
      operand.is_once = facts.takes_once && loop_.tile() == 1 && loop_.stride(i) == 0;
      if (operand.is_once) once_ |= 1U << i;
      all_dense =
          all_dense && (operand.is_once || (operand.is_dense && loop_.stride(i) == loop_.tile()));
    }
    if (!all_dense) chunk_ = std::max<int64_t>(1, TaskRows::kBytes / widest / loop_.tile());
  }

  std::vector<PackRequest> packs() const override { return packs_; }

  Status Run(const CpuLaunch& args) const override {
    loop_.RunTasks(args.stream, [&] {
      return [this, &args, rows = TaskRows(loop_, operands_)](const int64_t* offsets, int64_t n,
                                                              int64_t at) mutable {
        RunRow(args, rows, offsets, n, args.outputs[0].host<std::byte>() + at * output_bytes_);
      };
    });
    pads_.Zero(args.stream, args.outputs[0].host<std::byte>());
    return OkStatus();
  }

 private:
  /// Whether the elements of a tile follow each other.
  bool IsDense(size_t operand) const {
    if (loop_.tile() == 1) return loop_.stride(operand) == 1;
    return elementwise::IsDenseTile(loop_.tile_dims(), loop_.tile_strides(operand));
  }

  void RunRow(const LaunchArgs& args, TaskRows& rows, const int64_t* offsets, int64_t n,
              std::byte* out) const {
    const int64_t tile = loop_.tile(), tiles = tile == 1 ? n : n / tile;
    const int64_t step = chunk_ == 0 ? tiles : chunk_;
    for (int64_t t = 0; t < tiles; t += step) {
      const int64_t count = std::min(step, tiles - t);
      const std::byte* now[elementwise::kMaxTypedOperands] = {};
      for (size_t k = 0; k < operands_.size(); ++k) {
        const Operand& operand = operands_[k];
        const Location& from =
            operand.packed ? args.packed[operand.index] : args.inputs[operand.index];
        now[k] = rows.Of(
            k, from.host<std::byte>() + (offsets[k] + t * loop_.stride(k)) * operand.bytes, count);
      }
      function_(now, out + t * tile * output_bytes_, count * tile, once_);
    }
  }

  TypedRow function_;
  BroadcastLoop loop_;
  PadLanes pads_;
  int64_t output_bytes_ = 0;
  unsigned once_ = 0;
  int64_t chunk_ = 0;  // tiles that are computed at once; 0: all of a row
  std::vector<Operand> operands_;
  std::vector<PackRequest> packs_;
};

Result<BroadcastLoop> MakeLoop(const ir::Graph& group, const StateAssignment& states) {
  const Shape& full = *group.value(group.outputs[0]).shape;
  const Layout& layout = states.outputs[0].layout;
  std::vector<std::vector<int64_t>> strides;
  for (ir::ValueId id : group.nodes()[0].inputs) {
    const auto at = std::find(group.inputs.begin(), group.inputs.end(), id) - group.inputs.begin();
    const bool is_bound = !group.value(id).is_constant();
    const Layout own = is_bound ? states.inputs[at].layout : Layout();
    ASSIGN_OR_RETURN(std::vector<int64_t> along,
                     BroadcastStrides(full, layout, *group.value(id).shape, own));
    strides.push_back(std::move(along));
  }
  return BroadcastLoop(ToPhysical(full, layout).extent, std::move(strides));
}

/// All operands that can be are in `layout`, the others row-major.
StateAssignment InLayout(const ir::Graph& group, const Layout& layout) {
  StateAssignment states = RowMajorStates(group);
  const Shape& full = *group.value(group.outputs[0]).shape;
  for (size_t i = 0; i < group.inputs.size(); ++i) {
    if (SharesLayout(*group.value(group.inputs[i]).shape, full, layout))
      states.inputs[i].layout = layout;
  }
  states.outputs[0].layout = layout;
  return states;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts&, const Device&) {
  const Shape& full = *group.value(group.outputs[0]).shape;
  std::vector<Layout> layouts = BlockedLayouts(full);
  layouts.insert(layouts.begin(), {Layout::RowMajor(), Layout::ChannelsLast(full.rank())});
  std::vector<StateAssignment> states;
  for (const Layout& layout : layouts) {
    StateAssignment next = InLayout(group, layout);
    const bool is_known = std::find(states.begin(), states.end(), next) != states.end();
    if (!is_known && MakeLoop(group, next).ok()) states.push_back(std::move(next));
  }
  return states;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Facts& facts,
                                                const Params&, const Device&) {
  const ir::Graph& group = *problem.group;
  ASSIGN_OR_RETURN(BroadcastLoop loop, MakeLoop(group, problem.states));
  const State& state = problem.states.outputs[0];
  PadLanes pads(problem.shape(group.outputs[0]), state.layout, StorageBytes(state.storage, 1));
  return std::unique_ptr<PreparedKernel>(new Typed(group, facts, std::move(loop), std::move(pads)));
}

/// cpu.elementwise.chain has 10.
int Taste(const Facts& facts, const Device&) { return facts.is_float ? 5 : 11; }

constexpr Family<Facts> kFamily{.read = Read,
                                .states = States,
                                .prepare = Prepare,
                                .taste = Taste,
                                .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuElementwiseTyped;
const KernelDesc kCpuElementwiseTyped = {.name = "cpu.elementwise.typed",
                                         .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
