// cpu.state.scan: SlotScan in fp32, the recurrence of decoders whose states lie in slots. Tasks are
// columns of a head's state, which stay in the cache while the rows of a sequence pass.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/operands.h"
#include "kernels/cpu/state/state_rows.h"
#include "kernels/cpu/state/state_slots.h"
#include "kernels/family.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

/// Columns of a task.
constexpr int64_t kColumns = 64;
/// Elements of states times rows below which one lane does all.
constexpr int64_t kFew = 16384;

class StateScan final : public NodeKernel {
 public:
  StateScan(const Problem& problem, const ops::SlotScanShape& shape)
      : NodeKernel(problem), s_(shape) {}

  Status Run(const CpuLaunch& args) const override {
    const auto* steps = reinterpret_cast<const int32_t*>(operands().input(args, 4));
    RETURN_IF_ERROR(CheckSlots(steps, s_.batch, s_.slots, s_.length));
    KeepSlots(Input(args, 3), States(args), s_.slots * s_.heads * head_floats());
    FindFactors(args);
    const int64_t parts = (s_.v_size + kColumns - 1) / kColumns,
                  tasks = s_.batch * s_.heads * parts;
    const auto run = [&](int64_t task, int lane) {
      const int64_t of_head = task / parts;
      RunPart(args, SlotOf(steps, of_head / s_.heads), of_head / s_.heads, of_head % s_.heads,
              task % parts * kColumns, lane);
    };
    if (s_.batch * s_.length * s_.heads * head_floats() <= kFew) {
      for (int64_t task = 0; task < tasks; ++task) run(task, 0);
    } else {
      args.stream.ParallelFor(tasks, run);
    }
    return OkStatus();
  }

 private:
  int64_t head_floats() const { return s_.size * s_.v_size; }
  /// Of a row of the sequence: the decays of all heads as factors.
  int64_t factors_of_row() const {
    if (s_.decay == ops::Decay::kOfKey) return s_.heads * s_.size;
    return s_.decay == ops::Decay::kOfHead ? s_.heads : 0;
  }
  const float* Input(const LaunchArgs& args, size_t i) const {
    return reinterpret_cast<const float*>(operands().input(args, i));
  }
  /// Where nobody wants the states, a task has scratch for them.
  float* States(const LaunchArgs& args) const {
    return reinterpret_cast<float*>(operands().output(args, 1));
  }

  void FindFactors(const CpuLaunch& args) const {
    float* factors = args.At(factors_);
    factors[0] = 1;
    const int64_t count = s_.batch * s_.length * factors_of_row();
    const float* decay = Input(args, 5);
    for (int64_t i = 0; i < count; ++i) factors[i] = std::exp(decay[i]);
  }

  void RunPart(const CpuLaunch& args, const ops::SlotStep& step, int64_t sequence, int64_t head,
               int64_t first, int lane) const {
    const int64_t row = sequence * s_.length, key = s_.KeyHead(head) * s_.size;
    const int64_t keys = s_.key_heads * s_.size, values = s_.heads * s_.v_size;
    const int64_t value = row * values + head * s_.v_size + first;
    const int64_t state = head * head_floats() + first, slot = s_.heads * head_floats();
    float* states = States(args);
    auto* y = reinterpret_cast<float*>(operands().output(args, 0));
    ScanColumns c = {.size = s_.size,
                     .columns = std::min(kColumns, s_.v_size - first),
                     .rows = step.count,
                     .q = Input(args, 0) + row * keys + key,
                     .k = Input(args, 1) + row * keys + key,
                     .v = Input(args, 2) + value,
                     .key_row = keys,
                     .value_row = values,
                     .scale = static_cast<float>(s_.scale)};
    SetDecay(args, row, head, first, c);
    if (s_.delta) {
      c.beta = Input(args, 6) + row * s_.heads + head;
      c.beta_row = s_.heads;
    }
    c.from = step.from < 0 ? nullptr : Input(args, 3) + step.from * slot + state;
    c.to = states == nullptr ? args.At(state_, lane) : states + step.to * slot + state;
    c.state_row = s_.v_size;
    c.y = y == nullptr ? nullptr : y + value;
    if (step.count > 0) {
      RunScan(c);
    } else {
      for (int64_t i = 0; i < s_.size; ++i) {
        if (c.from == nullptr)
          std::fill_n(c.to + i * s_.v_size, c.columns, 0.0F);
        else if (c.from != c.to)
          std::copy_n(c.from + i * s_.v_size, c.columns, c.to + i * s_.v_size);
      }
    }
    for (int64_t t = step.count; t < s_.length; ++t) std::fill_n(c.y + t * values, c.columns, 0.0F);
  }

  void SetDecay(const CpuLaunch& args, int64_t row, int64_t head, int64_t first,
                ScanColumns& c) const {
    if (s_.decay == ops::Decay::kOfValue) {
      const int64_t column = head * s_.v_size + first;
      c.times = Input(args, 5) + row * c.value_row + column;
      c.rates = Input(args, 7) + column;
      c.rates_row = c.value_row;
      return;
    }
    const bool of_key = s_.decay == ops::Decay::kOfKey;
    c.factor_row = factors_of_row();
    c.factor_step = of_key ? 1 : 0;
    const int64_t own = s_.decay == ops::Decay::kNone ? 0 : of_key ? head * s_.size : head;
    c.factors = args.At(factors_) + row * c.factor_row + own;
  }

  ops::SlotScanShape s_;
  RunScratch<float> factors_ =
      PerRun<float>(std::max<int64_t>(1, s_.batch* s_.length* factors_of_row()));
  LaneScratch<float> state_ = PerLane<float>(s_.size * s_.v_size);
};

Result<ops::SlotScanShape> Read(const ir::Graph& group, const Device&) {
  if (group.nodes().size() != 1 || group.nodes()[0].op != "SlotScan"_op)
    return Unsupported("computes SlotScan only");
  const ir::Node& node = group.nodes()[0];
  RETURN_IF_ERROR(CheckFirstOutputs(group));
  const auto value = [&](size_t i) -> const ir::Value& { return group.value(node.inputs[i]); };
  for (size_t i : {0, 1, 2, 3, 5, 6, 7}) {
    if (node.input(i) != ir::kAbsent && value(i).dtype != DType::kF32)
      return Unsupported("{} is not computed", DTypeName(value(i).dtype));
  }
  const auto shape = [&](size_t i) {
    return node.input(i) == ir::kAbsent ? nullptr : &*value(i).shape;
  };
  ASSIGN_OR_RETURN(const ops::SlotScanShape s,
                   ops::ReadSlotScan(node, *shape(0), *shape(1), *shape(2), shape(5), shape(6),
                                     shape(7), *shape(3)));
  if (s.delta && s.decay == ops::Decay::kOfValue)
    return Unsupported("decays of elements with the delta rule");
  return s;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const ops::SlotScanShape&,
                                            const Device&) {
  return SlotStates(group, 3);
}

constexpr Family<ops::SlotScanShape> kFamily{.read = Read,
                                             .states = States,
                                             .prepare = Make<StateScan>,
                                             .taste = Always<10>,
                                             .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuStateScan;
const KernelDesc kCpuStateScan = {.name = "cpu.state.scan", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
