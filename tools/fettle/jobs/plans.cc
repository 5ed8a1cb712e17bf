#include "jobs/plans.h"

#include <filesystem>

#include "kernels/backend.h"
#include "tuner/store/database_file.h"

namespace fettle::tools {
namespace {

Status CheckTarget(const std::string& target) {
  if (target != "cuda") return OkStatus();
  std::string others;
  for (const kernels::Backend* backend : kernels::Backends())
    if (backend->open != nullptr)
      others += fmt::format("{}{}", others.empty() ? "" : "|", backend->name);
  return Unsupported("--layout-transform cuda: there is no CUDA backend; use {}", others);
}

bool DatabaseExists(const CommonOptions& options) {
  std::error_code error;
  return !options.no_cache && std::filesystem::exists(tuner::DatabasePath(options.cache), error);
}

}  // namespace

PackagePlans::PackagePlans(std::shared_ptr<const planner::PlanBook> book)
    : book_(std::move(book)), plans_(planner::PlansOf(book_)) {}

Result<exec::Plan> PackagePlans::PlanFor(const ir::Graph& segment, const DeviceSet& devices,
                                         const planner::Limits& limits) {
  const planner::DecisionKey key = planner::KeyIn(*book_, segment, devices, limits);
  const planner::TunedRange range = planner::TunedRange::Of(*book_, key);
  if (!range.empty()) has_range_ = true;
  if (book_->Find(key).empty()) {
    const bool in_range = range.Holds(planner::InputShapesOf(segment));
    ++(book_->FindSimilar(key).empty() ? unknown_ : in_range ? in_range_ : similar_);
  }
  if (const std::string missed = planner::MissedSettings(*book_, segment, devices, limits);
      !missed.empty()) {
    const std::lock_guard lock(mutex_);
    missed_ = planner::MissedText(missed);
  }
  return plans_->PlanFor(segment, devices, limits);
}

std::vector<std::string> PackagePlans::warnings() const {
  const std::lock_guard lock(mutex_);
  if (missed_.empty()) return {};
  return {missed_};
}

std::string PackagePlans::origin() const {
  if (unknown_ > 0) return "preferences";
  if (similar_ > 0) return "similar";
  return in_range_ > 0 ? "regime" : "package";
}

Result<ChosenPlans> ChoosePlans(const Job& job, const JobOptions& options,
                                const LoadAndRunFlags& flags) {
  ChosenPlans chosen;
  RETURN_IF_ERROR(CheckTarget(flags.layout_transform));
  if (flags.fast_run || !flags.layout_transform.empty()) {
    const std::shared_ptr<tuner::Store> store = StoreFor(options.common);
    chosen.store = store;
    TuningOptions tuning;
    tuning.writes_package = !flags.layout_transform_dump.empty();
    if (flags.layout_transform.empty()) tuning.level = "fast";
    ASSIGN_OR_RETURN(tuner::TuneModelResult result, TuneJob(job, options.common, tuning, *store));
    chosen.source = planner::PlansOf(result.book);
    chosen.predicted_ms = result.predicted_us * 1e-3;
    chosen.measurements = result.report.measured;
    chosen.tuning = TuningText(result, job.session);
    if (flags.layout_transform_dump.empty()) return chosen;
    auto written = tuner::SaveTuned(flags.layout_transform_dump, options.model, job.model,
                                    job.bound.tensors(), job.session, result);
    if (!written.ok()) return AsWriteFailure(written.status());
    chosen.tuning += "wrote " + *written + "\n";
    return chosen;
  }
  if (DatabaseExists(options.common)) chosen.store = StoreFor(options.common);
  if (job.model->plans() != nullptr) {
    const auto package = std::make_shared<PackagePlans>(job.model->plans());
    chosen.package = package;
    chosen.source = package;
  } else if (chosen.store != nullptr) {
    const auto learned = std::make_shared<tuner::LearnedPlans>(chosen.store);
    chosen.learned = learned;
    chosen.source = learned;
  }
  return chosen;
}

Prediction Predict(const Job& job, const ChosenPlans& plans, const tuner::RecordedPlans& recorded,
                   const std::vector<exec::StepProfile>& run) {
  Prediction prediction;
  if (plans.store == nullptr || !job.session.accelerators.empty()) return prediction;
  std::vector<tuner::StepCost> steps =
      recorded.Price(recorded.HaveColdConstants(GetCpuInfo()), *plans.store);
  if (!tuner::AreStepsOf(run, steps)) return prediction;
  for (size_t i = 0; i < steps.size(); ++i) {
    // What takes no time at all never runs.
    constexpr double kNothingMs = 1e-3;
    if (steps[i].alone_us <= 0 && run[i].ms > kNothingMs) return {};
    prediction.predicted_ms += steps[i].us * 1e-3;
    prediction.alone_ms += steps[i].alone_us * 1e-3;
  }
  // Of steps that take no time each, nothing is predicted.
  if (prediction.predicted_ms <= 0) return {};
  prediction.steps = std::move(steps);
  return prediction;
}

std::vector<std::string> WarningsOf(const Job& job, const ChosenPlans& plans) {
  std::vector<std::string> warnings = job.warnings;
  if (plans.package != nullptr)
    for (std::string& warning : plans.package->warnings()) warnings.push_back(std::move(warning));
  return warnings;
}

std::string OriginOf(const ChosenPlans& plans) {
  if (!plans.tuning.empty()) return "tuned";
  if (plans.package != nullptr) return plans.package->origin();
  if (plans.learned == nullptr || plans.learned->found() == 0) return "preferences";
  if (plans.learned->outside() > 0) return "similar";
  return plans.learned->in_range() > 0 ? "regime" : "database";
}

void AddPlanFields(const Job& job, const ChosenPlans& plans, const Prediction& prediction,
                   Json& document) {
  const std::string origin = OriginOf(plans);
  double predicted = plans.predicted_ms;
  if (origin == "database") predicted = plans.learned->predicted_us() * 1e-3;
  // What a package predicts holds for the shapes it was tuned for.
  if (plans.package != nullptr)
    predicted = origin == "package" && !plans.package->has_range()
                    ? job.model->package()->info().predicted_ms
                    : 0;
  const bool known = !prediction.steps.empty();
  if (known) predicted = prediction.predicted_ms;
  document["alone_ms"] = known ? Json(prediction.alone_ms) : Json(nullptr);
  document["predicted_ms"] = predicted > 0 ? Json(predicted) : Json(nullptr);
  document["measurements"] = plans.measurements;
  document["plan"] = origin;
  document["warnings"] = WarningsOf(job, plans);
}

}  // namespace fettle::tools
