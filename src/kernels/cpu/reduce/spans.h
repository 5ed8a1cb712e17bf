// A tensor as spans of neighbouring axes that are treated alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace fettle::kernels {

/// Spans of a kind that a tensor may fall into.
inline constexpr size_t kMostSpans = 8;

/// Neighbouring axes that are all kept or all reduced.
struct Span {
  int64_t extent, stride;  // elements of the input from one to the next
};

/// Steps through all coordinates of some spans, at most kMostSpans.
class Steps {
 public:
  Steps(std::span<const Span> spans, int64_t begin) : spans_(spans) {
    for (size_t i = spans.size(); i-- > 0;) {
      at_[i] = begin % spans[i].extent;
      begin /= spans[i].extent;
      offset_ += at_[i] * spans[i].stride;
    }
  }
  int64_t offset() const { return offset_; }
  void Next() {
    for (size_t i = spans_.size(); i-- > 0;) {
      offset_ += spans_[i].stride;
      if (++at_[i] < spans_[i].extent) return;
      offset_ -= spans_[i].stride * spans_[i].extent;
      at_[i] = 0;
    }
  }

 private:
  std::span<const Span> spans_;
  int64_t at_[kMostSpans] = {};
  int64_t offset_ = 0;
};

}  // namespace fettle::kernels
