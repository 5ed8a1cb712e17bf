#include "tensor/reorder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tensor/wide_elements.h"

namespace fettle {
namespace {

template <typename D, typename W>
D Convert(W value) {
  if constexpr (std::is_same_v<W, double> && !kIsFloating<D> && !std::is_same_v<D, bool>) {
    const double rounded = std::nearbyint(value);
    const double low = static_cast<double>(std::numeric_limits<D>::lowest());
    const double high = static_cast<double>(std::numeric_limits<D>::max());
    return static_cast<D>(std::isnan(rounded) ? 0.0 : std::clamp(rounded, low, high));
  } else {
    return Narrow<D>(value);
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

/// Elements of so many bytes, which stay as they are.
template <typename T>
void Move(const std::byte* src, const int64_t* from, std::byte* dst, const int64_t* to,
          size_t count) {
  for (size_t i = 0; i < count; ++i)
    reinterpret_cast<T*>(dst)[to[i]] = reinterpret_cast<const T*>(src)[from[i]];
}

class Copier {
 public:
  Copier(const Shape& shape, const State& from, const State& to)
      : from_(from.storage),
        to_(to.storage),
        from_offsets_(AxisOffsets(shape, from.layout)),
        to_offsets_(AxisOffsets(shape, to.layout)) {}

  void Run(const std::byte* src, std::byte* dst, size_t axis = 0) const {
    const std::vector<int64_t>&f = from_offsets_[axis], &t = to_offsets_[axis];
    if (axis + 1 == from_offsets_.size()) return RunRow(src, f, dst, t);
    for (size_t i = 0; i < f.size(); ++i)
      Run(src + StorageBytes(from_, f[i]), dst + StorageBytes(to_, t[i]), axis + 1);
  }

 private:
  void RunRow(const std::byte* src, const std::vector<int64_t>& from, std::byte* dst,
              const std::vector<int64_t>& to) const {
    if (from_ != to_) return ConvertRow(src, from, dst, to);
    switch (StorageBytes(from_, 1)) {
      case 1: return Move<uint8_t>(src, from.data(), dst, to.data(), from.size());
      case 2: return Move<uint16_t>(src, from.data(), dst, to.data(), from.size());
      case 4: return Move<uint32_t>(src, from.data(), dst, to.data(), from.size());
      case 8: return Move<uint64_t>(src, from.data(), dst, to.data(), from.size());
      default: return;
    }
  }
  void ConvertRow(const std::byte* src, const std::vector<int64_t>& from, std::byte* dst,
                  const std::vector<int64_t>& to) const {
    WideElements wide;
    for (size_t begin = 0; begin < from.size(); begin += kWideElements) {
      const size_t count = std::min(kWideElements, from.size() - begin);
      ReadWide(from_, src, from.data() + begin, count, wide);
      WideDispatch(from_, [&]<typename W>() {
        DispatchDType(to_, [&]<typename D>() {
          for (size_t i = 0; i < count; ++i)
            reinterpret_cast<D*>(dst)[to[begin + i]] = Convert<D>(wide.As<W>(i));
        });
      });
    }
  }

  DType from_, to_;
  std::vector<std::vector<int64_t>> from_offsets_, to_offsets_;
};

}  // namespace

void Reorder(const Shape& shape, const State& from, const std::byte* src, const State& to,
             std::byte* dst) {
  if (PhysicalElements(shape, to.layout) != shape.elements()) {
    std::memset(dst, 0, StateBytes(shape, to));
  }
  if (shape.elements() == 0) return;
  Copier(shape, from, to).Run(src, dst);
}

}  // namespace fettle
