// A machine whose time passes only when work is done on it, with noise and drops of its clock.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>

namespace fettle::tuner {

class FakeMachine {
 public:
  /// `noise`: relative standard deviation of the time of a piece of work.
  FakeMachine(uint64_t seed, double noise) : random_(seed), noise_(noise) {}

  /// From `at_ns` for `length_ns` everything takes `factor` times as long.
  void DropClock(int64_t at_ns, int64_t length_ns, double factor) {
    drop_begin_ = at_ns;
    drop_end_ = at_ns + length_ns;
    factor_ = factor;
  }

  /// Takes `us` microseconds at full clock and without noise.
  void Work(double us) {
    const bool slow = now_ns_ >= drop_begin_ && now_ns_ < drop_end_;
    const double noisy = us * std::max(0.2, 1 + noise_ * normal_(random_));
    now_ns_ += std::llround(1000 * noisy * (slow ? factor_ : 1));
  }

  int64_t now_ns() const { return now_ns_; }
  std::function<int64_t()> clock() const {
    return [this] { return now_ns_; };
  }

 private:
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  double noise_;
  int64_t now_ns_ = 0;
  int64_t drop_begin_ = 0, drop_end_ = 0;
  double factor_ = 1;
};

}  // namespace fettle::tuner
