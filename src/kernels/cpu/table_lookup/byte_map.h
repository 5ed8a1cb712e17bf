// Bytes through a table of 256.
#pragma once

#include <cstdint>

namespace fettle::kernels {

/// y[r * y_stride + c] = table[x[r * x_stride + c]]. Reads and writes no other byte; y may be x.
/// `table` has 256 bytes; null: bytes are copied.
struct ByteMapArgs {
  const uint8_t* table = nullptr;
  const uint8_t* x = nullptr;
  uint8_t* y = nullptr;
  int64_t x_stride = 0, y_stride = 0;
  int64_t rows = 1, columns = 0;
};
using ByteMapFunction = void (*)(const ByteMapArgs&);

/// The best that the machine has: two permutations of AVX-512 VBMI for 64 bytes, elsewhere sixteen
/// shuffles of Highway's for a vector.
ByteMapFunction ChooseByteMap();

/// Whether kernels run the byte permutations of AVX-512 VBMI: the machine has them, and no test
/// forces lesser instructions upon Highway.
bool RunsAvx512Vbmi();

/// Null where the build's target has no AVX-512 VBMI.
ByteMapFunction ByteMapAvx512Vbmi();

}  // namespace fettle::kernels
