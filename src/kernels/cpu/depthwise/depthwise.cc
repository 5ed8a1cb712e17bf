// compiled: small
// One filter per input channel (or several: the channel multiplier), vectorised over channels.
//   cpu.conv.depthwise.nhwc    channels-last
//   cpu.conv.depthwise.nchwc   from or to blocks of channels, or both
#include <algorithm>
#include <cstring>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/conv/at_extents.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/depthwise/runner.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/family.h"
#include "kernels/takes_extents.h"
#include "tensor/read_floats.h"

namespace fettle::kernels {
namespace {

struct Conv {
  ConvOperands operands;
  ConvGeometry g;
};

Result<Conv> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(const ConvOperands operands, ReadConvOperands(group, "Conv", true));
  ASSIGN_OR_RETURN(const ConvGeometry g, ReadDepthwiseGeometry(group, group.nodes()[0]));
  return Conv{operands, g};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Conv& conv,
                                            const Device&) {
  ASSIGN_OR_RETURN(StateAssignment states, ConvStates(group, conv.operands));
  RETURN_IF_ERROR(Epilogue::Compile(group, states).status());
  return std::vector<StateAssignment>{std::move(states)};
}

Result<Conv> ReadConstant(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(const ConvOperands operands, ReadConvOperands(group, "Conv"));
  ASSIGN_OR_RETURN(const ConvGeometry g, ReadDepthwiseGeometry(group, group.nodes()[0]));
  return Conv{operands, g};
}

Result<std::vector<StateAssignment>> BlockedStates(const ir::Graph& group, const Conv& conv,
                                                   const Device&) {
  ASSIGN_OR_RETURN(const std::vector<ConvLayouts> layouts, DepthwiseBlockLayouts(group, conv.g));
  return ConvStatesIn(group, conv.operands, layouts);
}

Result<DepthwiseProblem> ReadProblem(const Problem& problem, const Conv& conv) {
  ASSIGN_OR_RETURN(const ConvPixels pixels, ReadConvPixels(problem, conv.operands.x));
  return DepthwiseProblem{conv.g, pixels};
}

/// Where weights of `channels` padded channels lie: [block][tap][channel of the block].
struct WeightPlaces {
  int64_t taps = 0, block = 0;
  int64_t At(int64_t c, int64_t t) const {
    return c / block * taps * block + t * block + c % block;
  }
};

/// The weights, then the padded bias.
void Pack(const Constant& w, const Constant* b, int64_t channels, const WeightPlaces& places,
          float* weights) {
  const int64_t padded = RoundUp(channels, kDepthwisePad), taps = places.taps;
  std::fill_n(weights, taps * padded, 0.F);
  std::vector<float> filter(taps);
  for (int64_t c = 0; c < channels; ++c) {
    ReadFloats(w, c * taps, taps, filter.data());
    for (int64_t t = 0; t < taps; ++t) weights[places.At(c, t)] = filter[t];
  }
  PackBias(b, 0, channels, padded, 1, weights + taps * padded);
}

class Depthwise final : public CpuKernel, public MovesToExtents<Depthwise> {
 public:
  Depthwise(const Problem& problem, const ConvOperands& operands, const DepthwiseRunner& runner,
            Epilogue epilogue)
      : CpuKernel(problem.threads),
        operands_(operands),
        input_(IndexOf(problem.group->inputs, operands.x)),
        runner_(runner),
        epilogue_(std::move(epilogue)) {
    SetScratch();
    if (!operands_.computed) return;
    computed_ = PerRun<float>((runner_.geometry().taps() + 1) * runner_.padded_channels());
    w_input_ = IndexOf(problem.group->inputs, operands_.w);
    if (operands_.b != ir::kAbsent) b_input_ = IndexOf(problem.group->inputs, operands_.b);
  }

  std::vector<PackRequest> packs() const override {
    std::vector<PackRequest> all;
    if (!operands_.computed) all.push_back(PackConstants());
    epilogue_.AppendPacks(all);
    return all;
  }

  bool takes_ones() const override { return epilogue_.has_numbers_alone(); }
  bool MoveTo(const Problem& problem, const Device&) override {
    if (operands_.computed) return false;
    const std::optional<ConvAt> at =
        AtExtents(runner_.geometry(), {runner_.in(), runner_.out()}, epilogue_, *problem.group);
    if (!at) return false;
    const DepthwiseProblem p{at->g, at->pixels};
    // The packed weights stay.
    if (p.pads() != runner_.pads()) return false;
    runner_ = DepthwiseRunner(p, ReadDepthwiseBlocking({}, p, problem.threads));
    ForgetScratch(problem.threads);
    SetScratch();
    return true;
  }

  Status Run(const CpuLaunch& args) const override {
    if (operands_.computed) PackComputed(args);
    const ConvGeometry& g = runner_.geometry();
    DepthwiseMemory memory;
    memory.x = args.inputs[input_].host<std::byte>();
    memory.zeros = args.At(zeros_);
    memory.common.weights = Weights(args);
    memory.common.bias = memory.common.weights + g.taps() * runner_.padded_channels();
    memory.common.padded_channels = runner_.padded_channels();
    memory.common.low = epilogue_.clamp().low;
    memory.common.high = epilogue_.clamp().high;
    const elementwise::Binding binding = epilogue_.Bind(args, operands_.computed ? 0 : 1);
    args.stream.ParallelFor(runner_.tasks(), [&](int64_t task, int lane) {
      RunTask(args, memory, binding, runner_.TaskAt(task), lane);
    });
    return OkStatus();
  }

