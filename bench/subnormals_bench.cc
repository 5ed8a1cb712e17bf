// What subnormal weights cost each family of the CPU's kernels: microseconds of one launch with
// ordinary weights, and with weights of which half are subnormal, flushed and kept (IEEE 754). The
// least of several launches, on the larger cases of the tests; cases without weights have such
// inputs instead.
// Usage: subnormals_bench [CASE-SUBSTRING]
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/clock.h"
#include "device/cpu/cpu_device.h"
#include "ir/noise.h"
#include "ir/text.h"
#include "kernels/check/bound_kernel.h"
#include "ops/cases.h"
#include "ops/op.h"
#include "tensor/reorder.h"
#include "tests/kernels/subnormal_weights.h"

namespace {

using namespace fettle;  // NOLINT: a program of one file

constexpr int kLaunches = 7;
constexpr int64_t kMostNs = 2'000'000'000;

struct Data {
  std::shared_ptr<ir::Graph> graph;
  std::vector<Tensor> inputs;
};

Data Make(const ops::Case& test, bool half_subnormal) {
  ir::NoiseHints hints;
  Data data{std::make_shared<ir::Graph>(ops::Parse(test.graph, &hints).value()), {}};
  if (!ops::InferGraph(*data.graph).ok()) std::abort();
  data.inputs = ir::NoiseInputs(*data.graph, 1, hints).value();
  if (half_subnormal) kernels::MakeHalfSubnormal(*data.graph, data.inputs);
  return data;
}

/// Microseconds of a launch.
Result<double> Time(const kernels::KernelDesc& kernel, const kernels::StateAssignment& states,
                    const Data& data, Subnormals subnormals, const CpuDevice& device) {
  const kernels::Problem problem{data.graph, states, 1};
  ASSIGN_OR_RETURN(auto prepared,
                   kernels::PrepareKernel(kernel, problem,
                                          kernels::DefaultParams(kernel, problem, device), device));
  const kernels::Operands operands = kernels::OperandsOf(problem);
  const auto memory = std::make_shared<kernels::OperandMemory>();
  RETURN_IF_ERROR(Allocate(operands, /*misaligned=*/false, device, *memory));
  ASSIGN_OR_RETURN(
      const kernels::BoundKernel bound,
      kernels::BoundKernel::Bind(std::move(prepared), operands, data.graph.get(), memory, device));
  if (bound.LaunchesNothing()) return Unsupported("a view");
  for (size_t i = 0; i < data.inputs.size(); ++i)
    Reorder(operands.inputs[i].shape, {.storage = operands.inputs[i].dtype}, data.inputs[i].data(),
            operands.inputs[i].state, bound.input(i));
  CpuStream stream(device, 1, subnormals);
  int64_t best = INT64_MAX;
  const int64_t begin = NowNs();
  for (int i = 0; i < kLaunches && (i == 0 || NowNs() - begin < kMostNs); ++i) {
    const int64_t start = NowNs();
    RETURN_IF_ERROR(bound.Launch(stream));
    best = std::min(best, NowNs() - start);
  }
  return static_cast<double>(best) * 1e-3;
}

void Run(const ops::Case& test, const CpuDevice& device) {
  const Data usual = Make(test, false), half = Make(test, true);
  for (const kernels::KernelDesc* kernel : kernels::CpuKernels()) {
    if (kernel->is_reference()) continue;
    const auto candidates = kernels::CandidatesOf(*kernel, *usual.graph, device);
    if (!candidates.ok()) continue;
    const kernels::StateAssignment& states = (*candidates)[0];
    const Result<double> times[] = {Time(*kernel, states, usual, Subnormals::kFlush, device),
                                    Time(*kernel, states, half, Subnormals::kFlush, device),
                                    Time(*kernel, states, half, Subnormals::kKeep, device)};
    if (!times[0].ok() || !times[1].ok() || !times[2].ok()) continue;
    std::printf("%-30s %-30s %10.1f %10.1f %10.1f   x%.1f\n", std::string(test.name).c_str(),
                std::string(kernel->name).c_str(), *times[0], *times[1], *times[2],
                *times[2] / *times[1]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const CpuDevice device(std::make_shared<ThreadPool>(1));
  std::printf("%s, 1 thread, us\n%-30s %-30s %10s %10s %10s\n", device.info().model.c_str(), "case",
              "kernel", "ordinary", "flushed", "kept");
  for (const ops::Case& test : ops::AllCases()) {
    if (test.bench && (argc < 2 || test.name.find(argv[1]) != std::string_view::npos))
      Run(test, device);
  }
}
