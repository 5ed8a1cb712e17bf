// Tensor types of GGUF files: blocks of numbers of few bits, and the meaning of their bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace fettle::gguf {

/// What a block holds: element i is scale[i / part] * code[i] + minimum[i / part], `part` being 16
/// or 32. Null pointers are left out.
struct BlockParts {
  uint8_t* codes = nullptr;
  float* scales = nullptr;
  float* minima = nullptr;
};

/// One tensor type. Sources of the layouts: ggml's specification of GGUF and its quantised types.
struct TensorType {
  uint32_t id = 0;
  std::string_view name;
  int64_t elements = 1;  // of a block
  int64_t bytes = 1;
  int bits = 0;      // of a code as Fettle keeps it: 4 or 8; 0: floats
  int64_t part = 0;  // elements that share a scale
  void (*read)(const uint8_t* block, const BlockParts& parts) = nullptr;
  /// Times the first half of a block (its step), the largest number that scales and minima hold; 0:
  /// they are whole numbers of 8 bits times their steps, which halves do not hold.
  int64_t most_of_step = 0;
  /// Where the step lies; behind it that of minima, if they have one. -1: it is no half.
  int64_t step_at = 0;
  /// What times a scale is its minimum, a power of two; 0: minima are numbers of their own.
  float times_scale = 0;
  int code_bits = bits;    // that codes have
  int64_t nibbles_at = 0;  // where 16 bytes are BlockSource::CopyNibbles'; 0: nowhere
};

/// The most elements of a block.
inline constexpr int64_t kMaxBlockElements = 256;

/// Null where Fettle does not read it.
const TensorType* FindType(uint32_t id);
/// "F32, F16, ...".
std::string TypeNames();

/// `count` blocks as floats.
void Dequantise(const TensorType& type, const uint8_t* blocks, int64_t count, float* out);

}  // namespace fettle::gguf
