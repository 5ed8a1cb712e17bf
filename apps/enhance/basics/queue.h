// The queues between the stages: bounded in bytes, closed by the producer, left at once on a stop.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

namespace fettle::enhance {

enum class Pushed { kOk, kClosed, kCancelled };

/// First in, first out, for any number of threads. One item is taken whatever its size.
template <typename T>
class ByteQueue {
 public:
  explicit ByteQueue(size_t limit) : limit_(limit) {}

  Pushed Push(T item, size_t bytes, std::stop_token stop) {
    std::unique_lock lock(mutex_);
    const bool free =
        changed_.wait(lock, stop, [&] { return closed_ || held_ == 0 || held_ + bytes <= limit_; });
    if (!free) return Pushed::kCancelled;
    if (closed_) return Pushed::kClosed;
    held_ += bytes;
    items_.emplace_back(std::move(item), bytes);
    changed_.notify_all();
    return Pushed::kOk;
  }
  /// Nothing once the queue is closed and empty, or on a stop.
  std::optional<T> Pop(std::stop_token stop) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [&] { return closed_ || !items_.empty(); });
    if (stop.stop_requested() || items_.empty()) return std::nullopt;
    return TakeFirst();
  }
  /// What is there now.
  std::optional<T> TryPop() {
    const std::lock_guard lock(mutex_);
    if (items_.empty()) return std::nullopt;
    return TakeFirst();
  }
  void Close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  std::optional<T> TakeFirst() {
    auto [item, bytes] = std::move(items_.front());
    items_.pop_front();
    held_ -= bytes;
    changed_.notify_all();
    return std::move(item);
  }

  const size_t limit_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::pair<T, size_t>> items_;
  size_t held_ = 0;
  bool closed_ = false;
};

/// Takes items in any order and gives them by their number, `first` on. The next one in order is
/// taken whatever is held, so that producers never wait for each other. It ends with the last of
/// `producers` that says Done.
template <typename T>
class OrderedQueue {
 public:
  OrderedQueue(size_t limit, int64_t first, int producers)
      : limit_(limit), next_(first), producers_(producers) {}

  Pushed Push(int64_t number, T item, size_t bytes, std::stop_token stop) {
    std::unique_lock lock(mutex_);
    const bool free =
        changed_.wait(lock, stop, [&] { return number == next_ || held_ + bytes <= limit_; });
    if (!free) return Pushed::kCancelled;
    held_ += bytes;
    items_.emplace(number, std::pair(std::move(item), bytes));
    changed_.notify_all();
    return Pushed::kOk;
  }
  std::optional<T> Pop(std::stop_token stop) {
    std::unique_lock lock(mutex_);
    const auto there = [&] { return !items_.empty() && items_.begin()->first == next_; };
    changed_.wait(lock, stop, [&] { return producers_ == 0 || there(); });
    if (stop.stop_requested() || !there()) return std::nullopt;
    auto [item, bytes] = std::move(items_.begin()->second);
    items_.erase(items_.begin());
    held_ -= bytes;
    ++next_;
    changed_.notify_all();
    return std::move(item);
  }
  void Done() {
    const std::lock_guard lock(mutex_);
    --producers_;
    changed_.notify_all();
  }

 private:
  const size_t limit_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<int64_t, std::pair<T, size_t>> items_;
  size_t held_ = 0;
  int64_t next_;
  int producers_;
};

}  // namespace fettle::enhance
