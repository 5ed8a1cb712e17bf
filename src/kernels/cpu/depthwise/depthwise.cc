// cpu.conv.depthwise.nhwc: one filter per input channel (or several: the channel multiplier),
// vectorised over channels.
#include <algorithm>
#include <cstring>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/conv/operands.h"
#include "kernels/cpu/depthwise/runner.h"
#include "kernels/cpu/epilogue/epilogue.h"
#include "kernels/cpu/gemm/pack.h"

namespace fettle::kernels {
namespace {

Result<std::vector<StateAssignment>> Candidates(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(const ConvOperands operands, ReadConvOperands(group, "Conv", true));
  RETURN_IF_ERROR(ReadDepthwiseGeometry(group, group.nodes()[0]).status());
  ASSIGN_OR_RETURN(StateAssignment states, ConvStates(group, operands));
  RETURN_IF_ERROR(Epilogue::Compile(group, states).status());
  return std::vector<StateAssignment>{std::move(states)};
}

/// [tap][padded channel], then the padded bias.
void Pack(const Constant& w, const Constant* b, int64_t channels, int64_t taps, float* weights) {
  const int64_t padded = RoundUp(channels, kDepthwisePad);
  std::fill_n(weights, taps * padded, 0.F);
  std::vector<float> filter(static_cast<size_t>(taps));
  for (int64_t c = 0; c < channels; ++c) {
    ReadFloats(w, c * taps, taps, filter.data());
    for (int64_t t = 0; t < taps; ++t) weights[t * padded + c] = filter[static_cast<size_t>(t)];
  }
  PackBias(b, 0, channels, padded, 1, weights + taps * padded);
}

class Depthwise final : public PreparedKernel {
 public:
  Depthwise(const Problem& problem, const ConvOperands& operands, const ConvGeometry& geometry,
            Epilogue epilogue, int lanes)
      : operands_(operands),
        input_(static_cast<size_t>(IndexOf(problem.group->inputs, operands.x))),
        runner_(geometry, 4, 4, lanes),
        epilogue_(std::move(epilogue)),
        lanes_(lanes) {
    if (!operands_.computed) return;
    w_input_ = static_cast<size_t>(IndexOf(problem.group->inputs, operands_.w));
    if (operands_.b != ir::kAbsent) b_input_ = IndexOf(problem.group->inputs, operands_.b);
  }

  std::vector<PackRequest> packs() const override {
    std::vector<PackRequest> all;
    if (!operands_.computed) all.push_back(PackConstants());
    epilogue_.AppendPacks(all);
    return all;
  }

  int64_t workspace_bytes() const override {
    return ZeroBytes() + ComputedBytes() + lanes_ * runner_.lane_bytes();
  }

  Status Launch(const LaunchArgs& args) const override {
    std::memset(args.workspace.host<std::byte>(), 0, static_cast<size_t>(ZeroBytes()));
    if (operands_.computed) PackComputed(args);
    const ConvGeometry& g = runner_.geometry();
    DepthwiseMemory memory;
    memory.x = args.inputs[input_].host<std::byte>();
    memory.zeros = args.workspace.host<std::byte>();
    memory.common.weights = Weights(args);
    memory.common.bias = memory.common.weights + g.taps() * runner_.padded_channels();
    memory.common.channels = g.oc;
    memory.common.padded_channels = runner_.padded_channels();
    memory.common.low = epilogue_.clamp().low;
    memory.common.high = epilogue_.clamp().high;
    const elementwise::Binding binding = epilogue_.Bind(args, operands_.computed ? 0 : 1);
    static_cast<CpuStream&>(args.stream)
        .ParallelFor(CeilDiv(runner_.rows(), runner_.rows_per_task()), [&](int64_t task, int lane) {
          RunTask(args, memory, binding, task * runner_.rows_per_task(), lane);
        });
    return OkStatus();
  }

 private:
  PackRequest PackConstants() const {
    const ConvGeometry& g = runner_.geometry();
    return RequestWeights(operands_, "depthwise.f32", (g.taps() + 1) * runner_.padded_channels(),
                          [oc = g.oc, taps = g.taps()](const Constant& w, const Constant* b,
                                                       float* out) { Pack(w, b, oc, taps, out); });
  }

  int64_t ZeroBytes() const { return runner_.padded_channels() * 4; }

  int64_t ComputedBytes() const {
    return operands_.computed
               ? (runner_.geometry().taps() + 1) * runner_.padded_channels() * int64_t{4}
               : 0;
  }
  float* Weights(const LaunchArgs& args) const {
    if (!operands_.computed) return args.packed[0].host<float>();
    return reinterpret_cast<float*>(args.workspace.host<std::byte>() + ZeroBytes());
  }

  void PackComputed(const LaunchArgs& args) const {
    const ConvGeometry& g = runner_.geometry();
    const int64_t padded = runner_.padded_channels(), taps = g.taps();
    const auto* w = args.inputs[w_input_].host<float>();
    float* out = Weights(args);
    std::fill_n(out, (taps + 1) * padded, 0.F);
    for (int64_t c = 0; c < g.oc; ++c) {
      for (int64_t t = 0; t < taps; ++t) out[t * padded + c] = w[c * taps + t];
    }
    if (b_input_ >= 0)
      std::copy_n(args.inputs[static_cast<size_t>(b_input_)].host<float>(), g.oc,
                  out + taps * padded);
  }

  void RunTask(const LaunchArgs& args, const DepthwiseMemory& memory,
               const elementwise::Binding& binding, int64_t begin, int lane) const {
    const ConvGeometry& g = runner_.geometry();
    const int64_t end = std::min(begin + runner_.rows_per_task(), runner_.rows());
    auto* y = args.outputs[0].host<float>();
    std::byte* scratch = args.workspace.host<std::byte>() + ZeroBytes() + ComputedBytes() +
                         lane * runner_.lane_bytes();
    for (int64_t row = begin; row < end; ++row) {
      runner_.RunRow(memory, row, reinterpret_cast<std::byte*>(y + row * g.out[2] * g.oc), scratch);
    }
    elementwise::Tile tile{.row = begin * g.out[2], .rows = (end - begin) * g.out[2]};
    tile.cols = g.oc;
    tile.running = y + begin * g.out[2] * g.oc;
    tile.running_stride = g.oc;
    epilogue_.Run(binding, tile);
  }

  ConvOperands operands_;
  size_t input_, w_input_ = 0;
  int b_input_ = -1;
  DepthwiseRunner runner_;
  Epilogue epilogue_;
  int lanes_;
};

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Params&,
                                                const Device& device) {
  ASSIGN_OR_RETURN(const ConvOperands operands, ReadConvOperands(*problem.group, "Conv", true));
  ASSIGN_OR_RETURN(const ConvGeometry g, ReadDepthwiseGeometry(*problem.group, problem.node()));
  ASSIGN_OR_RETURN(Epilogue epilogue, Epilogue::Compile(*problem.group, problem.states));
  const int lanes = static_cast<const CpuDevice&>(device).pool().threads();
  return std::unique_ptr<PreparedKernel>(
      new Depthwise(problem, operands, g, std::move(epilogue), lanes));
}

}  // namespace

extern const KernelDesc kCpuConvDepthwiseNhwc;
const KernelDesc kCpuConvDepthwiseNhwc = {.name = "cpu.conv.depthwise.nhwc",
                                          .preference = 20,
                                          .candidates = Candidates,
                                          .prepare = Prepare};

}  // namespace fettle::kernels
