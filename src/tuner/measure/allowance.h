// What may still start before a deadline, judged by how long such work took so far.
#pragma once

#include <cstdint>
#include <functional>

#include "base/clock.h"
#include "tuner/measure/effort.h"

namespace fettle::tuner {

/// Not synchronised.
class Allowance {
 public:
  /// `deadline_ns` on the clock `now_ns` (empty: the steady clock); 0: none.
  explicit Allowance(int64_t deadline_ns, std::function<int64_t()> now_ns = nullptr)
      : deadline_ns_(deadline_ns), now_ns_(now_ns ? std::move(now_ns) : NowNs) {}

  bool limited() const { return deadline_ns_ > 0; }
  /// Seconds until the deadline, less those that are kept for later; huge without a deadline.
  double Left() const;
  bool IsOver() const { return Left() <= 0; }
  /// Keeps `seconds` for what must be done at the end, whatever happens.
  void Keep(double seconds) { kept_ = seconds; }

  /// Whether work of this effort is expected to end in time.
  bool Affords(const Effort& effort) const;
  /// Runs `work`, and learns from the time that it took.
  template <typename Work>
  auto Spend(const Effort& effort, Work&& work) {
    const int64_t begin = now_ns_();
    auto result = work();
    Learn(effort, static_cast<double>(now_ns_() - begin) * 1e-9);
    return result;
  }

 private:
  double Expected(const Effort& effort) const;
  void Learn(const Effort& effort, double seconds);

  int64_t deadline_ns_;
  std::function<int64_t()> now_ns_;
  double kept_ = 0;
  /// What work took over its guess: rises fast, falls slowly.
  double known_factor_ = 2, new_factor_ = 2;
};

}  // namespace fettle::tuner
