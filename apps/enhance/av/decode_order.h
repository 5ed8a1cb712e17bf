// Packets stand in the order of decoding: how late that makes a packet's time of decoding, and
// which time that is.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <vector>

namespace fettle::enhance {

/// How many frames stand between decoding and showing at most, of the times of presentation of
/// packets in their order; no two are equal.
int ReorderDelay(std::span<const int64_t> times);

/// Times of decoding that rise and are never after those of presentation: those of presentation in
/// their order, `delay` packets late. Before the first the usual duration of a frame counts on.
class DecodingTimes {
 public:
  DecodingTimes(int delay, int64_t usual_duration)
      : delay_(delay), usual_duration_(usual_duration) {}
  /// Of the next packet.
  int64_t Of(int64_t presentation);

 private:
  const int64_t delay_, usual_duration_;
  int64_t count_ = 0, first_ = 0;
  std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>> waiting_;
};

}  // namespace fettle::enhance
