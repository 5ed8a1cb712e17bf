// cpu.state.conv: SlotConv in fp32, the short convolution of decoders whose states lie in slots.
#include <algorithm>

#include "kernels/cpu/operands.h"
#include "kernels/cpu/state/state_rows.h"
#include "kernels/cpu/state/state_slots.h"
#include "kernels/family.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

/// Elements of a task.
constexpr int64_t kElements = 16384;

class StateConv final : public NodeKernel {
 public:
  StateConv(const Problem& problem, const ops::SlotConvShape& shape)
      : NodeKernel(problem),
        s_(shape),
        chunk_(std::max(s_.taps, kElements / std::max<int64_t>(1, s_.channels))) {}

  Status Run(const CpuLaunch& args) const override {
    const auto* steps = reinterpret_cast<const int32_t*>(operands().input(args, 3));
    RETURN_IF_ERROR(CheckSlots(steps, s_.batch, s_.slots, s_.length));
    auto* states = reinterpret_cast<float*>(operands().output(args, 1));
    KeepSlots(Input(args, 2), states, s_.slots * state_floats());
    const int64_t chunks = (s_.length + chunk_ - 1) / chunk_;
    const auto run = [&](int64_t task) {
      RunChunk(args, SlotOf(steps, task / chunks), task / chunks, task % chunks * chunk_);
    };
    if (s_.batch * chunks == 1) {
      run(0);
    } else {
      args.stream.ParallelFor(s_.batch * chunks, [&](int64_t task, int) { run(task); });
    }
    // When nobody reads the old ones any more.
    for (int64_t n = 0; states != nullptr && n < s_.batch; ++n)
      Store(args, SlotOf(steps, n), n, states);
    return OkStatus();
  }

 private:
  int64_t state_floats() const { return (s_.taps - 1) * s_.channels; }
  const float* Input(const LaunchArgs& args, size_t i) const {
    return reinterpret_cast<const float*>(operands().input(args, i));
  }
  const float* X(const LaunchArgs& args, int64_t sequence) const {
    return Input(args, 0) + sequence * s_.length * s_.channels;
  }
  /// Null: zeros.
  const float* StateBefore(const LaunchArgs& args, const ops::SlotStep& step) const {
    return step.from < 0 ? nullptr : Input(args, 2) + step.from * state_floats();
  }

  void RunChunk(const LaunchArgs& args, const ops::SlotStep& step, int64_t sequence,
                int64_t first) const {
    auto* y = reinterpret_cast<float*>(operands().output(args, 0));
    if (y == nullptr) return;
    y += sequence * s_.length * s_.channels;
    const int64_t last = std::min(s_.length, first + chunk_);
    const int64_t stop = std::clamp(step.count, first, last);
    const float* x = X(args, sequence) + first * s_.channels;
    RunConvRows({.channels = s_.channels,
                 .taps = s_.taps,
                 .rows = stop - first,
                 .x = x,
                 .w = Input(args, 1),
                 .bias = Input(args, 4),
                 .before = first == 0 ? StateBefore(args, step) : x - state_floats(),
                 .silu = s_.silu,
                 .y = y + first * s_.channels});
    std::fill(y + stop * s_.channels, y + last * s_.channels, 0.0F);
  }

  /// The last rows of the state followed by those that count; from the first one on, as the new
  /// state may lie over the old one.
  void Store(const LaunchArgs& args, const ops::SlotStep& step, int64_t sequence,
             float* states) const {
    const float *before = StateBefore(args, step), *x = X(args, sequence);
    const int64_t kept = s_.taps - 1;
    float* to = states + step.to * state_floats();
    for (int64_t i = 0; i < kept; ++i, to += s_.channels) {
      const int64_t row = step.count + i - kept;
      if (row >= 0)
        std::copy_n(x + row * s_.channels, s_.channels, to);
      else if (before == nullptr)
        std::fill_n(to, s_.channels, 0.0F);
      else if (step.count > 0 || before + i * s_.channels != to)
        std::copy_n(before + (row + kept) * s_.channels, s_.channels, to);
    }
  }

  ops::SlotConvShape s_;
  int64_t chunk_;
};

Result<ops::SlotConvShape> Read(const ir::Graph& group, const Device&) {
  if (group.nodes().size() != 1 || group.nodes()[0].op != "SlotConv"_op)
    return Unsupported("computes SlotConv only");
  const ir::Node& node = group.nodes()[0];
  const auto value = [&](size_t i) -> const ir::Value& { return group.value(node.inputs[i]); };
  for (size_t i : {0, 1, 2, 4}) {
    if (node.input(i) != ir::kAbsent && value(i).dtype != DType::kF32)
      return Unsupported("{} is not computed", DTypeName(value(i).dtype));
  }
  return ops::ReadSlotConv(node, *value(0).shape, *value(1).shape, *value(2).shape);
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const ops::SlotConvShape&,
                                            const Device&) {
  return SlotStates(group, 2);
}

constexpr Family<ops::SlotConvShape> kFamily{.read = Read,
                                             .states = States,
                                             .prepare = Make<StateConv>,
                                             .taste = Always<10>,
                                             .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuStateConv;
const KernelDesc kCpuStateConv = {.name = "cpu.state.conv", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
