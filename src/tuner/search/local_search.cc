// Local search led by a model: the next configuration is the one, among neighbours of the fastest
// and a random sample, that is expected to improve most on the best (Jones et al. 1998). When that
// stands still, every other configuration comes from a part of the space that the best does not
// lie in, because kernels switch between code paths whose optima have nothing to do with each
// other.
#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "tuner/search/strategy.h"
#include "tuner/search/surrogate.h"

namespace fettle::tuner {
namespace {

/// Configurations before the first model: random ones, or the good ones that are known and the best
/// of those on other code paths.
constexpr size_t kFirst = 8;
/// Parameters with at most so many values are flags; all flags together are a code path.
constexpr int kFlag = 2;
/// Draws of flags before no valid path is taken to be new.
constexpr int kFlagDraws = 100;
/// The fastest configurations whose neighbours are candidates.
constexpr size_t kCentres = 3;
/// Random candidates beside the neighbours, and most of both.
constexpr int kSample = 300;
constexpr size_t kMaxCandidates = 1000;
/// A share of the best time that is not worth a measurement: less is noise.
constexpr double kWorthwhile = 0.02;
/// Evaluations without a worthwhile gain after which other parts of the space get their turns.
constexpr size_t kPatience = 12;
/// A parameter with at most so many values is taken for a switch between code paths.
constexpr int kSwitch = 4;
/// Evaluations without a worthwhile gain within one part of the space, after which another one
/// follows.
constexpr int kStay = 4;
/// Evaluations that the model is made of: its time grows with the cube of them.
constexpr size_t kModelSize = 256;

/// All points in which one parameter has one value.
struct Region {
  int parameter = 0;
  int position = 0;
  bool Holds(const Point& point) const { return point[parameter] == position; }
};

/// Distinct unseen points.
class Candidates {
 public:
  explicit Candidates(const History& history) : history_(history) {}
  void Add(Point point) {
    if (history_.Contains(point) || points_.size() >= kMaxCandidates) return;
    if (indices_.insert(history_.space().IndexOf(point)).second)
      points_.push_back(std::move(point));
  }
  const std::vector<Point>& points() const { return points_; }

 private:
  const History& history_;
  std::vector<Point> points_;
  std::unordered_set<uint64_t> indices_;
};

class LocalSearch : public Strategy {
 public:
  explicit LocalSearch(const StrategyInput& input)
      : history_(*input.history), random_(input.seed), model_(history_.space()) {}

  std::optional<Point> Ask() override {
    if (!started_) cold_ = history_.best() == nullptr;
    started_ = true;
    if (!history_.best() || (cold_ && history_.size() < kFirst))
      return RandomUnseen(history_, random_);
    if (history_.size() < kFirst) {
      if (std::optional<Point> point = OnNewPath(history_.best()->point)) return point;
    }
    const double best = *history_.best()->ms;
    if (best < progress_ * (1 - kWorthwhile)) {
      progress_ = best;
      progress_at_ = history_.size();
    }
    FitModel();
    const bool stuck = history_.size() - progress_at_ >= kPatience;
    elsewhere_ = stuck && !elsewhere_;
    if (elsewhere_) {
      if (std::optional<Point> point = AskElsewhere()) return point;
    }
    return AskNearBest();
  }

 private:
  bool SameFlags(const Point& a, const Point& b) const {
    for (size_t i = 0; i < a.size(); ++i)
      if (history_.space().extent(static_cast<int>(i)) <= kFlag && a[i] != b[i]) return false;
    return true;
  }

  /// The point on a code path that nothing was measured on: the model knows nothing of those, and
  /// which one is best is what devices agree on least.
  std::optional<Point> OnNewPath(Point point) {
    const SearchSpace& space = history_.space();
    for (int draw = 0; draw < kFlagDraws; ++draw) {
      for (int i = 0; i < space.dimensions(); ++i)
        if (const int extent = space.extent(i); extent <= kFlag)
          point[i] = static_cast<int>(random_.Below(extent));
      const auto same = [&](const Evaluation& measured) {
        return SameFlags(measured.point, point);
      };
      const std::vector<Evaluation>& measured = history_.evaluations();
      if (space.Valid(point) && std::none_of(measured.begin(), measured.end(), same)) return point;
    }
    return std::nullopt;
  }

  /// Speed as a share of the best one, negative; failures have none. Times themselves would let
  /// the slow majority decide what the model looks like.
  double Target(const std::optional<double>& ms) const {
    return ms ? -*history_.best()->ms / *ms : 0;
  }

