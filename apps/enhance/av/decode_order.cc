#include "av/decode_order.h"

#include <algorithm>

namespace fettle::enhance {

int ReorderDelay(std::span<const int64_t> times) {
  std::vector<int64_t> shown(times.begin(), times.end());
  std::ranges::sort(shown);
  int64_t delay = 0;
  for (size_t i = 0; i < times.size(); ++i) {
    const auto rank = std::ranges::lower_bound(shown, times[i]) - shown.begin();
    delay = std::max(delay, static_cast<int64_t>(i) - rank);
  }
  return static_cast<int>(delay);
}

int64_t DecodingTimes::Of(int64_t presentation) {
  if (count_ == 0) first_ = presentation;
  waiting_.push(presentation);
  if (count_ < delay_) return first_ - (delay_ - count_++) * usual_duration_;
  ++count_;
  const int64_t time = waiting_.top();
  waiting_.pop();
  return time;
}

}  // namespace fettle::enhance
