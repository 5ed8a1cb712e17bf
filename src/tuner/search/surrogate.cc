#include "tuner/search/surrogate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fettle::tuner {
namespace {

/// Priors: logarithms of lengths and noise are normal around these.
constexpr double kTypicalLength = 1, kLengthSpread = 1.5;
constexpr double kTypicalNoise = 1e-2, kNoiseSpread = 2;
constexpr double kShortest = 0.05, kLongest = 20;
constexpr double kLeastNoise = 1e-4, kMostNoise = 0.5;

double LogNormal(double value, double typical, double spread) {
  const double z = std::log(value / typical) / spread;
  return -z * z / 2;
}

/// How often two divides `value`; 0 for 0.
double Twos(int64_t value) {
  int count = 0;
  for (; value != 0 && value % 2 == 0; value /= 2) ++count;
  return count;
}

}  // namespace

Surrogate::Surrogate(const SearchSpace& space) : space_(space) {
  for (int i = 0; i < space_.dimensions(); ++i) {
    const std::vector<Value>& values = space_.parameters()[i].values;
    if (values.size() < 2) continue;
    Coordinate coordinate{i, std::holds_alternative<std::string>(values[0]), {}};
    for (size_t v = 0; v < values.size(); ++v)
      coordinate.places.push_back(static_cast<double>(v) / static_cast<double>(values.size() - 1));
    coordinates_.push_back(std::move(coordinate));
    AddAlignment(i, values);
  }
  lengths_.assign(coordinates_.size(), kTypicalLength);
}

/// Where alignment rises with the place, the place says it already.
void Surrogate::AddAlignment(int parameter, const std::vector<Value>& values) {
  std::vector<double> twos;
  for (const Value& value : values) {
    const int64_t* whole = std::get_if<int64_t>(&value);
    if (!whole) return;
    twos.push_back(Twos(*whole));
  }
  const double most = *std::max_element(twos.begin(), twos.end());
  const bool rises =
      std::adjacent_find(twos.begin(), twos.end(), std::greater_equal<>()) == twos.end();
  if (rises || most == 0) return;
  for (double& count : twos) count /= most;
  coordinates_.push_back({parameter, false, std::move(twos)});
}

Surrogate::Coordinates Surrogate::Of(const Point& point) const {
  Coordinates places;
  places.reserve(coordinates_.size());
  for (const Coordinate& coordinate : coordinates_) {
    const int position = point[coordinate.parameter];
    places.push_back(coordinate.places[position]);
  }
  return places;
}

double Surrogate::Kernel(const Coordinates& a, const Coordinates& b) const {
  double product = 1, sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double away =
        coordinates_[i].same_or_not ? (a[i] == b[i] ? 0.0 : 1.0) : std::abs(a[i] - b[i]);
    const double scaled = std::sqrt(3.0) * away / lengths_[i];
    product *= 1 + scaled;
    sum += scaled;
  }
  return product * std::exp(-sum);
}

double Surrogate::Factor() {
  const size_t n = seen_.size();
  factor_.assign(n * n, 0);
  whitened_ = targets_;
  double log_determinant = 0, squares = 0;
  for (size_t i = 0; i < n; ++i) {
    double* const row = &factor_[i * n];
    for (size_t j = 0; j <= i; ++j) {
      const double* const other = &factor_[j * n];
      const double covariance = i == j ? 1 + noise_ : Kernel(seen_[i], seen_[j]);
      const double rest = covariance - std::inner_product(row, row + j, other, 0.0);
      row[j] = i == j ? std::sqrt(std::max(rest, kLeastNoise / 2)) : rest / other[j];
    }
    whitened_[i] -= std::inner_product(row, row + i, whitened_.begin(), 0.0);
    whitened_[i] /= row[i];
    log_determinant += std::log(row[i]);
    squares += whitened_[i] * whitened_[i];
  }
  // The scale of the process is integrated out, under a weak prior that it is that of the targets.
  const double count = static_cast<double>(n);
  variance_ = (squares + 2) / (count + 2);
  double density = -count / 2 * std::log(variance_) - log_determinant;
  for (double length : lengths_) density += LogNormal(length, kTypicalLength, kLengthSpread);
  return density + LogNormal(noise_, kTypicalNoise, kNoiseSpread);
}

