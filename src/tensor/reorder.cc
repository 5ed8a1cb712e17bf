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

/// Offsets that the indices of the last axis contribute; one for a scalar.
std::vector<int64_t> LastAxisOffsets(const Shape& shape, const OffsetMap& map) {
  if (shape.rank() == 0) return {0};
  std::vector<int64_t> offsets(static_cast<size_t>(shape[shape.rank() - 1]));
  for (size_t i = 0; i < offsets.size(); ++i)
    offsets[i] = map.AxisOffset(shape.rank() - 1, static_cast<int64_t>(i));
  return offsets;
}

template <typename S, typename D>
void Copy(const Shape& shape, const OffsetMap& from, const S* src, const OffsetMap& to, D* dst) {
  std::vector<int64_t> coordinate(static_cast<size_t>(shape.rank()));
  const std::vector<int64_t> from_last = LastAxisOffsets(shape, from),
                             to_last = LastAxisOffsets(shape, to);
  const auto inner = static_cast<int64_t>(from_last.size());
  const int64_t count = shape.elements();
  for (int64_t begin = 0; begin < count; begin += inner) {
    Unravel(begin, shape, coordinate);
    if (!coordinate.empty()) coordinate.back() = 0;
    const S* row = src + from(coordinate);
    D* out = dst + to(coordinate);
    for (size_t i = 0; i < from_last.size(); ++i)
      out[to_last[i]] = Convert<S, D>(row[from_last[i]]);
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
