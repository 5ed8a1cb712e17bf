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

/// What each index of each axis contributes to the offset.
std::vector<std::vector<int64_t>> AxisOffsets(const Shape& shape, const Layout& layout) {
  const OffsetMap map(shape, layout);
  std::vector<std::vector<int64_t>> offsets;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    std::vector<int64_t>& of_axis = offsets.emplace_back();
    for (int64_t i = 0; i < shape[axis]; ++i) of_axis.push_back(map.AxisOffset(axis, i));
  }
  if (offsets.empty()) offsets.push_back({0});  // a scalar has one element
  return offsets;
}

template <typename S, typename D>
struct Copier {
  std::vector<std::vector<int64_t>> from, to;

  void Run(const S* src, D* dst, size_t axis = 0) const {
    const std::vector<int64_t>&f = from[axis], &t = to[axis];
    if (axis + 1 < from.size()) {
      for (size_t i = 0; i < f.size(); ++i) Run(src + f[i], dst + t[i], axis + 1);
    } else {
      for (size_t i = 0; i < f.size(); ++i) dst[t[i]] = Convert<S, D>(src[f[i]]);
    }
  }
};

}  // namespace

void Reorder(const Shape& shape, const State& from, const std::byte* src, const State& to,
             std::byte* dst) {
  if (PhysicalElements(shape, to.layout) != shape.elements()) {
    std::memset(dst, 0, StateBytes(shape, to));
  }
  if (shape.elements() == 0) return;
  DispatchDType(from.storage, [&]<typename S>() {
    DispatchDType(to.storage, [&]<typename D>() {
      const Copier<S, D> copier{AxisOffsets(shape, from.layout), AxisOffsets(shape, to.layout)};
      copier.Run(reinterpret_cast<const S*>(src), reinterpret_cast<D*>(dst));
    });
  });
}

}  // namespace fettle
