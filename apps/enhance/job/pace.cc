#include "job/pace.h"

#include <algorithm>
#include <iterator>

namespace fettle::enhance {
namespace {

/// What a rate may be below the wanted one before it counts, and what a wider network has to do
/// beyond it: a machine that stands between two networks is not to go to and fro.
constexpr double kInTime = 0.95, kWithRoom = 1.1;

}  // namespace

std::string Pace::WidestAt(double slowness) const {
  std::string widest = candidates.front().network;
  for (const Candidate& candidate : candidates)
    if (candidate.fps * slowness >= wanted) widest = candidate.network;
  return widest;
}

std::string Pace::After(const std::string& network, int64_t frames, double seconds) const {
  const auto now = std::ranges::find(candidates, network, &Candidate::network);
  if (wanted <= 0 || now == candidates.end() || frames <= 0 || seconds <= 0 || now->fps <= 0)
    return network;
  const double done = static_cast<double>(frames) / seconds, slowness = done / now->fps;
  if (done < kInTime * wanted) return WidestAt(slowness);
  const std::string wider = WidestAt(slowness / kWithRoom);
  const auto there = std::ranges::find(candidates, wider, &Candidate::network);
  return there > now ? wider : network;
}

std::string Schedule::At(int64_t frame) const {
  return std::prev(begins_.upper_bound(std::max<int64_t>(frame, 0)))->second;
}

std::string Schedule::Take(int64_t frame) {
  const std::lock_guard lock(mutex_);
  taken_ = std::max(taken_, frame);
  return At(frame);
}

std::string Schedule::NetworkOf(int64_t frame) const {
  const std::lock_guard lock(mutex_);
  return At(frame);
}

std::string Schedule::latest() const {
  const std::lock_guard lock(mutex_);
  return begins_.rbegin()->second;
}

int64_t Schedule::Change(const std::string& network) {
  const std::lock_guard lock(mutex_);
  begins_[taken_ + 1] = network;
  return taken_ + 1;
}

}  // namespace fettle::enhance
