// The configurations that a kernel can be run with, as a value.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "tuner/search/expression.h"
#include "tuner/search/random.h"
#include "tuner/search/value.h"

namespace fettle::tuner {

/// Values in an order that means something: neighbours in the list are expected to act alike.
struct Parameter {
  std::string name;
  std::vector<Value> values;
};

/// A configuration: for each parameter the position of its value.
using Point = std::vector<int>;

/// True for valid configurations. Called from one thread, often: it must be cheap.
using PointPredicate = std::function<bool(const Point&)>;

/// Named parameters and the conditions on their combinations. Immutable and cheap to copy.
///
/// Nothing here walks the whole product of the values: lists of neighbours are as long as the
/// parameters' values are many, and looking for valid points gives up after a stated number of
/// steps, where one step checks the conditions on one more parameter.
class SearchSpace {
 public:
  /// So that an index is a plain number and hashes of indices are exact.
  static constexpr uint64_t kMaxCombinations = uint64_t{1} << 62;

  /// `conditions` are expressions over the parameters; `predicate` may be empty. Fails with
  /// kInvalidArgument on no parameters, empty or doubled names and values, bad conditions, and more
  /// than kMaxCombinations combinations.
  static Result<SearchSpace> Create(std::vector<Parameter> parameters,
                                    const std::vector<std::string>& conditions = {},
                                    PointPredicate predicate = nullptr);

  const std::vector<Parameter>& parameters() const { return rules_->parameters; }
  int dimensions() const { return static_cast<int>(parameters().size()); }
  int extent(int parameter) const {
    return static_cast<int>(parameters()[parameter].values.size());
  }
  /// Valid or not.
  uint64_t combinations() const { return rules_->combinations; }

  /// The last parameter changes fastest. `point` has all positions in range.
  uint64_t IndexOf(const Point& point) const;
  /// `index` is below combinations().
  Point PointAt(uint64_t index) const;
  const Value& ValueOf(const Point& point, int parameter) const;
  /// "name=value,..." in order of names.
  std::string Print(const Point& point) const;
  /// The point with these values, in order of parameters; kNotFound names the one that has no such
  /// value.
  Result<Point> Find(const std::vector<Value>& values) const;

  /// True where all conditions hold. False for points that do not fit the parameters.
  bool Valid(const Point& point) const;

  /// Valid points that differ in one parameter; of one with very many values only in steps of
  /// powers of two.
  std::vector<Point> Hamming(const Point& point) const;

  /// The first valid point at or after `from` in the order of indices, found in at most `steps`,
  /// which are taken off. None where there is no more (steps > 0 after the call) or the steps ran
  /// out.
  std::optional<Point> FirstValid(const Point& from, int64_t& steps) const;
  /// A valid point: uniform where one combination in a few hundred is valid; else found by walking
  /// from parameter to parameter, and only all within reach. None after `steps`.
  std::optional<Point> RandomValid(Random& random, int64_t steps = 200000) const;

 private:
  struct Rules {
    std::vector<Parameter> parameters;
    uint64_t combinations = 1;
    /// By the last parameter that they use: checked as soon as that one is set.
    std::vector<std::vector<Expression>> conditions;
    PointPredicate predicate;
  };
  explicit SearchSpace(std::shared_ptr<const Rules> rules) : rules_(std::move(rules)) {}
  bool HoldsUpTo(const Point& point, int parameter) const;
  std::optional<Point> RandomWalk(Random& random, int64_t& steps) const;

  std::shared_ptr<const Rules> rules_;
};

}  // namespace fettle::tuner
