// cpu.elementwise.typed: one element-wise operator on integers, bool or double, Where on any type,
// and Cast between these and float, in any layout: plain loops that the compiler vectorises.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/elementwise/broadcast.h"
#include "kernels/cpu/elementwise/typed_rows.h"
#include "kernels/cpu/layout/broadcast.h"
#include "kernels/cpu/layout/candidates.h"
#include "kernels/cpu/layout/pad_lanes.h"
#include "kernels/family.h"

namespace fettle::kernels {
namespace {

using elementwise::BroadcastLoop;
using elementwise::FindCastRow;
using elementwise::FindNumericRow;
using elementwise::FindWhereRow;
using elementwise::TypedRow;

/// The loop, and whether another kernel computes such operators in vectors of its own.
struct Facts {
  TypedRow function = nullptr;
  bool is_float = false;
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
  if (node.op == "Where"_op) {
    function = FindWhereRow(group.value(node.outputs[0]).dtype);
  } else if (node.op == "Cast"_op) {
    function = FindCastRow(dtype, group.value(node.outputs[0]).dtype);
  } else {
    function = FindNumericRow(dtype, LoopOf(node));
    // These take other numbers of operands, too.
    const bool folds = node.op == "Max"_op || node.op == "Min"_op;
    const size_t of_loop = folds ? 2 : node.op == "Clip"_op ? 3 : node.inputs.size();
    if (node.inputs.size() != of_loop) function = nullptr;
  }
  if (function == nullptr)
    return Unsupported("{} of {} has no loop here", node.op, DTypeName(dtype));
  const DType result = group.value(node.outputs[0]).dtype;
  const bool reads_float = node.op == "Where"_op || IsFloat(dtype);
  return Facts{function, reads_float && IsFloat(result) && result != DType::kF64};
}

template <typename T>
void CopyRow(const std::byte* from, int64_t stride, int64_t n, std::byte* to) {
  const auto* x = reinterpret_cast<const T*>(from);
  auto* y = reinterpret_cast<T*>(to);
  if (stride == 0) {
    std::fill_n(y, n, *x);
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] = x[i * stride];
  }
}

/// `n` elements that lie `stride` of them apart, without gaps.
void CopyRow(int64_t bytes, const std::byte* from, int64_t stride, int64_t n, std::byte* to) {
  switch (bytes) {
    case 1: return CopyRow<uint8_t>(from, stride, n, to);
    case 2: return CopyRow<uint16_t>(from, stride, n, to);
    case 4: return CopyRow<uint32_t>(from, stride, n, to);
    default: return CopyRow<uint64_t>(from, stride, n, to);
  }
}

class Typed final : public PreparedKernel {
 public:
  Typed(const ir::Graph& group, TypedRow function, BroadcastLoop loop, PadLanes pads)
      : function_(function), loop_(std::move(loop)), pads_(std::move(pads)) {
    const ir::Node& node = group.nodes()[0];
    output_bytes_ = StorageBytes(group.value(node.outputs[0]).dtype, 1);
    for (ir::ValueId id : node.inputs) {
      const ir::Value& value = group.value(id);
      const auto at = std::find(group.inputs.begin(), group.inputs.end(), id);
      operands_.push_back(
          {StorageBytes(value.dtype, 1), value.is_constant(),
           value.is_constant() ? packs_.size() : static_cast<size_t>(at - group.inputs.begin())});
      if (!value.is_constant()) continue;
      packs_.push_back({{id},
                        "row",
                        StorageBytes(value.dtype, value.constant->elements()),
                        [](std::span<const Constant* const> constants, std::byte* out) {
                          constants[0]->CopyTo(0, constants[0]->elements(), out);
                          return OkStatus();
                        }});
    }
    loop_.JoinShortRows();
    for (size_t i = 0; i < operands_.size(); ++i) is_dense_ = is_dense_ && loop_.stride(i) == 1;
  }

  std::vector<PackRequest> packs() const override { return packs_; }

  Status Launch(const LaunchArgs& args) const override {
    auto& stream = static_cast<CpuStream&>(args.stream);
    loop_.Run(stream, [&](const int64_t* offsets, int64_t n, int64_t at) {
      const std::byte* in[elementwise::kMaxTypedOperands] = {};
      for (size_t i = 0; i < operands_.size(); ++i) {
        const Operand& operand = operands_[i];
        const Location& from =
            operand.packed ? args.packed[operand.index] : args.inputs[operand.index];
        in[i] = from.host<std::byte>() + offsets[i] * operand.bytes;
      }
      RunRow(in, args.outputs[0].host<std::byte>() + at * output_bytes_, n);
    });
    pads_.Zero(stream, args.outputs[0].host<std::byte>());
    return OkStatus();
  }

 private:
  static constexpr int64_t kChunk = 512, kMaxBytes = 8;

  /// Runs of few elements, many at once: those that are no row without gaps become one.
  void RunShort(const std::byte* const* in, std::byte* out, int64_t n) const {
    alignas(64) std::byte rows[elementwise::kMaxTypedOperands][kChunk * kMaxBytes];
    const std::byte* now[elementwise::kMaxTypedOperands] = {};
    const int64_t inner = loop_.inner(), runs = n / inner, step = kChunk / inner;
    for (int64_t run = 0; run < runs; run += step) {
      const int64_t count = std::min(step, runs - run);
      for (size_t k = 0; k < operands_.size(); ++k) {
        const int64_t bytes = operands_[k].bytes, stride = loop_.stride(k);
        const std::byte* from = in[k] + run * stride * bytes;
        const bool is_row = loop_.inner_stride(k) == 1 && stride == inner;
        now[k] = is_row ? from : rows[k];
        if (is_row || (stride == 0 && run > 0)) continue;
        for (int64_t r = 0; r < count; ++r) {
          CopyRow(bytes, from + r * stride * bytes, loop_.inner_stride(k), inner,
                  rows[k] + r * inner * bytes);
        }
      }
      function_(now, out + run * inner * output_bytes_, count * inner);
    }
  }

  /// Operands with gaps, or of one element, are copied into rows without.
  void RunRow(const std::byte* const* in, std::byte* out, int64_t n) const {
    if (loop_.inner() > 1) return RunShort(in, out, n);
    alignas(64) std::byte rows[elementwise::kMaxTypedOperands][kChunk * kMaxBytes];
    const std::byte* now[elementwise::kMaxTypedOperands] = {};
    const int64_t step = is_dense_ ? n : kChunk;
    for (int64_t i = 0; i < n; i += step) {
      const int64_t count = std::min(step, n - i);
      for (size_t k = 0; k < operands_.size(); ++k) {
        const int64_t bytes = operands_[k].bytes, stride = loop_.stride(k);
        now[k] = stride == 1 ? in[k] + i * bytes : rows[k];
        const bool is_there = stride == 1 || (stride == 0 && i > 0);
        if (!is_there) CopyRow(bytes, in[k] + i * stride * bytes, stride, count, rows[k]);
      }
      function_(now, out + i * output_bytes_, count);
    }
  }

  struct Operand {
    int64_t bytes;
    bool packed;
    size_t index;
  };

  TypedRow function_;
  BroadcastLoop loop_;
  PadLanes pads_;
  int64_t output_bytes_ = 0;
  bool is_dense_ = true;
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
  return std::unique_ptr<PreparedKernel>(
      new Typed(group, facts.function, std::move(loop), std::move(pads)));
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
