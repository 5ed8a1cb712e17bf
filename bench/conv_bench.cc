// Convolutions of well-known networks by every kernel in every state that it takes, in fp32 with a
// Relu, in fp32 with a residual addition, and between bytes: best time, GFLOP/s, the share of the
// fp32 FMA ceiling measured in the same process, and how many times faster than the kernel that an
// untuned plan takes. Choices run in turns, so that a disturbance meets all of them.
// Usage: conv_bench [--threads N] [--iters N] [--filter NAME-SUBSTRING] [--form relu|add|bytes]
//                   [--params N]   also N other parameter sets of each choice
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
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
    {"vgg.14.3x3", 512, 14, 512, 3, 1, 1},      {"yunet.stem", 3, 640, 16, 3, 2, 1},
    {"yunet.320.1x1", 16, 320, 16, 1, 1, 1},    {"yunet.320.dw", 16, 320, 16, 3, 1, 16},
    {"yunet.160.1x1", 16, 160, 64, 1, 1, 1},    {"yunet.160.dw", 64, 160, 64, 3, 1, 64},
    {"yunet.80.1x1", 64, 80, 64, 1, 1, 1},      {"yolox.208.stem", 12, 208, 16, 3, 1, 1},
    {"yolox.104.1x1", 32, 104, 16, 1, 1, 1},    {"squeeze.54.1x1", 16, 54, 64, 1, 1, 1},
    {"squeeze.54.3x3", 16, 54, 64, 3, 1, 1},    {"squeeze.13.3x3", 64, 13, 256, 3, 1, 1},
    {"squeeze.13.1x1", 512, 13, 48, 1, 1, 1},   {"road.112.1x1", 32, 224, 16, 1, 1, 1},
    {"fns.360.3x3", 32, 360, 64, 3, 2, 1},      {"fns.180.3x3", 128, 180, 128, 3, 1, 1},
    {"incep.14.3x3", 128, 14, 192, 3, 1, 1},    {"incep.28.3x3", 64, 28, 96, 3, 1, 1},
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

/// One kernel in one state with one parameter set, made ready to run.
struct Choice {
  std::string name;
  int taste = 0;
  std::unique_ptr<kernels::PreparedKernel> prepared;
  std::vector<std::shared_ptr<std::byte>> memory;
  std::vector<Location> inputs, outputs, packed;
  Location workspace;
  std::vector<double> seconds;

  Location Hold(int64_t bytes) {
    memory.push_back(Fill(bytes));
    return {memory.back().get()};
  }
  double Best() const { return *std::min_element(seconds.begin(), seconds.end()); }
};

Choice Prepare(const kernels::KernelDesc& kernel, const kernels::Problem& problem,
               const kernels::Params& params, const CpuDevice& device) {
  const ir::Graph& graph = *problem.group;
  Choice choice{.name = std::string(kernel.name),
                .taste = kernels::MatchGroup(kernel, problem.group, device).value()->taste()};
  for (const std::vector<State>* list : {&problem.states.inputs, &problem.states.outputs}) {
    const Shape& shape =
        *graph.value(list == &problem.states.inputs ? graph.inputs[0] : graph.outputs[0]).shape;
    choice.name +=
        (list == &problem.states.inputs ? " " : "->") + LayoutName((*list)[0].layout, shape.rank());
  }
  for (const auto& [name, value] : params) choice.name += fmt::format(" {}={}", name, value);
  choice.prepared = kernels::PrepareKernel(kernel, problem, params, device).value();
  for (const kernels::PackRequest& request : choice.prepared->packs()) {
    std::vector<const Constant*> constants;
    for (ir::ValueId id : request.constants) constants.push_back(graph.value(id).constant.get());
    choice.packed.push_back(choice.Hold(request.bytes));
    if (!request.pack(constants, choice.packed.back().host<std::byte>()).ok()) std::abort();
  }
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const Shape& shape = *graph.value(graph.inputs[i]).shape;
    choice.inputs.push_back(choice.Hold(StateBytes(shape, problem.states.inputs[i])));
  }
  choice.outputs.push_back(
      choice.Hold(StateBytes(*graph.value(graph.outputs[0]).shape, problem.states.outputs[0])));
  choice.workspace = choice.Hold(choice.prepared->workspace_bytes());
  return choice;
}

