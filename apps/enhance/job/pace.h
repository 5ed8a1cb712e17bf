// Which network keeps the wanted rate, judged again after each segment.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace fettle::enhance {

/// Frames a second of the whole job by one network, as they were timed before it began.
struct Candidate {
  std::string network;
  double fps = 0;
};

/// A rate and the networks to keep it with, the cheapest first. Immutable.
struct Pace {
  double wanted = 0;  // frames a second; 0: nothing is chosen again
  std::vector<Candidate> candidates;

  /// The widest of the candidates that are `slowness` times as fast as timed and still do the
  /// wanted rate, else the first.
  std::string WidestAt(double slowness) const;
  /// After `frames` took `network` so many seconds: the network for those that follow. It stays
  /// where it does 0.95 of the rate and a wider one would not do 1.1 of it.
  std::string After(const std::string& network, int64_t frames, double seconds) const;
};

/// Which network makes which frames of the input, for all threads.
class Schedule {
 public:
  explicit Schedule(std::string network) { begins_[0] = std::move(network); }

  /// For a thread that begins to work on the frame: later decisions leave it as it is.
  std::string Take(int64_t frame);
  /// Of a frame that was taken.
  std::string NetworkOf(int64_t frame) const;
  std::string latest() const;
  /// Frames that nobody has taken yet go to `network`. Returns the first of them.
  int64_t Change(const std::string& network);

 private:
  std::string At(int64_t frame) const;

  mutable std::mutex mutex_;
  std::map<int64_t, std::string> begins_;
  int64_t taken_ = -1;  // the last one
};

}  // namespace fettle::enhance
