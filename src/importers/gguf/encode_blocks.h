// Floats to the blocks of GGUF's tensor types: what gguf_types.h reads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "importers/gguf/gguf_file.h"

namespace fettle::gguf {

/// Types that Encode writes, the smallest blocks first; and their names, "q4_0, ...".
const std::vector<const TensorType*>& EncodedTypes();
std::string EncodedNames();
/// By its name in any case; null where it is not among EncodedTypes.
const TensorType* FindEncodedType(std::string_view name);

/// `count` blocks of finite floats. Scales are those of the least squared error that a search finds
/// (fit_scales.h), the scale of TQ2_0 the best there is.
void Encode(const TensorType& type, const float* values, int64_t count, uint8_t* out);

/// Encodes `rows` of the tensor in another type, one behind the other. Adds the sum of squared
/// errors to `error`, and that of the elements to `power`. kInvalidModel where an element is not
/// finite, or larger than a block can hold. Rows that have the type already are copied.
Status EncodeRows(const TensorInfo& tensor, const TensorType& type, int64_t begin, int64_t rows,
                  uint8_t* out, double* error, double* power);

/// The result for a whole tensor.
struct Encoded {
  std::vector<uint8_t> bytes;
  double error = 0, power = 0;
};
/// By so many threads.
Result<Encoded> EncodeTensor(const TensorInfo& tensor, const TensorType& type, int threads);

}  // namespace fettle::gguf
