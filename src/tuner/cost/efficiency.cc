#include "tuner/cost/efficiency.h"

#include <algorithm>

namespace fettle::tuner {
namespace {

constexpr size_t kLeastNeighbours = 3;
/// What starting and joining may take, which larger problems make up for.
constexpr double kOverheadUs = 10;
/// Up to this many times the bound of a sample, a problem has no more to make up for.
constexpr double kAlike = 2;
/// Bounds within this factor say more than all others.
constexpr double kNear = 4;

}  // namespace

int Efficiency::WayOf(const std::string& text) {
  const auto [it, is_new] = ways_.emplace(text, static_cast<int>(samples_.size()));
  if (is_new) samples_.emplace_back();
  return it->second;
}

void Efficiency::Learn(int way, double bound_us, double us) {
  if (bound_us > 0) samples_[way].push_back({bound_us, us});
}

double Efficiency::Bound(int way, double bound_us) const {
  const std::vector<Sample>& samples = samples_[way];
  if (share_ <= 0 || samples.size() < kLeastNeighbours) return bound_us;
  double least = 1e300, near_least = 1e300;
  size_t near = 0;
  for (const Sample& sample : samples) {
    const double factor = bound_us / sample.bound_us;
    // Twice the work takes up to twice the time, and not less than once.
    const double us =
        factor <= kAlike ? sample.us * factor : std::max(sample.us - kOverheadUs, 0.0) * factor;
    least = std::min(least, us);
    if (factor > kNear || factor * kNear < 1) continue;
    near_least = std::min(near_least, sample.us * std::min(factor, 1.0));
    ++near;
  }
  if (near >= kLeastNeighbours) least = near_least;
  return std::max(bound_us, share_ * least);
}

}  // namespace fettle::tuner
