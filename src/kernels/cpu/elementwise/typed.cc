// cpu.elementwise.typed: one element-wise operator on i32, i64 or bool, Where on any type, and Cast
// between integers, in any layout: plain loops that the compiler vectorises.
#include <algorithm>

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
using elementwise::TypedRowArgs;

Result<TypedRow> Read(const ir::Graph& group, const Device&) {
  if (group.nodes().size() != 1) return Unsupported("not a single node");
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
  } else if (node.inputs.size() <= 2) {
    function = FindNumericRow(dtype, node.op);
    const bool folds_one = node.inputs.size() == 1 && (node.op == "Max"_op || node.op == "Min"_op);
    if (folds_one) function = nullptr;
  }
  if (function == nullptr)
    return Unsupported("{} of {} has no loop here", node.op, DTypeName(dtype));
  return function;
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
  }

  std::vector<PackRequest> packs() const override { return packs_; }

  Status Launch(const LaunchArgs& args) const override {
    auto& stream = static_cast<CpuStream&>(args.stream);
    loop_.Run(stream, [&](const int64_t* offsets, int64_t n, int64_t at) {
      TypedRowArgs row{};
      for (size_t i = 0; i < operands_.size(); ++i) {
        const Operand& operand = operands_[i];
        const Location& from =
            operand.packed ? args.packed[operand.index] : args.inputs[operand.index];
        row.in[i] = from.host<std::byte>() + offsets[i] * operand.bytes;
        row.stride[i] = loop_.stride(i);
      }
      row.out = args.outputs[0].host<std::byte>() + at * output_bytes_;
      row.n = n;
      function_(row);
    });
    pads_.Zero(stream, args.outputs[0].host<std::byte>());
    return OkStatus();
  }

 private:
  struct Operand {
    int64_t bytes;
    bool packed;
    size_t index;
  };

  TypedRow function_;
  BroadcastLoop loop_;
  PadLanes pads_;
  int64_t output_bytes_ = 0;
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

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const TypedRow&,
                                            const Device&) {
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

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const TypedRow& function,
                                                const Params&, const Device&) {
  const ir::Graph& group = *problem.group;
  ASSIGN_OR_RETURN(BroadcastLoop loop, MakeLoop(group, problem.states));
  const State& state = problem.states.outputs[0];
  PadLanes pads(problem.shape(group.outputs[0]), state.layout, StorageBytes(state.storage, 1));
  return std::unique_ptr<PreparedKernel>(
      new Typed(group, function, std::move(loop), std::move(pads)));
}

constexpr Family<TypedRow> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<5>};

}  // namespace

extern const KernelDesc kCpuElementwiseTyped;
const KernelDesc kCpuElementwiseTyped = {.name = "cpu.elementwise.typed",
                                         .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
