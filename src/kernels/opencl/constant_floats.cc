#include "kernels/opencl/constant_floats.h"

#include <algorithm>

#include "tensor/read_floats.h"

namespace fettle::kernels {
namespace {

/// Rows and columns of what is read before it is written: lines of the cache are read and written
/// as a whole, and few pages at a time.
constexpr int64_t kBlockRows = 16, kBlockColumns = 1024;

template <class T>
void StoreBlocks(const Constant& constant, const ConstantMatrix& matrix, T* array) {
  std::vector<float> block(kBlockRows * kBlockColumns);
  for (int64_t r0 = 0; r0 < matrix.rows; r0 += kBlockRows) {
    const int64_t rows = std::min(kBlockRows, matrix.rows - r0);
    for (int64_t c0 = 0; c0 < matrix.columns; c0 += kBlockColumns) {
      const int64_t columns = std::min(kBlockColumns, matrix.columns - c0);
      for (int64_t r = 0; r < rows; ++r)
        ReadFloats(constant, matrix.first + (r0 + r) * matrix.columns + c0, columns,
                   block.data() + r * kBlockColumns);
      for (int64_t c = 0; matrix.transposes && c < columns; ++c)
        for (int64_t r = 0; r < rows; ++r)
          array[matrix.to + (c0 + c) * matrix.pitch + r0 + r] = T(block[r * kBlockColumns + c]);
      for (int64_t r = 0; !matrix.transposes && r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c)
          array[matrix.to + (r0 + r) * matrix.pitch + c0 + c] = T(block[r * kBlockColumns + c]);
    }
  }
}

}  // namespace

std::vector<float> AllFloats(const Constant& constant) {
  std::vector<float> floats(constant.elements());
  ReadFloats(constant, 0, constant.elements(), floats.data());
  return floats;
}

ConstantFloats::ConstantFloats(const Constant& constant) {
  const bool lies_there =
      constant.dtype() == DType::kF32 && !constant.is_splat() && constant.source() == nullptr;
  if (!lies_there) converted_ = AllFloats(constant);
  data_ =
      lies_there ? constant.bytes().data() : reinterpret_cast<const std::byte*>(converted_.data());
}

void StoreMatrix(const Constant& constant, const ConstantMatrix& matrix, DType storage,
                 std::byte* array) {
  if (storage == DType::kF16) {
    StoreBlocks(constant, matrix, reinterpret_cast<Half*>(array));
  } else if (storage == DType::kBF16) {
    StoreBlocks(constant, matrix, reinterpret_cast<BFloat16*>(array));
  } else {
    StoreBlocks(constant, matrix, reinterpret_cast<float*>(array));
  }
}

}  // namespace fettle::kernels
