// A model of what unmeasured configurations would be worth.
#pragma once

#include <vector>

#include "tuner/search/space.h"

namespace fettle::tuner {

/// A Gaussian process (Rasmussen and Williams 2006) over a search space: Matern 3/2 kernels
/// multiplied over coordinates, whose lengths are learned by the likelihood of what was seen.
///
/// A parameter's coordinate is the place of its value in the list; a text's only whether it is the
/// same. A list of whole numbers that are not all powers of two gets a second one: how often two
/// divides the value, because alignment often decides more than size.
class Surrogate {
 public:
  explicit Surrogate(const SearchSpace& space);

  /// Learns `targets` (lower is better, of any scale) of `points`, at least one. `relearn` the
  /// lengths too, which takes tens of times as long; else those of the last time stay.
  void Fit(const std::vector<Point>& points, const std::vector<double>& targets, bool relearn);

  struct Prediction {
    double mean = 0;
    double deviation = 0;
  };
  std::vector<Prediction> Predict(const std::vector<Point>& points) const;
  /// By point, how much lower than `target` its value is expected to be, counting 0 where it is
  /// not.
  std::vector<double> ExpectedImprovements(const std::vector<Point>& points, double target) const;

 private:
  struct Coordinate {
    int parameter = 0;
    bool same_or_not = false;
    std::vector<double> places;  // by position of the value, in [0, 1]
  };
  using Coordinates = std::vector<double>;

  void AddAlignment(int parameter, const std::vector<Value>& values);
  Coordinates Of(const Point& point) const;
  double Kernel(const Coordinates& a, const Coordinates& b) const;
  /// Factors the kernel matrix; the logarithm of the posterior density of lengths_ and noise_.
  double Factor();
  void Relearn();

  const SearchSpace space_;
  std::vector<Coordinate> coordinates_;
  std::vector<double> lengths_;
  double noise_ = 1e-3;  // variance that no coordinate explains, as a share of all

  std::vector<Coordinates> seen_;
  std::vector<double> targets_;  // of mean 0 and deviation 1
  double mean_ = 0, deviation_ = 1;
  std::vector<double> factor_;  // lower triangle, by rows
  std::vector<double> whitened_, weights_;
  double variance_ = 1;
};

}  // namespace fettle::tuner
