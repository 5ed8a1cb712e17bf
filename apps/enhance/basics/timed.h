// Time that stages take, added up while other threads read it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace fettle::enhance {

/// Adds the nanoseconds that it lives.
class Timed {
 public:
  explicit Timed(std::atomic<int64_t>& total) : total_(total) {}
  ~Timed() { total_ += std::chrono::nanoseconds(Clock::now() - start_).count(); }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  std::atomic<int64_t>& total_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace fettle::enhance
