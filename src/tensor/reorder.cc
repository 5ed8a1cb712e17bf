#include "tensor/reorder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace fettle {
namespace {

template <typename S, typename D>
D Convert(S value) {
  if constexpr (std::is_same_v<S, D>) {
    return value;
  } else if constexpr (kIsFloating<S> && !kIsFloating<D> && !std::is_same_v<D, bool>) {
    const double rounded = std::nearbyint(Widen(value));
    const double low = static_cast<double>(std::numeric_limits<D>::lowest());
    const double high = static_cast<double>(std::numeric_limits<D>::max());
    return static_cast<D>(std::isnan(rounded) ? 0.0 : std::clamp(rounded, low, high));
  } else {
    return Narrow<D>(Widen(value));
  }
}

template <typename S, typename D>
void Copy(const Shape& shape, const OffsetMap& from, const S* src, const OffsetMap& to, D* dst) {
  std::vector<int64_t> coordinate(static_cast<size_t>(shape.rank()));
  const int64_t count = shape.elements();
  const int64_t inner = shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
  for (int64_t begin = 0; begin < count; begin += inner) {
    Unravel(begin, shape, coordinate);
    const int64_t from_base = from(coordinate), to_base = to(coordinate);
    for (int64_t i = 0; i < inner; ++i) {
      const int64_t f = shape.rank() == 0 ? 0 : from.AxisOffset(shape.rank() - 1, i);
      const int64_t t = shape.rank() == 0 ? 0 : to.AxisOffset(shape.rank() - 1, i);
      dst[to_base + t] = Convert<S, D>(src[from_base + f]);
    }
  }
}

}  // namespace

void Reorder(const Shape& shape, const State& from, const std::byte* src, const State& to,
             std::byte* dst) {
  if (PhysicalElements(shape, to.layout) != shape.elements()) {
    std::memset(dst, 0, static_cast<size_t>(StateBytes(shape, to)));
  }
  const OffsetMap from_map(shape, from.layout), to_map(shape, to.layout);
  DispatchDType(from.storage, [&]<typename S>() {
    DispatchDType(to.storage, [&]<typename D>() {
      Copy(shape, from_map, reinterpret_cast<const S*>(src), to_map, reinterpret_cast<D*>(dst));
    });
  });
}

}  // namespace fettle
