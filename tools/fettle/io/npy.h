// NumPy's .npy files (format versions 1 to 3).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "tensor/tensor.h"

namespace fettle::tools {

/// Reads one array of either byte order and either memory order. Fails with kInvalidArgument on
/// anything that is no array of numbers or bools, or whose size disagrees with its header.
Result<Tensor> ParseNpy(std::span<const std::byte> bytes);
Result<Tensor> ReadNpy(const std::string& path);

/// The bytes of a little-endian, row-major .npy file. NumPy knows no bf16 and no 8-bit floats:
/// those are widened to f32, and i4/u4 are stored as i8/u8.
std::vector<std::byte> FormatNpy(const Tensor& tensor);
Status WriteNpy(const std::string& path, const Tensor& tensor);

}  // namespace fettle::tools
