#include "tuner/model/tune_model.h"

#include <algorithm>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "tuner/model/model_tuner.h"
#include "tuner/model/timetable.h"

namespace fettle::tuner {
namespace {

/// Where a lower precision is allowed beside the CPU, half of the time goes to high precision,
/// whose kernels are a part of what is searched after it, and whose plan the other has to beat:
/// that finds it no sooner among twice as many.
bool TunesHighPrecisionFirst(const TuneModelOptions& options) {
  return options.session.precision != planner::Precision::kHigh &&
         !options.session.accelerators.empty() && options.tune.level != Level::kNone;
}

/// Half of the time but for writing.
TuneModelOptions AtHighPrecision(TuneModelOptions options, const runtime::Model& model) {
  options.session.precision = planner::Precision::kHigh;
  if (options.deadline_ns > 0) {
    const int64_t now_ns = options.Now();
    const double left = Seconds(options.deadline_ns - now_ns);
    const double half = (left - Timetable::WriteSeconds(options, model, left)) / 2;
    options.deadline_ns = now_ns + static_cast<int64_t>(half * 1e9);
  }
  options.writes_package = options.tries_chains = false;
  return options;
}

/// Tries the disk where a guess would cost more: a package of VGG16 takes 5.5 s or 0.3.
TuneModelOptions WithWriteRate(TuneModelOptions options, const runtime::Model& model) {
  constexpr double kWorthTrying = 0.5, kSure = 0.5, kMost = 2e9;
  if (options.deadline_ns == 0 || options.package_path.empty()) return options;
  const double left = Seconds(options.deadline_ns - options.Now());
  // What is known would change nothing any more.
  if (left < kWorthTrying) return options;
  if (Timetable::WriteSeconds(options, model, left) < kWorthTrying) return options;
  const double rate = kSure * DurableBytesPerSecond(options.package_path);
  options.written_per_second = std::clamp(rate, options.written_per_second, kMost);
  return options;
}

/// Whether nothing else can be tuned after it.
bool EndsTuning(StatusCode code) {
  return code == StatusCode::kCancelled || code == StatusCode::kDeviceUnavailable;
}

}  // namespace

Result<TuneModelResult> TuneModel(const std::shared_ptr<const runtime::Model>& model,
                                  const runtime::TensorMap& inputs, const TuneModelOptions& given,
                                  Store& store) {
  const TuneModelOptions options = WithWriteRate(given, *model);
  const auto tune = [&](const TuneModelOptions& at, TriedPlan exact) {
    // The sessions that lost end with it.
    return ModelTuner(model, inputs, at, store, std::move(exact)).Run();
  };
  TuneReport exact_report;
  TriedPlan exact_plan;
  if (TunesHighPrecisionFirst(options)) {
    Result<TunedModel> exact = tune(AtHighPrecision(options, *model), {});
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

}  // namespace fettle::tuner
