#include "ranges/range_tuning.h"

#include <algorithm>

#include "jobs/interrupt.h"
#include "report/progress.h"
#include "report/terminal.h"

namespace fettle::tools {
namespace {

Json SizeJson(const tuner::TunedSize& size) {
  Json shapes = Json::object();
  for (const auto& [name, shape] : size.shapes) shapes[name] = shape.dims();
  return {{"shapes", std::move(shapes)},
          {"regime", size.regime + 1},
          {"default_ms", size.default_us * 1e-3},
          {"tuned_ms", size.tuned_us * 1e-3},
          {"accepted", size.accepted},
          {"measured", size.measured},
          {"reused", size.reused},
          {"complete", size.complete},
          {"seconds", size.seconds}};
}

int RegimesOf(const tuner::TuneRangeResult& result) {
  return result.sizes.empty() ? 0 : result.sizes.back().regime + 1;
}

}  // namespace

JobOptions AtLargest(JobOptions options, const tuner::ShapeRanges& ranges) {
  if (ranges.empty()) return options;
  options.common.shapes.clear();
  for (const auto& [name, range] : ranges) {
    // Of a scalar there is nothing to say.
    const std::string extents = range.high.rank() == 0 ? "" : range.high.ToString();
    options.common.shapes.push_back(name + "=" + extents);
  }
  return options;
}

Result<tuner::TuneRangeResult> TuneJobRange(const Job& job, const JobOptions& options,
                                            const tuner::ShapeRanges& ranges,
                                            const TuningOptions& tuning, tuner::Store& store,
                                            int64_t start_ns) {
  ASSIGN_OR_RETURN(tuner::TuneModelOptions tune,
                   TuneOptionsOf(job, options.common, tuning, start_ns));
  const InterruptScope interrupt([] {});
  tune.session.cancelled = &InterruptScope::Flag();
  Progress progress("tune", 0);
  int made = 0;
  const auto make_inputs = [&](const tuner::InputShapes& shapes) -> Result<runtime::TensorMap> {
    ++made;
    std::vector<std::string> warnings;  // the job's own
    ASSIGN_OR_RETURN(const BoundInputs bound, BindJobInputs(options, *job.model, shapes, warnings));
    return bound.tensors();
  };
  tune.tune.progress = [&](const tuner::TuneProgress& now) {
    const auto measured = static_cast<double>(now.measured), open = static_cast<double>(now.open);
    // The first inputs are made to see whether they can be.
    constexpr double kSizes = 6;
    const double of_size = measured + open > 0 ? measured / (measured + open) : 0;
    const double spent = static_cast<double>(NowNs() - start_ns) * 1e-9;
    progress.UpdateFraction(tuning.budget > 0 ? std::min(1.0, spent / tuning.budget)
                                              : std::min(0.99, (made - 2 + of_size) / kSizes));
    return true;
  };
  return tuner::TuneRange(job.model, ranges, make_inputs, tune, store);
}

Json RangeJson(const tuner::ShapeRanges& ranges, const tuner::TuneRangeResult& result) {
  Json inputs = Json::object(), sizes = Json::array();
  for (const auto& [name, range] : ranges) inputs[name] = RangeText(range);
  for (const tuner::TunedSize& size : result.sizes) sizes.push_back(SizeJson(size));
  return {{"inputs", std::move(inputs)},
          {"sizes", std::move(sizes)},
          {"regimes", RegimesOf(result)},
          {"left_out", result.left_out},
          {"end", result.end}};
}

std::string RangeReport(const tuner::TuneRangeResult& result) {
  std::string text;
  for (const tuner::TunedSize& size : result.sizes)
    text += fmt::format("{}: default {:.3f} ms, tuned {:.3f} ms, regime {}, {} in {:.1f} s\n",
                        tuner::SizeText(size.shapes), size.default_us * 1e-3, size.tuned_us * 1e-3,
                        size.regime + 1, Count(size.measured, "measurement"), size.seconds);
  for (const std::string& line : result.left_out) text += line + "\n";
  if (!result.end.empty()) text += result.end + "\n";
  text += fmt::format("{}; sizes between take the plan of the nearest one\n",
                      Count(RegimesOf(result), "regime"));
  return Fit(text + "the largest size:\n");
}

}  // namespace fettle::tools
