#include "tensor/read_floats.h"

#include <algorithm>

#include "tensor/dtype.h"

namespace fettle {

void ReadFloats(const Constant& constant, int64_t begin, int64_t count, float* out) {
  if (constant.dtype() == DType::kF32) {
    constant.CopyTo(begin, count, reinterpret_cast<std::byte*>(out));
    return;
  }
  DispatchDType(constant.dtype(), [&]<typename T>() {
    T piece[256];
    while (count > 0) {
      const int64_t n = std::min<int64_t>(count, 256);
      constant.CopyTo(begin, n, reinterpret_cast<std::byte*>(piece));
      for (int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(Widen(piece[i]));
      begin += n;
      count -= n;
      out += n;
    }
  });
}

}  // namespace fettle
