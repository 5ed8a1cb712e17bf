// compiled: small
// cpu.quantised.dynamic: DynamicQuantizeLinear in any dense layout: the range of the input in
// parts, then every element.
#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/elementwise/instruction.h"
#include "kernels/cpu/reduce/range.h"
#include "kernels/family.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

constexpr int64_t kElementsPerTask = 32768;

using Range = std::pair<float, float>;

struct Facts {
  int64_t elements;
  int scale_output, zero_output;  // in the group's outputs; -1: nobody asks
};

class DynamicQuantise final : public CpuKernel {
 public:
  DynamicQuantise(const Problem&, const Facts& facts)
      : elements_(facts.elements),
        tasks_((facts.elements + kElementsPerTask - 1) / kElementsPerTask),
        scale_output_(facts.scale_output),
        zero_output_(facts.zero_output) {}

  Status Run(const CpuLaunch& args) const override {
    const auto [low, high] = RangeOf(args);
    const float scale = high == low ? 1.0f : (high - low) / 255.0f;
    // Of an infinite range the quotient is NaN, and the zero point 255.
    const float zero = std::nearbyint(std::fmax(std::fmin(-low / scale, 255.0f), 0.0f));
    if (scale_output_ >= 0) *args.outputs[scale_output_].host<float>() = scale;
    if (zero_output_ >= 0) *args.outputs[zero_output_].host<uint8_t>() = static_cast<uint8_t>(zero);
    Quantise(args, scale, zero);
    return OkStatus();
  }

 private:
  int64_t Count(int64_t task) const {
    return std::min(kElementsPerTask, elements_ - task * kElementsPerTask);
  }

  /// The least and the greatest input. The range holds zero, so that padding is exact.
  Range RangeOf(const CpuLaunch& args) const {
    const auto* x = args.inputs[0].host<float>();
    Range* ranges = args.At(ranges_);
    args.stream.ParallelFor(tasks_, [&](int64_t task, int) {
      ranges[task] = RangeOfNumbers(x + task * kElementsPerTask, Count(task));
    });
    Range all;
    for (int64_t i = 0; i < tasks_; ++i)
      all = {std::min(all.first, ranges[i].first), std::max(all.second, ranges[i].second)};
    return all;
  }

  void Quantise(const CpuLaunch& args, float scale, float zero) const {
    const auto* x = args.inputs[0].host<float>();
    auto* y = args.outputs[0].host<uint8_t>();
    using elementwise::Source;
    const elementwise::Instruction quantise{.fn = elementwise::Fn::kQuantise,
                                            .output = 0,
                                            .a = {Source::kOperand, 0, 0},
                                            .b = {Source::kImmediate, 0, scale},
                                            .c = {Source::kImmediate, 0, zero},
                                            .p0 = 0,
                                            .p1 = 255};
    args.stream.ParallelFor(tasks_, [&](int64_t task, int) {
      const int64_t at = task * kElementsPerTask;
      const elementwise::Window in{x + at, 0, 1, DType::kF32}, out{y + at, 0, 1, DType::kU8};
      elementwise::Execute({&quantise, 1}, {&in, 1}, {&out, 1}, 1, Count(task));
    });
  }

  int64_t elements_, tasks_;
  int scale_output_, zero_output_;
  RunScratch<Range> ranges_ = PerRun<Range>(tasks_);
};

int OutputIndex(const ir::Graph& group, size_t i) {
  const ir::ValueId id = group.nodes()[0].output(i);
  const auto at = std::find(group.outputs.begin(), group.outputs.end(), id);
  return id == ir::kAbsent || at == group.outputs.end()
             ? -1
             : static_cast<int>(at - group.outputs.begin());
}

Result<Facts> Read(const ir::Graph& group, const Device&) {
  if (group.nodes().size() != 1 || group.nodes()[0].op != "DynamicQuantizeLinear"_op)
    return Unsupported("computes DynamicQuantizeLinear only");
  if (group.inputs.size() != 1 || OutputIndex(group, 0) != 0)
    return Unsupported("a constant operand, or an unused result");
  const ir::Value& x = group.value(group.inputs[0]);
  if (x.dtype != DType::kF32) return Unsupported("types other than f32");
  return Facts{x.shape->elements(), OutputIndex(group, 1), OutputIndex(group, 2)};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts&, const Device&) {
  std::vector<StateAssignment> states;
  const int rank = group.value(group.inputs[0]).shape->rank();
  for (const Layout& layout : {Layout::RowMajor(), Layout::ChannelsLast(rank)}) {
    StateAssignment next = RowMajorStates(group);
    next.inputs[0].layout = next.outputs[0].layout = layout;
    if (states.empty() || !(states[0] == next)) states.push_back(std::move(next));
  }
  return states;
}

constexpr Family<Facts> kFamily{.read = Read,
                                .states = States,
                                .prepare = Make<DynamicQuantise>,
                                .taste = Always<10>,
                                .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuQuantisedDynamic;
const KernelDesc kCpuQuantisedDynamic = {.name = "cpu.quantised.dynamic",
                                         .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
