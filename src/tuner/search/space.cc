#include "tuner/search/space.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace fettle::tuner {
namespace {

/// Draws before RandomValid takes the parameters one by one.
constexpr int kDraws = 500;
/// Of longer lists, Hamming takes the values at distances 1, 2, 4, ...
constexpr int kLongList = 256;

Status CheckParameters(const std::vector<Parameter>& parameters) {
  if (parameters.empty()) return InvalidArgument("a search space needs at least one parameter");
  std::set<std::string> names;
  for (const Parameter& parameter : parameters) {
    if (parameter.name.empty()) return InvalidArgument("a parameter has no name");
    if (!names.insert(parameter.name).second)
      return InvalidArgument("parameter '{}' is listed twice", parameter.name);
    if (parameter.values.empty())
      return InvalidArgument("parameter '{}' has no values", parameter.name);
    std::set<Value> values;
    for (const Value& value : parameter.values)
      if (!values.insert(value).second)
        return InvalidArgument("parameter '{}': value {} is listed twice", parameter.name,
                               PrintValue(value));
  }
  return OkStatus();
}

/// Parameters that have the longest lists are not special: any product is fine up to the limit.
Result<uint64_t> CountCombinations(const std::vector<Parameter>& parameters) {
  uint64_t product = 1;
  for (const Parameter& parameter : parameters)
    if (__builtin_mul_overflow(product, parameter.values.size(), &product) ||
        product > SearchSpace::kMaxCombinations)
      return InvalidArgument("the parameters have more than 2^62 combinations");
  return product;
}

}  // namespace

Result<SearchSpace> SearchSpace::Create(std::vector<Parameter> parameters,
                                        const std::vector<std::string>& conditions,
                                        PointPredicate predicate) {
  RETURN_IF_ERROR(CheckParameters(parameters));
  auto rules = std::make_shared<Rules>();
  ASSIGN_OR_RETURN(rules->combinations, CountCombinations(parameters));
  std::vector<std::string> names;
  for (const Parameter& parameter : parameters) names.push_back(parameter.name);
  rules->conditions.resize(parameters.size());
  for (const std::string& text : conditions) {
    ASSIGN_OR_RETURN(Expression expression, Expression::Parse(text, names));
    const int last = expression.uses().empty() ? 0 : expression.uses().back();
    rules->conditions[last].push_back(std::move(expression));
  }
  rules->parameters = std::move(parameters);
  rules->predicate = std::move(predicate);
  return SearchSpace(std::move(rules));
}

uint64_t SearchSpace::IndexOf(const Point& point) const {
  uint64_t index = 0;
  for (int i = 0; i < dimensions(); ++i)
    index = index * static_cast<uint64_t>(extent(i)) + static_cast<uint64_t>(point[size_t(i)]);
  return index;
}

Point SearchSpace::PointAt(uint64_t index) const {
  Point point(parameters().size());
  for (int i = dimensions() - 1; i >= 0; --i) {
    const auto count = static_cast<uint64_t>(extent(i));
    point[i] = static_cast<int>(index % count);
    index /= count;
  }
  return point;
}

const Value& SearchSpace::ValueOf(const Point& point, int parameter) const {
  const size_t i = parameter;
  return parameters()[i].values[point[i]];
}

std::string SearchSpace::Print(const Point& point) const {
  std::vector<std::string> pairs;
  for (int i = 0; i < dimensions(); ++i)
    pairs.push_back(parameters()[i].name + "=" + PrintValue(ValueOf(point, i)));
  std::sort(pairs.begin(), pairs.end());
  return fmt::format("{}", fmt::join(pairs, ","));
}

Result<Point> SearchSpace::Find(const std::vector<Value>& values) const {
  if (values.size() != parameters().size())
    return Error(StatusCode::kNotFound, "{} values for {} parameters", values.size(),
                 parameters().size());
  Point point;
  for (size_t i = 0; i < values.size(); ++i) {
    const std::vector<Value>& known = parameters()[i].values;
    const auto found = std::find(known.begin(), known.end(), values[i]);
    if (found == known.end())
      return Error(StatusCode::kNotFound, "parameter '{}' has no value {}", parameters()[i].name,
                   PrintValue(values[i]));
    point.push_back(static_cast<int>(found - known.begin()));
  }
  return point;
}

