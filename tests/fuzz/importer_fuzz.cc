// libFuzzer target: any bytes as an ONNX model. A model that imports must also survive printing,
// inference and, where it is small, its scalar references.
//   tests/fuzz/run importer_fuzz 600
#include <cstdint>
#include <cstdlib>

#include "importers/onnx/importer.h"
#include "ir/text.h"
#include "ops/op.h"
#include "tests/fuzz/small_graph.h"

namespace fettle {
namespace {

void Evaluate(ir::Graph& graph) {
  for (ir::ValueId id : graph.inputs) {
    const ir::Value& value = graph.value(id);
    if (!value.has_concrete_shape() || value.shape->elements() > kElements) return;
    if (!IsStored(value.dtype)) return;
  }
  if (!ops::InferGraph(graph).ok() || !IsSmall(graph)) return;
  std::vector<Tensor> inputs;
  for (ir::ValueId id : graph.inputs) {
    Result<Tensor> tensor = Tensor::Create(graph.value(id).dtype, *graph.value(id).shape);
    if (!tensor.ok()) return;
    inputs.push_back(*tensor);
  }
  (void)ops::EvaluateGraph(graph, inputs);
}

}  // namespace
}  // namespace fettle

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  std::vector<std::string> warnings;
  fettle::Result<fettle::ir::Graph> graph =
      fettle::onnx::ImportBytes(bytes, nullptr, "fuzz.onnx", "", &warnings);
  if (!graph.ok()) {
    if (graph.status().message().find('\n') != std::string::npos) std::abort();
    if (graph.status().code() == fettle::StatusCode::kInternal) std::abort();
    return 0;
  }
  (void)fettle::ir::Print(*graph);
  fettle::Evaluate(*graph);
  return 0;
}
