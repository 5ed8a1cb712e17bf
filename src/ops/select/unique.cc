// What Unique and NonZero find: needed for their shapes as well as for their elements.
#include <algorithm>
#include <numeric>

#include "ops/element_access.h"
#include "ops/select/op.h"

namespace fettle::ops {
namespace {

/// Compares entries along an axis by the first elements that differ. NaN sorts last and equals
/// itself.
class EntryOrder {
 public:
  EntryOrder(const HostView& x, bool has_axis, int axis) : x_(x) {
    if (!has_axis) {
      ForEachCoordinate(x.shape, {0, x.shape.elements()},
                        [&](int64_t, std::span<const int64_t> c) { at_.push_back(x.Offset(c)); });
      within_.push_back(0);
      return;
    }
    Shape rest = x.shape;
    rest[axis] = 1;
    ForEachCoordinate(rest, {0, rest.elements()},
                      [&](int64_t, std::span<const int64_t> c) { within_.push_back(x.Offset(c)); });
    for (int64_t i = 0; i < x.shape[axis]; ++i) at_.push_back(i * x.strides[axis]);
  }

  size_t entries() const { return at_.size(); }
  /// Below, at or above 0: entry `a` lies before, equals or lies after entry `b`.
  int operator()(int64_t a, int64_t b) const {
    int order = 0;
    DispatchDType(x_.dtype, [&]<typename T>() {
      const T* left = x_.as<T>() + at_[a];
      const T* right = x_.as<T>() + at_[b];
      for (size_t i = 0; i < within_.size() && order == 0; ++i)
        order = CompareValues(Widen(left[within_[i]]), Widen(right[within_[i]]));
    });
    return order;
  }

 private:
  template <typename W>
  static int CompareValues(W a, W b) {
    const bool a_nan = a != a, b_nan = b != b;
    if (a_nan || b_nan) return static_cast<int>(a_nan) - static_cast<int>(b_nan);
    return a < b ? -1 : static_cast<int>(b < a);
  }

  const HostView& x_;
  std::vector<int64_t> at_;      // offset of each entry
  std::vector<int64_t> within_;  // offsets of an entry's elements
};

}  // namespace

UniqueEntries FindUnique(const HostView& x, bool has_axis, int axis, bool sorted) {
  const EntryOrder order(x, has_axis, axis);
  std::vector<int64_t> ranked(order.entries());
  std::iota(ranked.begin(), ranked.end(), 0);
  std::stable_sort(ranked.begin(), ranked.end(),
                   [&](int64_t a, int64_t b) { return order(a, b) < 0; });
  // Equal entries are neighbours now, the earliest position first.
  std::vector<int64_t> leader(ranked.size()), firsts;
  for (size_t i = 0; i < ranked.size(); ++i) {
    if (i == 0 || order(firsts.back(), ranked[i]) != 0) firsts.push_back(ranked[i]);
    leader[ranked[i]] = firsts.back();
  }
  if (!sorted) std::sort(firsts.begin(), firsts.end());
  std::vector<int64_t> entry_of(ranked.size());
  for (size_t i = 0; i < firsts.size(); ++i) entry_of[firsts[i]] = static_cast<int64_t>(i);
  UniqueEntries entries{firsts, {}, std::vector<int64_t>(firsts.size())};
  for (int64_t first : leader) {
    entries.inverse.push_back(entry_of[first]);
    ++entries.counts[entries.inverse.back()];
  }
  return entries;
}

std::vector<int64_t> FindNonZero(const HostView& x) {
  std::vector<int64_t> coordinates;
  DispatchDType(x.dtype, [&]<typename T>() {
    const T* elements = x.as<T>();
    ForEachCoordinate(x.shape, {0, x.shape.elements()}, [&](int64_t, std::span<const int64_t> c) {
      if (Widen(elements[x.Offset(c)]) != 0)
        coordinates.insert(coordinates.end(), c.begin(), c.end());
    });
  });
  return coordinates;
}

}  // namespace fettle::ops
