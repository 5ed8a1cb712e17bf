// Tunes a model for a range of shapes: at a few sizes, and at more where decisions change.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tuner/model/tune_model.h"

namespace fettle::tuner {

/// An input from its smallest size to its largest: extents that do not change are equal.
struct ShapeRange {
  Shape low, high;

  bool operator==(const ShapeRange&) const = default;
};
using InputShapes = std::map<std::string, Shape>;       // by the input's name
using ShapeRanges = std::map<std::string, ShapeRange>;  // likewise

/// All inputs at `share` of the way from the smallest size (0) to the largest (1), by ratio. An
/// extent is a multiple of what divides both of its ends.
InputShapes ShapesAt(const ShapeRanges& ranges, double share);

/// "x 1x3x32x320, y 4".
std::string SizeText(const InputShapes& shapes);

/// The largest ratio of two extents.
double WidestRatio(const InputShapes& small, const InputShapes& large);

/// The result of tuning one size.
struct TunedSize {
  double share = 0;  // as ShapesAt has it
  InputShapes shapes;
  double default_us = 0, tuned_us = 0;
  bool accepted = false, complete = false;
  int64_t measured = 0, reused = 0;
  double seconds = 0;
  std::string kernels;  // planner::KernelsOf each segment
  int regime = 0;       // from 0: sizes next to each other with equal kernels
};

/// The sizes of a range that are tuned, and those that may be next.
class RangeSizes {
 public:
  explicit RangeSizes(ShapeRanges ranges) : ranges_(std::move(ranges)) {}

  InputShapes At(double share) const { return ShapesAt(ranges_, share); }
  /// Adds a size, and gives all of them their regimes.
  void Add(TunedSize size);
  /// Marks a size that cannot be tuned.
  void LeaveOut(double share) { left_out_.push_back(share); }
  /// The next size: the largest, the smallest, then the middle of the widest gap in which decisions
  /// change or that is wider than plans are carried; none where nothing more is to be found.
  std::optional<double> Next() const;
  /// The most that a size there is expected to take, judged by its neighbours.
  double ExpectedSeconds(double share) const;

  /// The smallest first.
  const std::vector<TunedSize>& tuned() const { return sizes_; }

 private:
  /// How much a size between these two may find; 0: nothing.
  double Worth(const TunedSize& small, const TunedSize& large) const;

  ShapeRanges ranges_;
  std::vector<TunedSize> sizes_;
  std::vector<double> left_out_;
};

struct TuneRangeResult {
  /// Of the largest size; its book has the plans of all sizes, and its counts and seconds are
  /// those of all.
  TuneModelResult largest;
  std::vector<TunedSize> sizes;  // the smallest first
  /// Sizes that cannot be run, and why.
  std::vector<std::string> left_out;
  std::string end;  // why no more sizes were tuned, where more might have been found
};

/// Inputs of these shapes; the model's other inputs follow them.
using MakeInputs = std::function<Result<runtime::TensorMap>(const InputShapes&)>;

/// Tunes `model` at the ends of the ranges and between them, all inputs together, and keeps in
/// `store` and the result's book which plan is for which sizes (planner/regimes.h). All sizes share
/// the deadline of `options`; where there is none, they take five times what the largest one
/// took, the smallest what it takes. Fails as TuneModel and `make_inputs` do at the ends; a size
/// between them that cannot be run is left out.
Result<TuneRangeResult> TuneRange(const std::shared_ptr<const runtime::Model>& model,
                                  const ShapeRanges& ranges, const MakeInputs& make_inputs,
                                  const TuneModelOptions& options, Store& store);

}  // namespace fettle::tuner
