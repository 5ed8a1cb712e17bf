#include "runtime/model.h"

#include "base/file.h"
#include "importers/onnx/importer.h"
#include "passes/pipeline.h"

namespace fettle::runtime {

Result<std::shared_ptr<const Model>> Model::Load(const std::string& path) {
  std::shared_ptr<Model> model(new Model());
  model->name_ = path;
  ASSIGN_OR_RETURN(model->imported_, onnx::ImportFile(path, &model->warnings_));
  RETURN_IF_ERROR(model->Finish());
  return std::shared_ptr<const Model>(model);
}

Result<std::shared_ptr<const Model>> Model::LoadBytes(std::span<const std::byte> bytes,
                                                      std::string name) {
  std::shared_ptr<Model> model(new Model());
  model->name_ = std::move(name);
  auto copy = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
  ASSIGN_OR_RETURN(model->imported_,
                   onnx::ImportBytes(*copy, copy, model->name_, "", &model->warnings_));
  RETURN_IF_ERROR(model->Finish());
  return std::shared_ptr<const Model>(model);
}

Status Model::Finish() {
  auto graph = std::make_shared<ir::Graph>(imported_);
  const Status status = passes::Optimise(*graph);
  if (!status.ok()) return status.WithContext(name_);
  for (const ir::Value& value : graph->values()) {
    if (!value.is_constant()) continue;
    parameters_ += value.constant->elements();
    weight_bytes_ += value.constant->elements() * ByteSize(value.dtype);
  }
  graph_ = std::move(graph);
  // Reading headers and folding have touched most pages; kernels that pack constants read them
  // again.
  for (const ir::Value& value : imported_.values()) {
    if (!value.is_constant()) continue;
    DropMappedFile(value.constant->bytes().data());
    break;
  }
  return OkStatus();
}

}  // namespace fettle::runtime
