// Convolutions of well-known networks by every kernel that takes them: GFLOP/s and the share of the
// fp32 FMA ceiling measured in the same process, in fp32
// with a Relu, in fp32 with a residual addition, and between bytes.
// Usage: conv_bench [THREADS [NAME-SUBSTRING]]
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/clock.h"
#include "device/cpu/cpu_device.h"
#include "ir/text.h"
#include "kernels/cpu/probe/fma.h"
#include "kernels/kernel.h"
#include "ops/op.h"

namespace {

using namespace fettle;  // NOLINT: a program of one file

struct Layer {
  const char* name;
  int64_t ic, size, oc, kernel, stride, group;
};

constexpr Layer kLayers[] = {
    {"resnet.stem7x7", 3, 224, 64, 7, 2, 1},    {"resnet.56.3x3", 64, 56, 64, 3, 1, 1},
    {"resnet.56.1x1", 64, 56, 256, 1, 1, 1},    {"resnet.56.1x1r", 256, 56, 64, 1, 1, 1},
    {"resnet.28.3x3", 128, 28, 128, 3, 1, 1},   {"resnet.28.1x1", 512, 28, 128, 1, 1, 1},
    {"resnet.14.3x3", 256, 14, 256, 3, 1, 1},   {"resnet.14.1x1", 1024, 14, 256, 1, 1, 1},
    {"resnet.14.1x1e", 256, 14, 1024, 1, 1, 1}, {"resnet.7.3x3", 512, 7, 512, 3, 1, 1},
    {"resnet.7.1x1", 2048, 7, 512, 1, 1, 1},    {"resnet.28.1x1s2", 256, 56, 512, 1, 2, 1},
    {"vgg.224.3x3", 64, 224, 64, 3, 1, 1},      {"vgg.28.3x3", 512, 28, 512, 3, 1, 1},
    {"mbv2.stem", 3, 224, 32, 3, 2, 1},         {"mbv2.112.dw", 32, 112, 32, 3, 1, 32},
    {"mbv2.112.dws2", 96, 112, 96, 3, 2, 96},   {"mbv2.112.1x1", 32, 112, 16, 1, 1, 1},
    {"mbv2.112.1x1e", 16, 112, 96, 1, 1, 1},    {"mbv2.56.1x1", 144, 56, 24, 1, 1, 1},
    {"mbv2.56.dw", 144, 56, 144, 3, 1, 144},    {"mbv2.14.1x1", 384, 14, 64, 1, 1, 1},
    {"mbv2.14.dw", 384, 14, 384, 3, 1, 384},    {"mbv2.7.1x1", 320, 7, 1280, 1, 1, 1},
    {"mbv2.7.dw", 960, 7, 960, 3, 1, 960},      {"effnet.28.dw5", 240, 28, 240, 5, 1, 240},
    {"convnext.56.dw7", 96, 56, 96, 7, 1, 96},  {"sr.128.3x3", 32, 128, 32, 3, 1, 1},
    {"sr.128.last", 32, 128, 3, 3, 1, 1},       {"resnext.28.g32", 256, 28, 256, 3, 1, 32},
};

std::string Text(const Layer& layer) {
  const int64_t pad = layer.kernel / 2;
  return fmt::format(
      "input %x: f32[1x{}x{}x{}]\nconst %w: f32[{}x{}x{}x{}]\nconst %b: f32[{}]\n"
      "%c = Conv(%x, %w, %b) {{pads=[{},{},{},{}], strides=[{},{}], group={}}}\n"
      "%y = Relu(%c)\noutput %y\n",
      layer.ic, layer.size, layer.size, layer.oc, layer.ic / layer.group, layer.kernel,
      layer.kernel, layer.oc, pad, pad, pad, pad, layer.stride, layer.stride, layer.group);
}

/// The same layer with a residual addition behind it.
std::string ResidualText(const Layer& layer) {
  const int64_t pad = layer.kernel / 2;
  const int64_t out = (layer.size + 2 * pad - layer.kernel) / layer.stride + 1;
  return fmt::format(
      "input %x: f32[1x{0}x{1}x{1}]\nconst %w: f32[{2}x{3}x{4}x{4}]\nconst %b: f32[{2}]\n"
      "input %r: f32[1x{2}x{8}x{8}]\n"
      "%c = Conv(%x, %w, %b) {{pads=[{5},{5},{5},{5}], strides=[{6},{6}], group={7}}}\n"
      "%a = Add(%c, %r)\n%y = Relu(%a)\noutput %y\n",
      layer.ic, layer.size, layer.oc, layer.ic / layer.group, layer.kernel, pad, layer.stride,
      layer.group, out);
}

/// The same layer between bytes.
std::string QuantisedText(const Layer& layer) {
  const int64_t pad = layer.kernel / 2;
  return fmt::format(
      "input %q: u8[1x{0}x{1}x{1}]\nconst %sx: f32[] = 0.02\nconst %zx: u8[] = 100\n"
      "const %w: i8[{2}x{3}x{4}x{4}] = noise(-127, 127)\n"
      "const %sw: f32[{2}] = noise(0.005, 0.01)\nconst %b: f32[{2}]\n"
      "const %sy: f32[] = 0.05\n%x = DequantizeLinear(%q, %sx, %zx)\n"
      "%f = DequantizeLinear(%w, %sw) {{axis=0}}\n"
      "%c = Conv(%x, %f, %b) {{pads=[{5},{5},{5},{5}], strides=[{6},{6}], group={7}}}\n"
      "%r = Relu(%c)\n%y = QuantizeLinear(%r, %sy, %zx)\noutput %y\n",
      layer.ic, layer.size, layer.oc, layer.ic / layer.group, layer.kernel, pad, layer.stride,
      layer.group);
}

std::shared_ptr<std::byte> Fill(int64_t bytes) {
  std::shared_ptr<std::byte> memory = AllocateHost(bytes).value();
  auto* floats = reinterpret_cast<float*>(memory.get());
  for (int64_t i = 0; i < bytes / 4; ++i) floats[i] = 0.01F * static_cast<float>(i % 97 - 48);
  return memory;
}

/// Best seconds of one kernel on its first candidate.
double BestSeconds(const kernels::KernelDesc& kernel, const std::shared_ptr<const ir::Graph>& graph,
                   const kernels::StateAssignment& states, const CpuDevice& device, int threads) {
  const kernels::Problem problem{graph, states, threads};
  const auto prepared =
      kernel.prepare(problem, kernels::DefaultParams(kernel, problem, device), device).value();
  std::vector<std::shared_ptr<std::byte>> memory;
  std::vector<Location> packed;
  const auto hold = [&](int64_t bytes) {
    memory.push_back(Fill(bytes));
    return Location{memory.back().get()};
  };
  for (const kernels::PackRequest& request : prepared->packs()) {
    std::vector<const Constant*> constants;
    for (ir::ValueId id : request.constants) constants.push_back(graph->value(id).constant.get());
    packed.push_back(hold(request.bytes));
    if (!request.pack(constants, packed.back().host<std::byte>()).ok()) std::abort();
  }
  std::vector<Location> inputs;
  for (size_t i = 0; i < graph->inputs.size(); ++i)
    inputs.push_back(hold(StateBytes(*graph->value(graph->inputs[i]).shape, states.inputs[i])));
  const Location outputs[] = {
      hold(StateBytes(*graph->value(graph->outputs[0]).shape, states.outputs[0]))};
  const Location workspace = hold(prepared->workspace_bytes());
  CpuStream stream(device, threads);
  double best = 1e30;
  const int64_t until = NowNs() + 150'000'000;
  do {
    const int64_t start = NowNs();
    if (!prepared->Launch({inputs, outputs, packed, workspace, stream}).ok()) std::abort();
    best = std::min(best, static_cast<double>(NowNs() - start) * 1e-9);
  } while (NowNs() < until);
  return best;
}

void Run(const Layer& layer, const std::string& text, const CpuDevice& device, int threads) {
  ir::Graph parsed = ir::Parse(text).value();
  if (!ops::InferGraph(parsed).ok()) std::abort();
  const auto graph = std::make_shared<const ir::Graph>(std::move(parsed));
  const Shape& y = *graph->value(graph->outputs[0]).shape;
  const double flops = 2.0 * static_cast<double>(y.elements() * layer.ic / layer.group *
                                                 layer.kernel * layer.kernel);
  for (const kernels::KernelDesc* kernel : kernels::CpuKernels()) {
    if (kernel->preference == 0) continue;
    const auto candidates = kernel->candidates(*graph, device);
    if (!candidates.ok()) continue;
    const double ceiling = kernels::ProbeFmaFlops(5) * threads;
    const double seconds = BestSeconds(*kernel, graph, (*candidates)[0], device, threads);
    std::printf("%-18s %-26s %d thread(s) %9.1f us %7.1f GFLOP/s %5.1f %% of %.0f\n", layer.name,
                std::string(kernel->name).c_str(), threads, seconds * 1e6, flops / seconds * 1e-9,
                100 * flops / seconds / ceiling, ceiling * 1e-9);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::max(1, std::atoi(argv[1])) : 1;
  const CpuDevice device(std::make_shared<ThreadPool>(threads));
  for (const Layer& layer : kLayers) {
    if (argc > 2 && std::strstr(layer.name, argv[2]) == nullptr) continue;
    Run(layer, Text(layer), device, threads);
    Run(layer, ResidualText(layer), device, threads);
    Run(layer, QuantisedText(layer), device, threads);
  }
}
