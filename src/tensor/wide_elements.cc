#include "tensor/wide_elements.h"

namespace fettle {

void ReadWide(DType dtype, const std::byte* data, const int64_t* at, size_t count,
              WideElements& wide) {
  DispatchDType(dtype, [&]<typename T>() {
    const T* elements = reinterpret_cast<const T*>(data);
    for (size_t i = 0; i < count; ++i) {
      if constexpr (std::is_same_v<T, bool>) {
        wide.bits[i] = elements[at[i]] ? 1 : 0;
      } else {
        wide.bits[i] = std::bit_cast<uint64_t>(Widen(elements[at[i]]));
      }
    }
  });
}

}  // namespace fettle
