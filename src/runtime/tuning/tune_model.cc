#include "runtime/tuning/tune_model.h"

#include "base/clock.h"
#include "base/log.h"
#include "runtime/tuning/model_tuner.h"

namespace fettle::runtime {
namespace {

/// Where a lower precision is allowed beside the CPU, half of the time goes to high precision,
/// whose kernels are a part of what is searched after it, and whose plan the other has to beat:
/// that finds it no sooner among twice as many.
bool TunesHighPrecisionFirst(const TuneModelOptions& options) {
  return options.session.precision != planner::Precision::kHigh &&
         !options.session.accelerators.empty() && options.tune.level != tuner::Level::kNone;
}

TuneModelOptions AtHighPrecision(TuneModelOptions options) {
  options.session.precision = planner::Precision::kHigh;
  options.writes_package = false;
  if (options.deadline_ns > 0) options.deadline_ns = NowNs() + (options.deadline_ns - NowNs()) / 2;
  return options;
}

/// Whether nothing else can be tuned after it.
bool EndsTuning(StatusCode code) {
  return code == StatusCode::kCancelled || code == StatusCode::kDeviceUnavailable;
}

}  // namespace

Result<TuneModelResult> TuneModel(const std::shared_ptr<const Model>& model,
                                  const TensorMap& inputs, const TuneModelOptions& options,
                                  tuner::Store& store) {
  const auto tune = [&](const TuneModelOptions& at, TriedPlan exact) {
    // The sessions that lost end with it.
    return ModelTuner(model, inputs, at, store, std::move(exact)).Run();
  };
  tuner::TuneReport exact_report;
  TriedPlan exact_plan;
  if (TunesHighPrecisionFirst(options)) {
    Result<TunedModel> exact = tune(AtHighPrecision(options), {});
    if (exact.ok()) {
      exact_report = std::move(exact->result.report);
      exact_plan = std::move(exact->winner);
    } else if (EndsTuning(exact.status().code())) {
      return exact.status();
    } else {
      Log(LogLevel::kInfo, "tuning at high precision: {}", exact.status().message());
    }
  }
  ASSIGN_OR_RETURN(TunedModel tuned, tune(options, std::move(exact_plan)));
  AddRound(exact_report, tuned.result.report);
  return std::move(tuned.result);
}

}  // namespace fettle::runtime
