// Runs one kernel on one group against the oracle.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "device/cpu/cpu_device.h"
#include "ir/noise.h"
#include "ir/text.h"
#include "kernels/kernel.h"
#include "ops/op.h"
#include "tensor/compare.h"
#include "tensor/reorder.h"

namespace fettle::kernels {

/// A parsed group with inferred shapes, its inputs as noise, and the oracle's outputs.
struct GroupCase {
  std::shared_ptr<ir::Graph> graph;
  std::vector<Tensor> inputs, want;
};

inline GroupCase MakeGroupCase(std::string_view text) {
  GroupCase made;
  ir::NoiseHints hints;
  Result<ir::Graph> graph = ir::Parse(text, &hints);
  EXPECT_TRUE(graph.ok()) << graph.status().message() << "\n" << text;
  if (!graph.ok()) return made;
  made.graph = std::make_shared<ir::Graph>(std::move(graph).value());
  const Status inferred = ops::InferGraph(*made.graph);
  EXPECT_TRUE(inferred.ok()) << inferred.message() << "\n" << text;
  Result<std::vector<Tensor>> inputs = ir::NoiseInputs(*made.graph, 7, hints);
  EXPECT_TRUE(inputs.ok());
  made.inputs = std::move(inputs).value();
  Result<std::vector<Tensor>> want = ops::EvaluateGraph(*made.graph, made.inputs);
  EXPECT_TRUE(want.ok()) << want.status().message();
  made.want = std::move(want).value();
  return made;
}

inline std::shared_ptr<std::byte> Bytes(int64_t size, int fill) {
  std::shared_ptr<std::byte> bytes = AllocateHost(size).value();
  std::memset(bytes.get(), fill, static_cast<size_t>(size));
  return bytes;
}

/// Runs `kernel` on its first candidate; outputs come back row-major in the values' own types.
/// Output buffers carry 64 canary bytes.
inline Result<std::vector<Tensor>> RunKernel(const KernelDesc& kernel, const GroupCase& test,
                                             int threads) {
  const CpuDevice device(std::make_shared<ThreadPool>(threads));
  Problem problem{.group = test.graph, .threads = threads};
  const ir::Graph& graph = *test.graph;
  ASSIGN_OR_RETURN(const std::vector<StateAssignment> candidates, kernel.candidates(graph, device));
  problem.states = candidates[0];
  ASSIGN_OR_RETURN(const std::unique_ptr<PreparedKernel> prepared,
                   kernel.prepare(problem, DefaultParams(kernel, problem, device), device));
  std::vector<std::shared_ptr<std::byte>> memory;
  std::vector<Location> inputs, outputs, packed;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const ir::Value& value = graph.value(graph.inputs[i]);
    memory.push_back(Bytes(StateBytes(*value.shape, problem.states.inputs[i]), 0x7f));
    Reorder(*value.shape, {.storage = value.dtype}, test.inputs[i].data(), problem.states.inputs[i],
            memory.back().get());
    inputs.push_back({memory.back().get()});
  }
  for (const PackRequest& request : prepared->packs()) {
    std::vector<const Constant*> constants;
    for (ir::ValueId id : request.constants) constants.push_back(graph.value(id).constant.get());
    memory.push_back(Bytes(request.bytes, 0x7f));
    RETURN_IF_ERROR(request.pack(constants, memory.back().get()));
    packed.push_back({memory.back().get()});
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const int64_t bytes =
        StateBytes(*graph.value(graph.outputs[i]).shape, problem.states.outputs[i]);
    memory.push_back(Bytes(bytes + 64, 0x7f));
    outputs.push_back({memory.back().get()});
  }
  memory.push_back(Bytes(prepared->workspace_bytes(), 0x7f));
  CpuStream stream(device, threads);
  RETURN_IF_ERROR(prepared->Launch({inputs, outputs, packed, {memory.back().get()}, stream}));
  std::vector<Tensor> results;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const ir::Value& value = graph.value(graph.outputs[i]);
    const int64_t bytes = StateBytes(*value.shape, problem.states.outputs[i]);
    const auto* canary = outputs[i].host<unsigned char>() + bytes;
    for (int b = 0; b < 64; ++b) EXPECT_EQ(canary[b], 0x7f) << "wrote behind output " << i;
    ASSIGN_OR_RETURN(Tensor result, Tensor::Create(value.dtype, *value.shape));
    Reorder(*value.shape, problem.states.outputs[i], outputs[i].host<std::byte>(),
            {.storage = value.dtype}, result.data());
    results.push_back(std::move(result));
  }
  return results;
}

/// Runs `kernel` with 1 and 2 threads: both must agree with the oracle and bit by bit.
inline void CheckKernel(const KernelDesc& kernel, std::string_view text,
                        const Tolerance& tolerance) {
  const GroupCase test = MakeGroupCase(text);
  if (test.graph == nullptr) return;
  std::vector<Tensor> first;
  for (int threads = 1; threads <= 2; ++threads) {
    Result<std::vector<Tensor>> got = RunKernel(kernel, test, threads);
    ASSERT_TRUE(got.ok()) << got.status().message() << "\n" << text;
    for (size_t i = 0; i < test.want.size(); ++i) {
      const Difference difference = Compare((*got)[i].view(), test.want[i].view(), tolerance);
      ASSERT_TRUE(difference.ok()) << difference.ToString(test.want[i].shape()) << "\n"
                                   << text << "threads " << threads;
      if (threads == 1) continue;
      ASSERT_EQ(std::memcmp((*got)[i].data(), first[i].data(), first[i].bytes().size()), 0)
          << "differs between 1 and 2 threads\n"
          << text;
    }
    first = std::move(got).value();
  }
}

}  // namespace fettle::kernels
