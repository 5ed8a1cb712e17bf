// Tensors in files: .npy, .pb (TensorProto), pictures, raw bytes; the kind follows from the name.
#pragma once

#include <string>

#include "base/status.h"
#include "tensor/tensor.h"

namespace fettle::tools {

enum class FileKind { kNpy, kPb, kPicture, kRaw };
FileKind FileKindOf(const std::string& path);
/// Whether a name is that of an archive of arrays, which is neither read nor written.
bool IsArchiveName(const std::string& path);
bool FileExists(const std::string& path);
bool IsDirectory(const std::string& path);
/// Whether a file of that name can be begun, of which nothing is left: what is asked before long
/// work. "" and devices pass.
Status CheckWritable(const std::string& path);

/// Reads a .npy or .pb file.
Result<Tensor> ReadTensor(const std::string& path);
/// A file of exactly the elements of `shape`, little-endian. Unknown extents are an error.
Result<Tensor> ReadRaw(const std::string& path, DType dtype, const Shape& shape);

/// Writes .npy, .pb or raw bytes (any other name), whole or not at all.
Status WriteTensor(const std::string& path, const Tensor& tensor, const std::string& name);

/// A value's name as a file name: what a file system may refuse becomes '_'.
std::string FileNameFor(const std::string& value_name);

}  // namespace fettle::tools
