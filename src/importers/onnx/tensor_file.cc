#include "importers/onnx/tensor_file.h"

#include <protozero/pbf_writer.hpp>

#include "base/file.h"
#include "importers/onnx/proto.h"
#include "importers/onnx/tensor_data.h"
#include "importers/onnx/wire.h"

namespace fettle::onnx {
namespace {

std::string StoredForm(const Tensor& tensor) {
  const std::string_view host = AsText(tensor.bytes());
  if (!IsSubByte(tensor.dtype())) return std::string(host);
  std::string packed(PackedBytes(4, tensor.elements()), '\0');
  for (size_t i = 0; i < host.size(); ++i) {
    const int nibble = (host[i] & 15) << (i % 2 == 0 ? 0 : 4);
    packed[i / 2] = static_cast<char>(packed[i / 2] | nibble);
  }
  return packed;
}

}  // namespace

Result<Tensor> ReadTensorProto(std::span<const std::byte> bytes) {
  ASSIGN_OR_RETURN(const Constant constant, DecodeTensor(AsText(bytes), nullptr, nullptr));
  return constant.ToTensor();
}

Result<Tensor> ReadTensorFile(const std::string& path) {
  ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  Result<Tensor> tensor = ReadTensorProto(file->bytes());
  if (!tensor.ok()) return tensor.status().WithContext(path);
  return tensor;
}

Result<std::string> ReadTensorProtoName(std::span<const std::byte> bytes) {
  std::string name;
  RETURN_IF_ERROR(ForEachField(AsText(bytes), "tensor", [&](auto& field) {
    if (field.tag_and_type() == BytesField(8)) {
      name = View(field);
    } else {
      field.skip();
    }
    return OkStatus();
  }));
  return name;
}

Tensor AsDeclared(const Tensor& tensor, DType declared) {
  if (tensor.dtype() != DType::kU16 || declared != DType::kBF16) return tensor;
  return Tensor::Borrow(declared, tensor.shape(), tensor.data(), tensor.storage());
}

std::string WriteTensorProto(const Tensor& tensor, std::string_view name) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  const Dims& dims = tensor.shape().dims();
  writer.add_packed_int64(1, dims.begin(), dims.end());
  writer.add_enum(2, CodeFromDType(tensor.dtype()));
  if (!name.empty()) writer.add_string(8, name.data(), name.size());
  const std::string stored = StoredForm(tensor);
  writer.add_bytes(9, stored.data(), stored.size());
  return bytes;
}

}  // namespace fettle::onnx
