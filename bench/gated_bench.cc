// OpenCL kernels on problems, timed behind a gate: a launch that keeps the device busy while the
// host enqueues the others, so that a launch of a few microseconds is not hidden by what the host
// takes to enqueue it. Outputs are compared with those of a plain kernel of f32.
//
//     gated_bench [--device CHOICE] [--emulate] [--launches N] [--share I/N] [--copies N] < ROWS
//
// --copies launches N copies of each kernel by turns, each with operands of its own, so that
// weights come from memory where a cache does not hold N times as many.
//
// ROWS are lines of label; kernel; plain kernel, or "-" where outputs are not to be compared;
// parameter sets, separated by "|", each NAME=VALUE,... beside the usual ones; group as text with
// "\n" for its ends of lines. Activations are f16, of kernels whose name ends in "f32" f32, in
// "bf16" bf16.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "bench/gate.h"
#include "bench/launch_options.h"
#include "ir/noise.h"
#include "ir/text.h"
#include "kernels/backend.h"
#include "kernels/check/bound_kernel.h"
#include "ops/op.h"
#include "tensor/reorder.h"

namespace {

using namespace fettle;  // NOLINT: a program of one file

/// A kernel with its operands, inputs written.
struct Contender {
  kernels::BoundKernel bound;
  std::vector<float> Output(Stream& stream) {
    const kernels::Operand& y = bound.operands().outputs[0];
    if (!bound.Launch(stream).ok() || !bound.Fetch(stream).ok()) return {};
    std::vector<float> values(y.shape.elements());
    Reorder(y.shape, y.state, bound.output(0), {.storage = DType::kF32},
            reinterpret_cast<std::byte*>(values.data()));
    return values;
  }
};

/// The first states of the kernel with f16 in buffers, or with f32.
std::optional<kernels::StateAssignment> StatesOf(const kernels::KernelDesc& kernel,
                                                 const ir::Graph& graph, const Device& device,
                                                 DType storage) {
  const auto all = kernels::CandidatesOf(kernel, graph, device);
  if (!all.ok()) {
    fmt::print("  {}: {}\n", kernel.name, all.status().message());
    return std::nullopt;
  }
  for (const kernels::StateAssignment& one : *all)
    if (one.outputs[0].storage == storage && one.outputs[0].memory == MemoryKind::kBuffer)
      return one;
  return std::nullopt;
}

/// Noise for the inputs of a row, in the states of a kernel.
class Inputs {
 public:
  Status Write(const kernels::Operands& operands, Stream& stream, kernels::BoundKernel& bound) {
    if (bytes_.empty()) Make(operands);
    const std::vector<std::span<const std::byte>> spans(bytes_.begin(), bytes_.end());
    return bound.WriteInputs(spans, stream);
  }

 private:
  void Make(const kernels::Operands& operands) {
    for (const kernels::Operand& x : operands.inputs) {
      const Tensor noise = ir::NoiseTensor(DType::kF32, x.shape, 1, {-1, 1}).value();
      bytes_.emplace_back(StateBytes(x.shape, x.state));
      Reorder(x.shape, {.storage = DType::kF32}, noise.data(), x.state, bytes_.back().data());
    }
  }

