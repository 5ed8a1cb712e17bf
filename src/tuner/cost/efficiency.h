// How near to its bound each way of computing came; gives a bound where it was not measured.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

namespace fettle::tuner {

/// A way is a kernel in given states on given threads for one kind of work, whatever its extents.
/// Not synchronised.
class Efficiency {
 public:
  /// A problem takes at least its bound times `share` of the least ratio of time to bound that was
  /// seen; 0: anything may be as fast as its bound.
  void set_share(double share) { share_ = share; }

  int WayOf(const std::string& text);
  void Learn(int way, double bound_us, double us);
  /// What a problem of that roofline bound takes at least.
  double Bound(int way, double bound_us) const;

 private:
  struct Sample {
    double bound_us = 0, us = 0;
  };
  double share_ = 0;
  std::unordered_map<std::string, int> ways_;
  std::vector<std::vector<Sample>> samples_;  // by way
};

}  // namespace fettle::tuner