/// One round over lengths and noise: each takes the better of its value, a smaller and a larger.
void Surrogate::Relearn() {
  double best = Factor();
  const auto improve = [&](double& value, double factor, double least, double most) {
    const double before = value;
    double chosen = before;
    for (double candidate : {before / factor, before * factor}) {
      value = std::clamp(candidate, least, most);
      const double density = Factor();
      if (density > best) {
        best = density;
        chosen = value;
      }
    }
    value = chosen;
  };
  for (double& length : lengths_) improve(length, 2, kShortest, kLongest);
  improve(noise_, 3, kLeastNoise, kMostNoise);
}

void Surrogate::Fit(const std::vector<Point>& points, const std::vector<double>& targets,
                    bool relearn) {
  FETTLE_CHECK(!points.empty() && points.size() == targets.size(), "a target for each point");
  seen_.clear();
  for (const Point& point : points) seen_.push_back(Of(point));
  const double count = static_cast<double>(targets.size());
  mean_ = std::accumulate(targets.begin(), targets.end(), 0.0) / count;
  double squares = 0;
  for (double target : targets) squares += (target - mean_) * (target - mean_);
  deviation_ = std::sqrt(squares / count) + 1e-9;
  targets_.clear();
  for (double target : targets) targets_.push_back((target - mean_) / deviation_);

  if (relearn) Relearn();
  Factor();
  const size_t n = seen_.size();
  weights_ = whitened_;
  for (size_t i = n; i-- > 0;) {
    for (size_t j = i + 1; j < n; ++j) weights_[i] -= factor_[j * n + i] * weights_[j];
    weights_[i] /= factor_[i * n + i];
  }
}

/// Solves for all points at once, along rows that run over the points: these loops vectorise.
std::vector<Surrogate::Prediction> Surrogate::Predict(const std::vector<Point>& points) const {
  const size_t n = seen_.size(), count = points.size();
  std::vector<Coordinates> at;
  for (const Point& point : points) at.push_back(Of(point));
  std::vector<double> rows(n * count), means(count, 0), explained(count, 0);
  for (size_t i = 0; i < n; ++i) {
    double* const row = &rows[i * count];
    for (size_t p = 0; p < count; ++p) {
      row[p] = Kernel(at[p], seen_[i]);
      means[p] += weights_[i] * row[p];
    }
    for (size_t j = 0; j < i; ++j) {
      const double factor = factor_[i * n + j];
      const double* const other = &rows[j * count];
      for (size_t p = 0; p < count; ++p) row[p] -= factor * other[p];
    }
    for (size_t p = 0; p < count; ++p) {
      row[p] /= factor_[i * n + i];
      explained[p] += row[p] * row[p];
    }
  }
  std::vector<Prediction> predictions;
  for (size_t p = 0; p < count; ++p) {
    const double variance = std::max(1e-10, 1 - explained[p]) * variance_;
    predictions.push_back({mean_ + deviation_ * means[p], deviation_ * std::sqrt(variance)});
  }
  return predictions;
}

std::vector<double> Surrogate::ExpectedImprovements(const std::vector<Point>& points,
                                                    double target) const {
  std::vector<double> improvements;
  for (const Prediction& guess : Predict(points)) {
    const double z = (target - guess.mean) / guess.deviation;
    const double below = std::erfc(-z / std::sqrt(2.0)) / 2;
    const double density = std::exp(-z * z / 2) / std::sqrt(2 * M_PI);
    improvements.push_back(guess.deviation * (z * below + density));
  }
  return improvements;
}

}  // namespace fettle::tuner