  void FitModel() {
    std::vector<Point> points;
    std::vector<double> targets;
    const size_t count = history_.size();
    std::vector<bool> taken(count, count <= kModelSize);
    if (count > kModelSize) {
      const std::vector<int>& fastest = history_.fastest();
      for (size_t i = 0; i < std::min(kModelSize / 2, fastest.size()); ++i)
        taken[fastest[i]] = true;
      for (size_t i = count - kModelSize / 2; i < count; ++i) taken[i] = true;
    }
    for (size_t i = 0; i < count; ++i) {
      if (!taken[i]) continue;
      const Evaluation& evaluation = history_.evaluations()[i];
      points.push_back(evaluation.point);
      targets.push_back(Target(evaluation.ms));
    }
    const bool relearn = learned_at_ == 0 || count >= learned_at_ + 1 + learned_at_ / 8;
    if (relearn) learned_at_ = count;
    model_.Fit(points, targets, relearn);
  }

  std::optional<Point> AskNearBest() {
    Candidates candidates(history_);
    const std::vector<int>& fastest = history_.fastest();
    for (size_t i = 0; i < std::min(kCentres, fastest.size()); ++i)
      for (Point& point : history_.space().Hamming(history_.at(fastest[i]).point))
        candidates.Add(std::move(point));
    AddSample(candidates, std::nullopt);
    return MostPromising(candidates, *history_.best()->ms);
  }

  /// The most promising point of a random region, measured against the best of that region. A
  /// region stays for as long as it gains something.
  std::optional<Point> AskElsewhere() {
    if (!region_ || region_->Holds(history_.best()->point) || idle_ >= kStay) {
      region_ = RandomRegion();
      region_progress_ = INFINITY;
      idle_ = 0;
    }
    if (!region_) return std::nullopt;
    Candidates candidates(history_);
    const SearchSpace& space = history_.space();
    std::optional<double> best;
    size_t centres = 0;
    for (int index : history_.fastest()) {
      const Evaluation& evaluation = history_.at(index);
      if (!region_->Holds(evaluation.point)) continue;
      if (!best) best = *evaluation.ms;
      for (Point& point : space.Hamming(evaluation.point))
        if (region_->Holds(point)) candidates.Add(std::move(point));
      if (++centres == kCentres) break;
    }
    Point moved = history_.best()->point;
    moved[region_->parameter] = region_->position;
    if (space.Valid(moved)) candidates.Add(std::move(moved));
    AddSample(candidates, region_);
    if (best.value_or(INFINITY) < region_progress_ * (1 - kWorthwhile)) {
      region_progress_ = *best;
      idle_ = 0;
    }
    ++idle_;
    return MostPromising(candidates, best.value_or(*history_.at(history_.fastest().back()).ms));
  }

  /// A value of a switch that the best configuration does not have.
  std::optional<Region> RandomRegion() {
    std::vector<Region> regions;
    const SearchSpace& space = history_.space();
    const Point& best = history_.best()->point;
    for (int i = 0; i < space.dimensions(); ++i)
      for (int position = 0; space.extent(i) <= kSwitch && position < space.extent(i); ++position)
        if (position != best[i]) regions.push_back({i, position});
    if (regions.empty()) return std::nullopt;
    return regions[random_.Below(regions.size())];
  }

  void AddSample(Candidates& candidates, const std::optional<Region>& region) {
    for (int i = 0; i < kSample; ++i) {
      std::optional<Point> point = history_.space().RandomValid(random_);
      if (!point) return;
      if (!region || region->Holds(*point)) candidates.Add(std::move(*point));
    }
  }

  std::optional<Point> MostPromising(const Candidates& candidates, double best_ms) {
    const std::vector<Point>& points = candidates.points();
    if (points.empty()) return RandomUnseen(history_, random_);
    const std::vector<double> gains =
        model_.ExpectedImprovements(points, Target(best_ms) - kWorthwhile);
    const auto most = std::max_element(gains.begin(), gains.end());
    return points[most - gains.begin()];
  }

  const History& history_;
  Random random_;
  Surrogate model_;
  bool started_ = false, cold_ = true;
  size_t learned_at_ = 0;
  double progress_ = INFINITY;  // the best time when the search last gained something
  size_t progress_at_ = 0;      // and how many evaluations there were
  bool elsewhere_ = false;
  std::optional<Region> region_;
  double region_progress_ = INFINITY;  // the best time in the region when it last gained something
  int idle_ = 0;                       // its evaluations since then
};

}  // namespace

std::unique_ptr<Strategy> MakeLocalSearch(const StrategyInput& input) {
  return std::make_unique<LocalSearch>(input);
}

}  // namespace fettle::tuner
