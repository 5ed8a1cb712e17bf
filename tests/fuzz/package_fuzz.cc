// libFuzzer target: any bytes as a package, under a header that fits them, so that what is behind
// it is reached. A package that opens must also survive being run, where its model is small.
//   tests/fuzz/run package_fuzz 600
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/hash.h"
#include "ir/noise.h"
#include "runtime/model.h"
#include "runtime/package/format.h"
#include "runtime/session.h"
#include "tests/fuzz/small_graph.h"

namespace fettle::runtime {
namespace {

/// Gives `bytes` the header of an intact package, with their own index size where it is possible.
void SetHeader(std::vector<std::byte>& bytes) {
  package::Header header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  std::memcpy(header.magic, package::kMagic.data(), package::kMagic.size());
  header.format = package::kFormat;
  header.file_bytes = bytes.size();
  header.index_bytes = std::min<uint64_t>(header.index_bytes, bytes.size() - sizeof(header));
  header.index_hash = HashBytes(std::span(bytes).subspan(sizeof(header), header.index_bytes));
  const auto own = std::as_bytes(std::span(&header, 1));
  header.header_hash = HashBytes(own.first(offsetof(package::Header, header_hash)));
  std::memcpy(bytes.data(), &header, sizeof(header));
}

/// Messages are one line, and a hostile file is no bug.
void CheckRefusal(const Status& status) {
  if (status.message().find('\n') != std::string::npos) std::abort();
  if (status.code() == StatusCode::kInternal) std::abort();
}

void Run(const std::shared_ptr<const Model>& model) {
  ir::Graph graph = model->graph();
  for (ir::ValueId id : graph.inputs) {
    std::optional<Shape>& shape = graph.value(id).shape;
    if (!shape || !IsStored(graph.value(id).dtype)) return;
    for (int axis = 0; axis < shape->rank(); ++axis)
      (*shape)[axis] = std::max<int64_t>((*shape)[axis], 1);
    const auto elements = shape->CheckedElements();
    if (!elements || *elements > kElements) return;
  }
  if (!ops::InferGraph(graph).ok() || !IsSmall(graph)) return;
  const Result<std::vector<Tensor>> noise = ir::NoiseInputs(graph, 1);
  if (!noise.ok()) return;
  auto session = Session::Create(model, {.threads = 1});
  if (!session.ok()) return CheckRefusal(session.status());
  TensorMap inputs, outputs;
  for (size_t i = 0; i < noise->size(); ++i)
    inputs.emplace(graph.value(graph.inputs[i]).name, (*noise)[i]);
  if ((*session)->Run(inputs, &outputs).code() == StatusCode::kInternal) std::abort();
}

}  // namespace
}  // namespace fettle::runtime

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fettle;
  const auto input = std::as_bytes(std::span(data, size));
  std::vector<std::byte> bytes(input.begin(), input.end());
  if (size >= sizeof(runtime::package::Header)) runtime::SetHeader(bytes);
  const auto model = runtime::Model::LoadBytes(bytes, "fuzz.fettle");
  if (!model.ok()) {
    runtime::CheckRefusal(model.status());
    return 0;
  }
  runtime::Run(*model);
  return 0;
}
