// Running a plan of a whole graph and judging what it computed.
#pragma once

#include <gtest/gtest.h>

#include "exec/program.h"
#include "ir/noise.h"
#include "kernels/check/tolerance.h"
#include "ops/op.h"
#include "tensor/compare.h"

namespace fettle::planner {

/// The outputs of `plan`, whose constants are packed anew.
inline Result<std::vector<Tensor>> RunPlan(const ir::Graph& graph, exec::Plan plan,
                                           const DeviceSet& devices,
                                           const std::vector<Tensor>& inputs) {
  exec::PackedStore packed;
  ASSIGN_OR_RETURN(const auto program, exec::Program::Build(std::move(plan), devices, packed));
  exec::WorkMemory memory;
  RETURN_IF_ERROR(memory.Reserve(program->memory_plan(), devices));
  std::vector<const std::byte*> in;
  std::vector<std::byte*> out;
  std::vector<Tensor> outputs;
  for (const Tensor& tensor : inputs) in.push_back(tensor.data());
  for (ir::ValueId id : graph.outputs) {
    ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(graph.value(id).dtype, *graph.value(id).shape));
    outputs.push_back(tensor);
    out.push_back(tensor.data());
  }
  const auto& cpu = static_cast<const CpuDevice&>(devices.cpu());
  CpuStream stream(cpu, cpu.pool().threads());
  std::vector<std::unique_ptr<Stream>> accelerators;
  for (const Device* device : devices.beside_cpu()) {
    ASSIGN_OR_RETURN(accelerators.emplace_back(), device->NewStream({}));
  }
  const std::atomic<bool> cancelled{false};
  std::vector<exec::StepTime> times;
  RETURN_IF_ERROR(program->Run({in, out, memory, stream, accelerators, cancelled, &times}));
  return outputs;
}

/// Compares outputs with the oracle's by type and the length of sums; `steps`: of integers.
inline void ExpectClose(const ir::Graph& graph, const std::vector<Tensor>& got,
                        const std::vector<Tensor>& want, double steps) {
  const int64_t length = kernels::LongestSum(graph);
  for (size_t i = 0; i < want.size(); ++i) {
    Tolerance tolerance = KernelTolerance(want[i].dtype(), length, static_cast<double>(length));
    if (IsInteger(want[i].dtype())) tolerance.atol = steps;
    const Difference difference = Compare(got[i].view(), want[i].view(), tolerance);
    EXPECT_TRUE(difference.ok()) << "output " << i << ": " << difference.ToString(want[i].shape());
  }
}

}  // namespace fettle::planner
