#include "importers/gguf/rewrite.h"

#include <cstring>
#include <filesystem>

#include "base/file.h"

namespace fettle::gguf {
namespace {

template <typename T>
void Put(T value, std::string& to) {
  to.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

int64_t Aligned(int64_t bytes, int64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

std::span<const std::byte> BytesOf(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// What stands before the data, and how many bytes that then has.
std::string Header(const File& file, std::span<const TensorType* const> types, uint32_t file_type,
                   int64_t* data) {
  std::string header(reinterpret_cast<const char*>(file.front().data()), file.front().size());
  if (file.file_type_at() >= 0) std::memcpy(header.data() + file.file_type_at(), &file_type, 4);
  *data = 0;
  for (size_t i = 0; i < types.size(); ++i) {
    const TensorInfo& tensor = file.tensors()[i];
    Put<uint64_t>(tensor.name.size(), header);
    header += tensor.name;
    Put(static_cast<uint32_t>(tensor.extents.size()), header);
    for (int64_t extent : tensor.extents) Put<uint64_t>(extent, header);
    Put(types[i]->id, header);
    Put<uint64_t>(*data, header);
    *data += Aligned(BytesAs(tensor, *types[i]), file.alignment());
  }
  header.resize(Aligned(std::ssize(header), file.alignment()));
  return header;
}

Status CheckRoom(const std::string& path, int64_t bytes) {
  std::error_code error;
  const auto folder = std::filesystem::absolute(path, error).parent_path();
  const auto space = std::filesystem::space(folder, error);
  // What is no file, or no disk that tells, is tried.
  if (error ||
      (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error)))
    return OkStatus();
  if (space.available >= static_cast<uintmax_t>(bytes)) return OkStatus();
  return Error(StatusCode::kIo, "{}: {} bytes are needed, and {} are free", path, bytes,
               space.available);
}

Status WritePadded(std::span<const uint8_t> bytes, int64_t alignment, FileWriter& to) {
  RETURN_IF_ERROR(to.Write(std::as_bytes(bytes)));
  const std::string padding(Aligned(std::ssize(bytes), alignment) - std::ssize(bytes), '\0');
  return to.Write(BytesOf(padding));
}

}  // namespace

int64_t BytesAs(const TensorInfo& tensor, const TensorType& type) {
  return tensor.rows * (tensor.columns / type.elements * type.bytes);
}

Status Rewrite(const File& file, std::span<const TensorType* const> types, uint32_t file_type,
               const MakeBytes& make, const std::string& path) {
  int64_t data = 0;
  const std::string header = Header(file, types, file_type, &data);
  RETURN_IF_ERROR(CheckRoom(path, std::ssize(header) + data));
  ASSIGN_OR_RETURN(const auto to, FileWriter::Create(path));
  RETURN_IF_ERROR(to->Write(BytesOf(header)));
  for (size_t i = 0; i < types.size(); ++i) {
    const TensorInfo& tensor = file.tensors()[i];
    if (types[i] == tensor.type) {
      RETURN_IF_ERROR(WritePadded(tensor.bytes, file.alignment(), *to));
      continue;
    }
    ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, make(i));
    RETURN_IF_ERROR(WritePadded(bytes, file.alignment(), *to));
  }
  return to->Commit();
}

}  // namespace fettle::gguf