  std::vector<std::vector<std::byte>> bytes_;
};

std::optional<Contender> MakeContender(const kernels::KernelDesc& kernel,
                                       const std::shared_ptr<const ir::Graph>& graph, DType storage,
                                       const kernels::Params& changes, const OpenClDevice& device,
                                       Stream& stream, Inputs& inputs) {
  const auto states = StatesOf(kernel, *graph, device, storage);
  if (!states) return std::nullopt;
  const kernels::Problem problem{graph, *states, 1};
  const kernels::ParamSpace space = kernels::SpaceOf(kernel, problem, device);
  kernels::Params params = space.usual;
  for (const auto& [name, value] : changes) params[name] = value;
  if (space.check) {
    if (const Status valid = space.check(params); !valid.ok()) {
      fmt::print("  {}\n", valid.message());
      return std::nullopt;
    }
  }
  auto prepared = kernels::PrepareKernel(kernel, problem, params, device);
  if (!prepared.ok()) {
    fmt::print("  {}\n", prepared.status().message());
    return std::nullopt;
  }
  const kernels::Operands operands = kernels::OperandsOf(problem);
  auto memory = std::make_shared<kernels::OperandMemory>();
  if (!Allocate(operands, false, device, *memory).ok()) return std::nullopt;
  auto bound =
      kernels::BoundKernel::Bind(std::move(*prepared), operands, graph.get(), memory, device);
  if (!bound.ok()) return std::nullopt;
  if (!inputs.Write(operands, stream, *bound).ok()) return std::nullopt;
  return Contender{std::move(*bound)};
}

double RelativeError(const std::vector<float>& got, const std::vector<float>& want) {
  double error = 0, norm = 0;
  if (got.size() != want.size()) return 1;
  for (size_t i = 0; i < got.size(); ++i) {
    error += (got[i] - want[i]) * (got[i] - want[i]);
    norm += want[i] * want[i];
  }
  return std::sqrt(error / norm);
}

kernels::Params ReadParams(const std::string& text) {
  kernels::Params params;
  std::istringstream list(text);
  for (std::string one; std::getline(list, one, ',');)
    if (const size_t at = one.find('='); at != std::string::npos)
      params[one.substr(0, at)] = std::atoll(one.c_str() + at + 1);
  return params;
}

std::vector<std::string> Split(const std::string& text, char by) {
  std::vector<std::string> parts;
  std::istringstream list(text);
  for (std::string one; std::getline(list, one, by);) parts.push_back(one);
  return parts;
}

/// What a kernel's activations are, by its name.
DType StorageOf(std::string_view kernel) {
  if (kernel.ends_with("bf16")) return DType::kBF16;
  return kernel.ends_with("f32") ? DType::kF32 : DType::kF16;
}

std::shared_ptr<const ir::Graph> GraphOf(std::string text) {
  for (size_t at; (at = text.find("\\n")) != std::string::npos;) text.replace(at, 2, "\n");
  ir::Graph parsed = ops::Parse(text).value();
  if (!ops::InferGraph(parsed).ok()) std::abort();
  return std::make_shared<const ir::Graph>(std::move(parsed));
}

void RunRow(const std::vector<std::string>& row, int launches, int copies,
            const OpenClDevice& device, OpenClStream& stream, Gate* gate) {
  std::vector<std::shared_ptr<const ir::Graph>> graphs;
  for (int i = 0; i < copies; ++i) graphs.push_back(GraphOf(row[4]));
  const kernels::KernelDesc* kernel = kernels::FindKernel(row[1]);
  const bool is_compared = row[2] != "-";
  const kernels::KernelDesc* plain = kernels::FindKernel(is_compared ? row[2] : row[1]);
  if (kernel == nullptr || plain == nullptr) return;
  std::vector<float> want;
  if (is_compared) {
    Inputs inputs;
    if (auto made = MakeContender(*plain, graphs[0], DType::kF32, {}, device, stream, inputs))
      want = made->Output(stream);
  }
  Inputs inputs;
  for (const std::string& set : Split(row[3], '|')) {
    std::vector<Contender> made;
    for (const auto& graph : graphs) {
      auto one =
          MakeContender(*kernel, graph, StorageOf(row[1]), ReadParams(set), device, stream, inputs);
      if (!one) break;
      made.push_back(std::move(*one));
    }
    if (made.size() < graphs.size() || gate == nullptr) continue;
    const double error = is_compared ? RelativeError(made[0].Output(stream), want) : 0;
    size_t next = 0;
    const double least = gate->LeastMicroseconds(launches, 5, [&] {
      if (!made[next++ % made.size()].bound.Launch(stream).ok()) std::abort();
    });
    fmt::print("{:<24} {:8.2f} us  {}{}  {}\n", row[0], least,
               is_compared ? fmt::format("error {:.1e}", error) : "not compared",
               error < 5e-3 ? "" : " WRONG", set);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bench::LaunchOptions options = bench::ReadLaunchOptions(argc, argv, 200);
  const int copies = std::max(bench::NumberOf(argc, argv, "--copies", 1), 1);
  const auto stream = OpenClStream::Create(options.device).value();
  Gate gate(*stream);
  int rows = 0;
  for (std::string line; std::getline(std::cin, line);) {
    const std::vector<std::string> row = Split(line, ';');
    if (row.size() != 5) continue;
    if (options.shares == 0) RunRow(row, options.launches, copies, *options.device, *stream, &gate);
    if (options.shares > 0 && rows++ % options.shares == options.share)
      RunRow(row, options.launches, copies, *options.device, *stream, nullptr);
  }
}
