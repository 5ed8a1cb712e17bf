// Which types the matrices of a language model may have in a file.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "importers/gguf/gguf_file.h"

namespace fettle::language {

/// Weights of products and embeddings, but for those of routers, which are few and choose experts;
/// all other tensors keep their type.
bool IsMatrix(const gguf::TensorInfo& tensor);
/// `type` where rows are whole blocks of it, otherwise the one of smaller blocks that stands in for
/// it: Q5_0 for Q4_K, Q5_1 for Q5_K, Q8_0 for Q6_K, Q4_0 for TQ2_0, Q2_K and Q3_K, F16 for those
/// of 32.
const gguf::TensorType* Fitting(const gguf::TensorInfo& tensor, const gguf::TensorType& type);
/// All matrices in that type, or what fits.
std::vector<const gguf::TensorType*> UniformTypes(const gguf::File& file,
                                                  const gguf::TensorType& type);
/// The value of `general.file_type` for tensors of these types: that of the type that has most
/// elements.
uint32_t FileTypeOf(const gguf::File& file, std::span<const gguf::TensorType* const> types);

/// Bytes of all tensors, and bits of an element in the mean.
struct TensorSize {
  int64_t bytes = 0;
  double bits = 0;
};
TensorSize SizeOf(const gguf::File& file, std::span<const gguf::TensorType* const> types);

}  // namespace fettle::language
