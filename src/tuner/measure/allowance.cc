#include "tuner/measure/allowance.h"

#include <limits>

namespace fettle::tuner {

double Allowance::Left() const {
  if (!limited()) return std::numeric_limits<double>::max();
  return static_cast<double>(deadline_ns_ - now_ns_()) * 1e-9 - kept_;
}

double Allowance::Expected(const Effort& effort) const {
  const double factor = effort.expecting > 0 ? new_factor_ : known_factor_;
  return factor * (effort.expecting + effort.running);
}

bool Allowance::Affords(const Effort& effort) const {
  return !limited() || Expected(effort) <= Left();
}

void Allowance::Learn(const Effort& effort, double seconds) {
  constexpr double kRise = 0.5, kFall = 0.1;
  const double guess = effort.expecting + effort.running;
  if (guess <= 0) return;
  double& factor = effort.expecting > 0 ? new_factor_ : known_factor_;
  const double now = seconds / guess;
  factor += (now > factor ? kRise : kFall) * (now - factor);
}

}  // namespace fettle::tuner