/// The conditions whose last parameter is `parameter`; those before it are set.
bool SearchSpace::HoldsUpTo(const Point& point, int parameter) const {
  const std::vector<Expression>& conditions = rules_->conditions[parameter];
  if (!conditions.empty()) {
    std::vector<const Value*> values(parameters().size());
    for (int i = 0; i <= parameter; ++i) values[i] = &ValueOf(point, i);
    for (const Expression& condition : conditions)
      if (!condition.Holds(values)) return false;
  }
  return parameter + 1 < dimensions() || !rules_->predicate || rules_->predicate(point);
}

bool SearchSpace::Valid(const Point& point) const {
  if (point.size() != parameters().size()) return false;
  for (int i = 0; i < dimensions(); ++i)
    if (point[i] < 0 || point[i] >= extent(i)) return false;
  for (int i = 0; i < dimensions(); ++i)
    if (!HoldsUpTo(point, i)) return false;
  return true;
}

std::vector<Point> SearchSpace::Hamming(const Point& point) const {
  std::vector<Point> found;
  Point neighbour = point;
  for (int i = 0; i < dimensions(); ++i) {
    const int centre = point[i], last = extent(i) - 1;
    int& position = neighbour[i];
    const auto add = [&](int other) {
      position = other;
      if (other != centre && Valid(neighbour)) found.push_back(neighbour);
    };
    if (last < kLongList) {
      for (int other = 0; other <= last; ++other) add(other);
    } else {
      for (int step = 1; step <= std::max(centre, last - centre); step *= 2) {
        if (step <= centre) add(centre - step);
        if (step <= last - centre) add(centre + step);
      }
    }
    position = centre;
  }
  return found;
}

std::optional<Point> SearchSpace::FirstValid(const Point& from, int64_t& steps) const {
  Point point = from;
  int at = 0;
  while (at < dimensions()) {
    if (--steps <= 0) return std::nullopt;
    if (HoldsUpTo(point, at)) {
      ++at;
      continue;
    }
    // The next value here, else in the nearest parameter before that has one; all after restart.
    while (at >= 0 && point[at] + 1 >= extent(at)) --at;
    if (at < 0) return std::nullopt;
    ++point[at];
    std::fill(point.begin() + at + 1, point.end(), 0);
  }
  return point;
}

std::optional<Point> SearchSpace::RandomValid(Random& random, int64_t steps) const {
  for (int draw = 0; draw < kDraws; ++draw) {
    Point point = PointAt(random.Below(combinations()));
    if (Valid(point)) return point;
  }
  while (steps > 0)
    if (std::optional<Point> point = RandomWalk(random, steps)) return point;
  return std::nullopt;
}

/// Sets the parameters in order, each to a random value with which its conditions hold; goes back
/// where none does, up to a share of the steps, so that a bad start costs only that.
std::optional<Point> SearchSpace::RandomWalk(Random& random, int64_t& steps) const {
  constexpr int64_t kStepsOfWalk = 20000;
  int64_t left = std::min(steps, kStepsOfWalk);
  steps -= left;
  Point point(parameters().size(), 0);
  std::vector<std::vector<int>> untried(parameters().size());
  const auto restart = [&](int at) {
    std::vector<int>& values = untried[at];
    values.resize(extent(at));
    std::iota(values.begin(), values.end(), 0);
    random.Shuffle(values);
  };
  int at = 0;
  restart(0);
  while (at >= 0 && at < dimensions()) {
    std::vector<int>& values = untried[at];
    if (values.empty()) {
      --at;
      continue;
    }
    if (--left <= 0) return std::nullopt;
    point[at] = values.back();
    values.pop_back();
    if (HoldsUpTo(point, at) && ++at < dimensions()) restart(at);
  }
  if (at < 0) steps = 0;  // Everything was tried: there is no valid point.
  return at < 0 ? std::nullopt : std::optional(point);
}

}  // namespace fettle::tuner
