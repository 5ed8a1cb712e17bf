#include "kernels/cpu/elementwise/tile_copy.h"

#include <algorithm>
#include <cstring>

namespace fettle::kernels::elementwise {
namespace {

template <typename T>
void CopyTyped(const std::byte* from, int64_t stride, int64_t n, std::byte* to) {
  const auto* x = reinterpret_cast<const T*>(from);
  auto* y = reinterpret_cast<T*>(to);
  if (stride == 0) {
    std::fill_n(y, n, *x);
  } else if (stride == 1) {
    std::memcpy(y, x, n * sizeof(T));
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] = x[i * stride];
  }
}

}  // namespace

void RepeatTile(std::byte* tile, int64_t bytes, int64_t count) {
  for (int64_t done = 1; done < count; done *= 2)
    std::memcpy(tile + done * bytes, tile, std::min(done, count - done) * bytes);
}

void CopyElements(int64_t bytes, const std::byte* from, int64_t stride, int64_t n, std::byte* to) {
  switch (bytes) {
    case 1: return CopyTyped<uint8_t>(from, stride, n, to);
    case 2: return CopyTyped<uint16_t>(from, stride, n, to);
    case 4: return CopyTyped<uint32_t>(from, stride, n, to);
    default: return CopyTyped<uint64_t>(from, stride, n, to);
  }
}

std::byte* CopyTile(int64_t bytes, std::span<const int64_t> dims, std::span<const int64_t> strides,
                    const std::byte* from, std::byte* to) {
  if (dims.size() == 1) {
    CopyElements(bytes, from, strides[0], dims[0], to);
    return to + dims[0] * bytes;
  }
  for (int64_t i = 0; i < dims[0]; ++i)
    to = CopyTile(bytes, dims.subspan(1), strides.subspan(1), from + i * strides[0] * bytes, to);
  return to;
}

bool IsDenseTile(std::span<const int64_t> dims, std::span<const int64_t> strides) {
  int64_t next = 1;
  for (size_t axis = dims.size(); axis-- > 0; next *= dims[axis]) {
    if (strides[axis] != next) return false;
  }
  return true;
}

}  // namespace fettle::kernels::elementwise
