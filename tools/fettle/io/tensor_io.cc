#include "io/tensor_io.h"

#include <sys/stat.h>

#include <cstring>

#include "base/file.h"
#include "importers/onnx/tensor_file.h"
#include "io/npy.h"
#include "io/picture.h"
#include "jobs/exit_code.h"

namespace fettle::tools {

FileKind FileKindOf(const std::string& path) {
  if (path.ends_with(".npy")) return FileKind::kNpy;
  if (path.ends_with(".pb")) return FileKind::kPb;
  return IsPictureName(path) || IsForeignPictureName(path) ? FileKind::kPicture : FileKind::kRaw;
}

bool IsArchiveName(const std::string& path) { return path.ends_with(".npz"); }

bool FileExists(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0;
}

bool IsDirectory(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

Status CheckWritable(const std::string& path) {
  struct stat info;
  const bool is_there = stat(path.c_str(), &info) == 0;
  if (path.empty() || (is_there && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)))
    return OkStatus();
  return AsWriteFailure(FileWriter::Create(path).status());
}

Result<Tensor> ReadTensor(const std::string& path) {
  return FileKindOf(path) == FileKind::kNpy ? ReadNpy(path) : onnx::ReadTensorFile(path);
}

Result<Tensor> ReadRaw(const std::string& path, DType dtype, const Shape& shape) {
  ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  if (IsArchiveName(path))
    return InvalidArgument("{}: an archive of arrays; give each array as a .npy file", path);
  if (!shape.IsConcrete())
    return InvalidArgument("{}: raw bytes need a known shape, give --shape", path);
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(dtype, shape));
  if (file->bytes().size() != tensor.bytes().size()) {
    return InvalidArgument("{}: expected {} bytes for {} of shape {}, got {}", path,
                           tensor.bytes().size(), DTypeName(dtype), shape.ToString(),
                           file->bytes().size());
  }
  if (!file->bytes().empty())
    std::memcpy(tensor.data(), file->bytes().data(), file->bytes().size());
  if (dtype == DType::kBool)
    for (std::byte& byte : tensor.bytes()) byte = std::byte{byte != std::byte{0}};
  return tensor;
}

Status WriteTensor(const std::string& path, const Tensor& tensor, const std::string& name) {
  switch (FileKindOf(path)) {
    case FileKind::kNpy: return WriteNpy(path, tensor);
    case FileKind::kPb: return WriteTextFile(path, onnx::WriteTensorProto(tensor, name));
    case FileKind::kPicture:
    case FileKind::kRaw: break;
  }
  return WriteFile(path, tensor.bytes());
}

std::string FileNameFor(const std::string& value_name) {
  std::string name;
  for (char c : value_name) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '_' || c == '-' || (c == '.' && !name.empty());
    name += plain ? c : '_';
  }
  return name.substr(0, 200);
}

}  // namespace fettle::tools
