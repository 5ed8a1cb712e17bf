// Writes a GGUF file anew with its tensors in other types.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "importers/gguf/gguf_file.h"

namespace fettle::gguf {

/// Bytes of the tensor in that type. Its rows are whole blocks of it.
int64_t BytesAs(const TensorInfo& tensor, const TensorType& type);

/// The bytes of tensor `i` in the type that is wanted. Asked in the file's order.
using MakeBytes = std::function<Result<std::vector<uint8_t>>(size_t i)>;

/// Writes `path`, whole or not at all: metadata and order of the tensors as `file` has them, byte
/// for byte (but `general.file_type`, which says what most tensors are, becomes `file_type`);
/// tensor i in types[i], by `make` where that is not its own. Fails with kIo, also where the disk
/// has no room, and as `make` does.
Status Rewrite(const File& file, std::span<const TensorType* const> types, uint32_t file_type,
               const MakeBytes& make, const std::string& path);

}  // namespace fettle::gguf
