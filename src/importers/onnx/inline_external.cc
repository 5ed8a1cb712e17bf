#include "importers/onnx/inline_external.h"

#include "importers/onnx/model_edit.h"
#include "importers/onnx/proto.h"
#include "importers/onnx/tensor_data.h"
#include "importers/onnx/tensor_file.h"
#include "importers/onnx/wire.h"

namespace fettle::onnx {
namespace {

Result<bool> IsExternal(std::string_view tensor) {
  bool external = false;
  RETURN_IF_ERROR(ForEachField(tensor, "tensor", [&](auto& field) {
    if (field.tag_and_type() == VarintField(14)) {
      external = field.get_enum() == 1;
    } else {
      field.skip();
    }
    return OkStatus();
  }));
  return external;
}

}  // namespace

Result<std::string> WithExternalData(std::string_view model, const std::string& folder) {
  ASSIGN_OR_RETURN(const ModelRecord record, ReadModel(model));
  ExternalFiles files(folder);
  ModelEdit edit;
  for (const NamedRecord& tensor : record.graph.initializers) {
    ASSIGN_OR_RETURN(const bool external, IsExternal(tensor.body));
    if (!external) continue;
    ASSIGN_OR_RETURN(const Constant constant, DecodeTensor(tensor.body, nullptr, &files));
    ASSIGN_OR_RETURN(const Tensor whole, constant.ToTensor());
    edit.dropped_initializers.emplace(tensor.name);
    edit.initializers.push_back(WriteTensorProto(whole, tensor.name));
  }
  if (edit.initializers.empty()) return std::string();
  return ApplyEdit(model, edit);
}

}  // namespace fettle::onnx