 private:
  void SetScratch() {
    zeros_ = Zeroed<std::byte>(runner_.padded_channels() * 4);
    scratch_ = PerLane<std::byte>(runner_.lane_bytes());
  }

  WeightPlaces Places() const {
    return {runner_.geometry().taps(), runner_.pads() ? kDepthwisePad : runner_.padded_channels()};
  }

  PackRequest PackConstants() const {
    const ConvGeometry& g = runner_.geometry();
    return RequestWeights(
        operands_, runner_.pads() ? "depthwise.blocks.f32" : "depthwise.f32",
        (g.taps() + 1) * runner_.padded_channels(),
        [oc = g.oc, places = Places()](const Constant& w, const Constant* b, float* out) {
          Pack(w, b, oc, places, out);
        });
  }

  float* Weights(const CpuLaunch& args) const {
    return operands_.computed ? args.At(computed_) : args.packed[0].host<float>();
  }

  void PackComputed(const CpuLaunch& args) const {
    const ConvGeometry& g = runner_.geometry();
    const int64_t padded = runner_.padded_channels(), taps = g.taps();
    const auto* w = args.inputs[w_input_].host<float>();
    float* out = Weights(args);
    const WeightPlaces places = Places();
    std::fill_n(out, (taps + 1) * padded, 0.F);
    for (int64_t c = 0; c < g.oc; ++c) {
      for (int64_t t = 0; t < taps; ++t) out[places.At(c, t)] = w[c * taps + t];
    }
    if (b_input_ >= 0) std::copy_n(args.inputs[b_input_].host<float>(), g.oc, out + taps * padded);
  }

  void RunTask(const CpuLaunch& args, const DepthwiseMemory& memory,
               const elementwise::Binding& binding, const DepthwiseRunner::Task& task,
               int lane) const {
    const PixelLayout& out = runner_.out();
    auto* y = args.outputs[0].host<float>();
    runner_.RunTask(memory, task, reinterpret_cast<std::byte*>(y), args.At(scratch_, lane));
    // Rows follow each other within an image, and in channels-last layout through all of them.
    const int64_t width = runner_.geometry().out[2];
    for (int64_t row = task.row; row < task.end;) {
      const int64_t image = runner_.ImageOf(row), pixel = runner_.PixelOf(row);
      const int64_t left = (out.pixels - pixel) / std::max<int64_t>(width, 1);
      const int64_t rows = out.is_channels_last() ? task.end - row : std::min(task.end - row, left);
      FinishPixels(epilogue_, binding, out,
                   {image, pixel, rows * width, task.channel, task.channels}, y);
      row += rows;
    }
  }

  ConvOperands operands_;
  size_t input_, w_input_ = 0;
  int b_input_ = -1;
  DepthwiseRunner runner_;
  Epilogue epilogue_;
  RunScratch<std::byte> zeros_;
  RunScratch<float> computed_;  // weights
  LaneScratch<std::byte> scratch_;
};

ParamSpace Space(const Problem& problem, const Conv& conv, const Device&) {
  const DepthwiseProblem p = ReadProblem(problem, conv).value();
  return {DepthwiseTunables(p, problem.threads), DepthwiseDefaults(p, problem.threads), {}};
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Conv& conv,
                                                const Params& params, const Device&) {
  ASSIGN_OR_RETURN(const DepthwiseProblem p, ReadProblem(problem, conv));
  ASSIGN_OR_RETURN(Epilogue epilogue, Epilogue::Compile(*problem.group, problem.states));
  const DepthwiseRunner runner(p, ReadDepthwiseBlocking(params, p, problem.threads));
  return std::unique_ptr<PreparedKernel>(
      new Depthwise(problem, conv.operands, runner, std::move(epilogue)));
}

constexpr Family<Conv> kFamily{.read = Read,
                               .states = States,
                               .prepare = Prepare,
                               .params = Space,
                               .taste = Always<20>,
                               .takes_near_extents = true};
constexpr Family<Conv> kBlockedFamily{.read = ReadConstant,
                                      .states = BlockedStates,
                                      .prepare = Prepare,
                                      .params = Space,
                                      .taste = Always<9>,
                                      .takes_near_extents = true};

}  // namespace

extern const KernelDesc kCpuConvDepthwiseNhwc;
const KernelDesc kCpuConvDepthwiseNhwc = {
    .name = "cpu.conv.depthwise.nhwc", .version = 3, .match = MatchAs<kFamily>};

extern const KernelDesc kCpuConvDepthwiseNchwc;
const KernelDesc kCpuConvDepthwiseNchwc = {.name = "cpu.conv.depthwise.nchwc",
                                           .match = MatchAs<kBlockedFamily>};

}  // namespace fettle::kernels
