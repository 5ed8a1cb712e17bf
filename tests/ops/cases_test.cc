// Every case of every family parses, infers and evaluates, and the oracle honours its region.
#include "ops/cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "ir/noise.h"
#include "ir/text.h"
#include "ops/macs.h"
#include "ops/op.h"

namespace fettle::ops {
namespace {

/// Cases above this many multiply-adds or elements are for kernels; their oracle would only repeat
/// the small ones, slowly.
constexpr int64_t kWork = int64_t{1} << 21;

int64_t Work(const ir::Graph& graph) {
  int64_t work = MacsOf(graph);
  for (const ir::Node& node : graph.nodes())
    for (const auto* values : {&node.inputs, &node.outputs})
      for (ir::ValueId id : *values)
        if (id != ir::kAbsent) work += graph.value(id).shape->elements();
  return work;
}

/// Evaluates one node again, in regions of `step` elements, and expects equal bytes.
void ExpectRegionsAgree(const ir::Node& node, const std::vector<Tensor>& inputs,
                        const std::vector<Tensor>& whole, int64_t step) {
  const Operator& op = OperatorOf(node);
  std::vector<HostView> input_views, output_views;
  std::vector<Tensor> outputs;
  for (const Tensor& tensor : inputs)
    input_views.push_back(tensor.empty() ? HostView() : tensor.view());
  for (const Tensor& tensor : whole) {
    if (tensor.empty()) {
      outputs.emplace_back();
      output_views.emplace_back();
      continue;
    }
    Result<Tensor> again = Tensor::Create(tensor.dtype(), tensor.shape());
    ASSERT_TRUE(again.ok());
    outputs.push_back(*again);
    output_views.push_back(again->view());
  }
  const int64_t elements = whole[0].elements();
  for (int64_t begin = 0; begin == 0 || begin < elements; begin += step) {
    const Status status =
        op.reference({node, input_views, output_views}, {begin, std::min(begin + step, elements)});
    ASSERT_TRUE(status.ok()) << status.message();
  }
  for (size_t i = 0; i < whole.size(); ++i) {
    if (whole[i].empty() || whole[i].elements() == 0) continue;
    EXPECT_EQ(std::memcmp(whole[i].data(), outputs[i].data(), whole[i].bytes().size()), 0)
        << ir::Describe(node) << ": output " << i << " in regions of " << step;
  }
}

void RunCase(const Case& test_case) {
  ir::NoiseHints hints;
  Result<ir::Graph> graph = Parse(test_case.graph, &hints);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const Status inferred = InferGraph(*graph);
  ASSERT_TRUE(inferred.ok()) << inferred.message();
  if (Work(*graph) > kWork) return;
  Result<std::vector<Tensor>> inputs = ir::NoiseInputs(*graph, 1, hints);
  ASSERT_TRUE(inputs.ok()) << inputs.status().message();
  std::vector<Tensor> values(graph->values().size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (graph->values()[i].is_constant())
      values[i] = graph->values()[i].constant->ToTensor().value();
  }
  for (size_t i = 0; i < inputs->size(); ++i)
    values[static_cast<size_t>(graph->inputs[i])] = (*inputs)[i];
  for (const ir::Node& node : graph->nodes()) {
    std::vector<Tensor> operands;
    for (ir::ValueId id : node.inputs)
      operands.push_back(id == ir::kAbsent ? Tensor() : values[static_cast<size_t>(id)]);
    Result<std::vector<Tensor>> results = Evaluate(node, operands);
    ASSERT_TRUE(results.ok()) << results.status().message();
    if (!node.op->Has(Trait::kWholeOutput) && !node.op->Has(Trait::kRandom)) {
      // Single elements where they are few; otherwise odd steps that cut rows anywhere.
      const int64_t elements = (*results)[0].elements();
      ExpectRegionsAgree(node, operands, *results, elements / 256 * 2 + 1);
      ExpectRegionsAgree(node, operands, *results, elements / 16 * 2 + 7);
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] != ir::kAbsent)
        values[static_cast<size_t>(node.outputs[i])] = (*results)[i];
    }
  }
}

TEST(Cases, RunThroughTheOracle) {
  for (const Case& test_case : AllCases()) {
    SCOPED_TRACE(test_case.name);
    RunCase(test_case);
  }
}

}  // namespace
}  // namespace fettle::ops
