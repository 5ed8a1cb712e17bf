// Elements of constants as text, and back.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"
#include "tensor/dtype.h"

namespace fettle::ir {

/// The shortest text that reads back as the same element; integers for kBool. `element` need not be
/// aligned.
std::string ElementText(DType dtype, const std::byte* element);
/// Reads one element and writes StorageBytes(dtype, 1) bytes. Fails with kInvalidArgument on what
/// is no number of that type.
Status ReadElement(std::string_view text, DType dtype, std::byte* element);

/// The shortest text of a double: always with '.', an exponent, or as nan or inf. A trailing 'f'
/// means the nearest float to the text, widened.
std::string FloatText(double value);
/// What FloatText wrote.
Result<double> ReadFloat(std::string_view text);
Result<int64_t> ReadInt(std::string_view text);

}  // namespace fettle::ir
