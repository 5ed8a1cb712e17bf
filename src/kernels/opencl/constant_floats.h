// The elements of constants as floats, for kernels that pack them.
#pragma once

#include <cstring>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace fettle::kernels {

/// All elements of a constant of a float or integer type, as floats.
std::vector<float> AllFloats(const Constant& constant);

/// The same to read from; f32 is read where it lies. The constant outlives it.
class ConstantFloats {
 public:
  explicit ConstantFloats(const Constant& constant);
  float operator[](int64_t i) const {
    float value;
    std::memcpy(&value, data_ + i * sizeof(value), sizeof(value));
    return value;
  }

 private:
  std::vector<float> converted_;
  const std::byte* data_;
};

/// Writes element `to` of an array of `storage`, which is f32 or f16.
inline void StoreFloat(float value, DType storage, int64_t to, std::byte* array) {
  if (storage == DType::kF16) {
    reinterpret_cast<Half*>(array)[to] = Half(value);
  } else if (storage == DType::kBF16) {
    reinterpret_cast<BFloat16*>(array)[to] = BFloat16(value);
  } else {
    reinterpret_cast<float*>(array)[to] = value;
  }
}

/// Matrices of one constant that lie one after the other, row by row.
struct ConstantMatrix {
  int64_t first = 0;  // element
  int64_t rows = 0, columns = 0;
  bool transposes = false;  // while it is stored, also row by row
  int64_t to = 0;           // element of the array where it is stored
  int64_t pitch = 0;        // from one stored row to the next; what is between them stays
};

/// Writes a matrix to an array of `storage`, which is f32 or f16. Of f32 it
/// reads some rows at a time.
void StoreMatrix(const Constant& constant, const ConstantMatrix& matrix, DType storage,
                 std::byte* array);

}  // namespace fettle::kernels
