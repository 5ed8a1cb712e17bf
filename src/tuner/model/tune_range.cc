#include "tuner/model/tune_range.h"

#include "base/clock.h"
#include "planner/regimes.h"
#include "tuner/model/kept_plans.h"
#include "tuner/model/timetable.h"

namespace fettle::tuner {
namespace {

/// How many sizes share the time evenly: the ends, the middle, and two where something changes.
constexpr int kSizesInBudget = 5;

class RangeTuner {
 public:
  RangeTuner(const std::shared_ptr<const runtime::Model>& model, const ShapeRanges& ranges,
             const MakeInputs& make_inputs, const TuneModelOptions& options, Store& store)
      : model_(model), make_inputs_(make_inputs), options_(options), store_(store), sizes_(ranges) {
    deadline_ns_ = options.deadline_ns;
  }

  Result<TuneRangeResult> Run() {
    RETURN_IF_ERROR(make_inputs_(sizes_.At(0)).status());  // before anything is measured
    while (const std::optional<double> share = sizes_.Next()) {
      const bool is_end = sizes_.tuned().size() < 2;
      if (!is_end && !HasTimeFor(*share)) {
        result_.end = "the budget leaves no time for more sizes";
        break;
      }
      const Status status = TuneAt(*share);
      if (status.ok()) continue;
      if (is_end || status.code() == StatusCode::kCancelled ||
          status.code() == StatusCode::kDeviceUnavailable)
        return status;
      sizes_.LeaveOut(*share);
      result_.left_out.push_back(
          fmt::format("{}: not tuned: {}", SizeText(sizes_.At(*share)), status.message()));
    }
    return Finish();
  }

 private:
  int64_t WriteNs(int64_t now_ns) const {
    const double left = Seconds(deadline_ns_ - now_ns);
    return static_cast<int64_t>(1e9 * Timetable::WriteSeconds(options_, *model_, left));
  }

  /// When the next size must be done: its share of the time left for measuring. 0, no limit, for
  /// the ends of a range without a budget.
  int64_t DeadlineOfNext() const {
    if (deadline_ns_ == 0 || (options_.deadline_ns == 0 && sizes_.tuned().size() < 2)) return 0;
    const int64_t now_ns = NowNs(), left_ns = deadline_ns_ - WriteNs(now_ns) - now_ns;
    const int64_t others = std::max<int64_t>(kSizesInBudget - std::ssize(sizes_.tuned()), 1);
    return now_ns + left_ns / others;
  }

  /// Little time finds little: a part of what its neighbours took has to be there.
  bool HasTimeFor(double share) const {
    constexpr double kWorthStarting = 0.25;
    if (deadline_ns_ == 0) return true;
    const int64_t now_ns = NowNs();
    return Seconds(deadline_ns_ - WriteNs(now_ns) - now_ns) >
           kWorthStarting * sizes_.ExpectedSeconds(share);
  }

  Status TuneAt(double share) {
    const int64_t start_ns = NowNs();
    const InputShapes shapes = sizes_.At(share);
    ASSIGN_OR_RETURN(const runtime::TensorMap inputs, make_inputs_(shapes));
    TuneModelOptions options = options_;
    options.deadline_ns = DeadlineOfNext();
    options.writes_package = false;
    ASSIGN_OR_RETURN(TuneModelResult tuned, TuneModel(model_, inputs, options, store_));
    TunedSize size{.share = share, .shapes = shapes};
    size.default_us = tuned.gate.incumbent_us;
    size.tuned_us = tuned.measured_us();
    size.accepted = tuned.gate.accepted;
    size.complete = !tuned.report.stopped;
    size.measured = tuned.report.measured;
    size.reused = tuned.report.reused;
    KeepPlans(tuned, size);
    size.seconds = Seconds(NowNs() - start_ns);
    if (sizes_.tuned().empty() && deadline_ns_ == 0)
      deadline_ns_ = start_ns + kSizesInBudget * (NowNs() - start_ns);
    sizes_.Add(std::move(size));
    Count(tuned);
    if (share == 1) largest_ = std::move(tuned);
    return OkStatus();
  }

  void KeepPlans(const TuneModelResult& tuned, TunedSize& size) {
    for (const TunedSegment& segment : tuned.segments) {
      planner::Decision decision = segment.decision;
      decision.made_for = planner::InputShapesOf(*segment.graph);
      std::string text = planner::PrintDecision(*segment.graph, decision);
      size.kernels += planner::KernelsOf(text);
      book_->Put({segment.key, std::move(text)});
      kept_.push_back({segment.key, std::move(decision.made_for)});
    }
    // As with plans: not what a limit of this call alone has shaped.
    if (options_.tune.bounds.memory_limit < 0) KeepRange(kept_, store_);
  }

  void Count(const TuneModelResult& tuned) {
    measured_ += tuned.report.measured;
    reused_ += tuned.report.reused;
    seconds_ += tuned.seconds;
    default_seconds_ += tuned.default_seconds;
  }

  TuneRangeResult Finish() {
    result_.largest = std::move(largest_);
    result_.largest.book = book_;
    result_.largest.report.measured = measured_;
    result_.largest.report.reused = reused_;
    result_.largest.seconds = seconds_;
    result_.largest.default_seconds = default_seconds_;
    result_.largest.deadline_ns = options_.deadline_ns;
    result_.sizes = sizes_.tuned();
    return std::move(result_);
  }

  const std::shared_ptr<const runtime::Model>& model_;
  const MakeInputs& make_inputs_;
  const TuneModelOptions& options_;
  Store& store_;
  RangeSizes sizes_;
  int64_t deadline_ns_ = 0;
  std::shared_ptr<planner::PlanBook> book_ = std::make_shared<planner::PlanBook>();
  TuneModelResult largest_;
  TuneRangeResult result_;
  std::vector<RangeSize> kept_;
  int64_t measured_ = 0, reused_ = 0;
  double seconds_ = 0, default_seconds_ = 0;
};

}  // namespace

Result<TuneRangeResult> TuneRange(const std::shared_ptr<const runtime::Model>& model,
                                  const ShapeRanges& ranges, const MakeInputs& make_inputs,
                                  const TuneModelOptions& options, Store& store) {
  return RangeTuner(model, ranges, make_inputs, options, store).Run();
}

}  // namespace fettle::tuner