/// The default parameters and up to `more` others.
std::vector<kernels::Params> ParamsToTry(const kernels::KernelDesc& kernel,
                                         const kernels::Problem& problem, const CpuDevice& device,
                                         int more) {
  const kernels::ParamSpace space = kernels::SpaceOf(kernel, problem, device);
  std::vector<kernels::Params> all{space.usual};
  if (space.tunables.empty()) return all;
  std::mt19937 random(1);
  for (int i = 0; i < 4 * more && static_cast<int>(all.size()) <= more; ++i) {
    kernels::Params params;
    for (const kernels::Tunable& tunable : space.tunables)
      params[tunable.name] = tunable.values[random() % tunable.values.size()];
    const bool valid = !space.check || space.check(params).ok();
    if (valid && std::find(all.begin(), all.end(), params) == all.end()) all.push_back(params);
  }
  return all;
}

struct Options {
  int threads = 1, iterations = 30, params = 0;
  std::string filter, form;
};

void Run(const Layer& layer, const std::string& text, const CpuDevice& device,
         const Options& options) {
  ir::Graph parsed = ops::Parse(text).value();
  if (!ops::InferGraph(parsed).ok()) std::abort();
  const auto graph = std::make_shared<const ir::Graph>(std::move(parsed));
  const Shape& y = *graph->value(graph->outputs[0]).shape;
  const double flops = 2.0 * static_cast<double>(y.elements() * layer.ic / layer.group *
                                                 layer.kernel * layer.kernel);
  std::vector<Choice> choices;
  for (const kernels::KernelDesc* kernel : kernels::CpuKernels()) {
    if (kernel->is_reference()) continue;
    const auto candidates = kernels::CandidatesOf(*kernel, *graph, device);
    if (!candidates.ok()) continue;
    for (const kernels::StateAssignment& states : *candidates) {
      if (states.inputs[0].external) continue;
      const kernels::Problem problem{graph, states, options.threads};
      for (const auto& params : ParamsToTry(*kernel, problem, device, options.params))
        choices.push_back(Prepare(*kernel, problem, params, device));
    }
  }
  if (choices.empty()) return;
  CpuStream stream(device, options.threads);
  for (int i = 0; i < options.iterations; ++i) {
    for (Choice& c : choices) {
      const int64_t start = NowNs();
      if (!c.prepared->Launch({c.inputs, c.outputs, c.packed, c.workspace, stream}).ok())
        std::abort();
      c.seconds.push_back(static_cast<double>(NowNs() - start) * 1e-9);
    }
  }
  const auto usual =
      std::max_element(choices.begin(), choices.end(),
                       [](const Choice& a, const Choice& b) { return a.taste < b.taste; });
  const double ceiling = kernels::ProbeFmaFlops(5) * options.threads;
  for (const Choice& c : choices) {
    std::printf("%-16s %9.1f us %7.1f GFLOP/s %5.1f %% of %.0f  x%.2f  %s\n", layer.name,
                c.Best() * 1e6, flops / c.Best() * 1e-9, 100 * flops / c.Best() / ceiling,
                ceiling * 1e-9, usual->Best() / c.Best(), c.name.c_str());
  }
}

Options ReadOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const int number = std::atoi(argv[i + 1]);
    if (name == "--threads") options.threads = std::max(1, number);
    if (name == "--iters") options.iterations = std::max(1, number);
    if (name == "--params") options.params = std::max(0, number);
    if (name == "--filter") options.filter = argv[i + 1];
    if (name == "--form") options.form = argv[i + 1];
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = ReadOptions(argc, argv);
  const CpuDevice device(std::make_shared<ThreadPool>(options.threads));
  const auto wanted = [&](std::string_view form) {
    return options.form.empty() || options.form == form;
  };
  for (const Layer& layer : kLayers) {
    if (std::strstr(layer.name, options.filter.c_str()) == nullptr) continue;
    if (wanted("relu")) Run(layer, Text(layer), device, options);
    if (wanted("add")) Run(layer, ResidualText(layer), device, options);
    if (wanted("bytes")) Run(layer, QuantisedText(layer), device, options);
  }
}
