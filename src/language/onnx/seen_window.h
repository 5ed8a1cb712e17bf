// Finds which keys the queries of a language model see.
#pragma once

#include <algorithm>
#include <cstdint>

namespace fettle::language {

/// Whether each query sees its own key and those before it, or the last of these alone. Gathered
/// over runs of several lengths.
class SeenWindow {
 public:
  /// `sees(row, key)` of `fresh` queries behind `past` others. False where they see other keys.
  template <typename F>
  bool Take(int64_t past, int64_t fresh, F sees) {
    for (int64_t row = 0; row < fresh; ++row) {
      const int64_t position = past + row;
      int64_t first = 0;
      while (first <= position && !sees(row, first)) ++first;
      for (int64_t key = first; key < past + fresh; ++key)
        if (sees(row, key) != (key <= position)) return false;
      const int64_t seen = position + 1 - first;
      if (seen == 0 || (first > 0 && window_ >= 0 && window_ != seen)) return false;
      if (first > 0) window_ = seen;
      longest_ = first == 0 ? std::max(longest_, seen) : longest_;
    }
    return window_ < 0 || longest_ <= window_;
  }
  /// Keys that a query sees, its own one included; -1: all.
  int64_t keys() const { return window_; }

 private:
  int64_t window_ = -1, longest_ = 0;
};

}  // namespace fettle::language
