// Every case, planned and run as a whole graph, agrees with the oracle: cover, states, conversions,
// memory and programs together.
#include <gtest/gtest.h>

#include "exec/program.h"
#include "ir/noise.h"
#include "ir/text.h"
#include "ops/cases.h"
#include "ops/op.h"
#include "planner/planner.h"
#include "tensor/compare.h"
#include "tests/case_printer.h"

namespace fettle::planner {
namespace {

/// The longest sum behind one element of any node: its products, or the inputs that it reduces.
int64_t AccumulationLength(const ir::Graph& graph) {
  int64_t longest = 1;
  for (const ir::Node& node : graph.nodes()) {
    const ops::OpDesc* op = ops::Find(node.op);
    std::vector<Shape> inputs, outputs;
    int64_t read = 1;
    for (ir::ValueId id : node.inputs) {
      inputs.push_back(id == ir::kAbsent ? Shape{0} : *graph.value(id).shape);
      read = std::max(read, inputs.back().elements());
    }
    for (ir::ValueId id : node.outputs) {
      outputs.push_back(id == ir::kAbsent ? Shape{0} : *graph.value(id).shape);
    }
    const int64_t products = op->macs == nullptr ? 0 : op->macs(node, inputs, outputs);
    const int64_t elements = std::max<int64_t>(outputs[0].elements(), 1);
    longest = std::max(longest, std::max(products, read) / elements);
  }
  return longest;
}

Result<std::vector<Tensor>> PlanAndRun(const ir::Graph& graph, const std::vector<Tensor>& inputs,
                                       int threads) {
  const CpuDevice device(std::make_shared<ThreadPool>(threads));
  ASSIGN_OR_RETURN(exec::Plan plan, MakePlan(graph, device, {.threads = threads}));
  exec::PackedStore packed;
  ASSIGN_OR_RETURN(const auto program, exec::Program::Build(std::move(plan), device, packed));
  ASSIGN_OR_RETURN(const auto arena, AllocateHost(program->arena_bytes()));
  std::vector<const std::byte*> in;
  std::vector<std::byte*> out;
  std::vector<Tensor> outputs;
  for (const Tensor& tensor : inputs) in.push_back(tensor.data());
  for (ir::ValueId id : graph.outputs) {
    ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(graph.value(id).dtype, *graph.value(id).shape));
    outputs.push_back(tensor);
    out.push_back(tensor.data());
  }
  CpuStream stream(device, threads);
  const std::atomic<bool> cancelled{false};
  std::vector<exec::StepTime> times;
  RETURN_IF_ERROR(program->Run({in, out, arena.get(), stream, cancelled, &times}));
  return outputs;
}

class PlanTest : public testing::TestWithParam<ops::Case> {};

TEST_P(PlanTest, AgreesWithTheOracle) {
  Result<ir::Graph> graph = ir::Parse(GetParam().graph);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  if (const Status status = ops::InferGraph(*graph); !status.ok()) {
    ASSERT_EQ(status.code(), StatusCode::kUnsupported) << status.message();
    GTEST_SKIP() << "planned at run time: " << status.message();
  }
  const Result<std::vector<Tensor>> inputs = ir::NoiseInputs(*graph, 1);
  ASSERT_TRUE(inputs.ok()) << inputs.status().message();
  const Result<std::vector<Tensor>> want = ops::EvaluateGraph(*graph, *inputs);
  ASSERT_TRUE(want.ok()) << want.status().message();
  const Result<std::vector<Tensor>> got = PlanAndRun(*graph, *inputs, 2);
  ASSERT_TRUE(got.ok()) << got.status().message();
  for (size_t i = 0; i < want->size(); ++i) {
    const int64_t length = AccumulationLength(*graph);
    Tolerance tolerance = KernelTolerance((*want)[i].dtype(), length, static_cast<double>(length));
    const bool quantised = IsInteger((*want)[i].dtype()) &&
                           GetParam().graph.find("QuantizeLinear") != std::string_view::npos;
    if (quantised) tolerance.atol = 1;
    const Difference difference = Compare((*got)[i].view(), (*want)[i].view(), tolerance);
    EXPECT_TRUE(difference.ok()) << "output " << i << ": "
                                 << difference.ToString((*want)[i].shape());
  }
}

std::string CaseName(const testing::TestParamInfo<ops::Case>& info) {
  std::string name(info.param.name);
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(AllCases, PlanTest, testing::ValuesIn(ops::AllCases()), CaseName);

}  // namespace
}  // namespace fettle::planner
