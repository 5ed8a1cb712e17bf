// The whole library reads ONNX files, tunes and keeps what it learns in databases.
#include <algorithm>
#include <optional>

#include "base/clock.h"
#include "base/log.h"
#include "capi/parts.h"
#include "capi/structs.h"
#include "tuner/model/background_tuning.h"
#include "tuner/model/kept_plans.h"
#include "tuner/model/tune_model.h"
#include "tuner/model/tune_product.h"

namespace fettle::capi {
namespace {

using runtime::MatrixProduct;
using runtime::Session;

/// A session in the place of the handle's own.
void Replace(fettle_session& session, std::shared_ptr<Session> with) {
  const std::lock_guard lock(session.cancel_mutex);
  session.session = std::move(with);
}

/// The database that options name; kIo where it cannot keep what is learned.
Result<std::unique_ptr<tuner::Store>> OpenDatabase(const char* folder) {
  if (folder == nullptr) return tuner::MemoryStore();
  auto store = tuner::OpenUserStore(folder);
  if (!store->is_kept()) return Error(StatusCode::kIo, "database: {}", store->trouble());
  return store;
}

/// Tells the caller how a tuning goes on; what it returns may end it.
void TellProgress(fettle_session& session, const fettle_tune_options& wanted,
                  const tuner::TuneProgress& now) {
  const fettle_tune_progress progress = {.struct_size = sizeof(progress),
                                         .measured = now.measured,
                                         .open = now.open,
                                         .seconds = now.seconds,
                                         .predicted_ms = now.predicted_us * 1e-3};
  if (wanted.progress(&progress, wanted.user) != 0) session.tuning_cancelled = true;
}

/// Thirty years, in seconds: what more is asked for is no limit either, and fits a clock.
constexpr double kLongest = 1e9;

/// Both must outlive the tuning.
Result<tuner::TuneModelOptions> ModelTuningOf(fettle_session& session,
                                              const fettle_tune_options& wanted) {
  tuner::TuneModelOptions tune{.session = session.options};
  tune.session.cancelled = &session.tuning_cancelled;
  tune.writes_package = wanted.package != nullptr;
  if (tune.writes_package) tune.package_path = wanted.package;
  tune.packed_weights = wanted.packed_weights != 0;
  ASSIGN_OR_RETURN(tune.tune.level,
                   tuner::LevelFromName(wanted.level == nullptr ? "normal" : wanted.level));
  if (!(wanted.budget_seconds >= 0)) return InvalidArgument("budget_seconds: expected 0 or more");
  if (wanted.budget_seconds > 0)
    tune.deadline_ns =
        NowNs() + static_cast<int64_t>(std::min(wanted.budget_seconds, kLongest) * 1e9);
  if (wanted.progress != nullptr) {
    tune.tune.progress = [&](const tuner::TuneProgress& now) {
      TellProgress(session, wanted, now);
      return true;
    };
  }
  return tune;
}

Status WriteReport(const tuner::TuneModelResult& result, fettle_tune_report& report) {
  const tuner::GateResult& gate = result.gate;
  return WriteStruct({.struct_size = sizeof(fettle_tune_report),
                      .accepted = gate.accepted ? 1 : 0,
                      .default_ms = gate.incumbent_us * 1e-3,
                      .tuned_ms = (gate.accepted ? gate.challenger_us : gate.incumbent_us) * 1e-3,
                      .predicted_ms = result.predicted_us * 1e-3,
                      .measured = result.report.measured,
                      .reused = result.report.reused},
                     &report);
}

}  // namespace

Result<std::shared_ptr<const runtime::Model>> LoadModel(const char* path) {
  return runtime::Model::Load(path);
}

Result<std::shared_ptr<const runtime::Model>> LoadModelBytes(std::span<const std::byte> bytes,
                                                             const char* name) {
  return runtime::Model::LoadBytes(bytes, name);
}

Status Tune(fettle_session& session, const fettle_tune_options& wanted,
            fettle_tune_report* report) {
  ASSIGN_OR_RETURN(const tuner::TuneModelOptions tune, ModelTuningOf(session, wanted));
  ASSIGN_OR_RETURN(const auto store, OpenDatabase(wanted.database));
  runtime::TensorMap inputs;
  for (const auto& [name, buffer] : session.inputs) {
    ASSIGN_OR_RETURN(Tensor tensor, buffer->ReadToHost());
    inputs.emplace(name, std::move(tensor));
  }
  ASSIGN_OR_RETURN(auto result, tuner::TuneModel(session.model, inputs, tune, *store));
  if (wanted.package != nullptr) {
    RETURN_IF_ERROR(
        tuner::SaveTuned(wanted.package, "", session.model, inputs, session.options, result)
            .status());
  }
  runtime::SessionOptions next = session.options;
  next.plans = planner::PlansOf(result.book);
  ASSIGN_OR_RETURN(std::shared_ptr<Session> tuned, Session::Create(session.model, next));
  // So that the session's steps are those of its new plan.
  runtime::TensorMap outputs;
  RETURN_IF_ERROR(tuned->Run(inputs, &outputs));
  Replace(session, std::move(tuned));
  session.options = std::move(next);
  return report == nullptr ? OkStatus() : WriteReport(result, *report);
}

Result<std::shared_ptr<runtime::BackgroundWork>> TuneInBackground(
    const fettle_session& session, const fettle_background_options& wanted) {
  tuner::BackgroundOptions options{.seconds = wanted.budget_seconds, .share = wanted.share};
  ASSIGN_OR_RETURN(options.level,
                   tuner::LevelFromName(wanted.level == nullptr ? "normal" : wanted.level));
  if (wanted.database != nullptr) {
    Result<std::unique_ptr<tuner::Store>> store = OpenDatabase(wanted.database);
    if (store.ok())
      options.store = std::move(store).value();
    else
      Log(LogLevel::kWarn, "{}; what is tuned in the background is kept in memory only",
          store.status().message());
  }
  return std::make_shared<tuner::BackgroundTuning>(session.model, session.options,
                                                   std::move(options));
}

Result<ProductTuning> TuningOf(const fettle_gemm_options& options) {
  std::optional<tuner::Level> level;
  if (options.tune != nullptr) {
    ASSIGN_OR_RETURN(level, tuner::LevelFromName(options.tune));
  }
  ProductTuning tuning;
  std::shared_ptr<tuner::Store> store;
  if (options.database != nullptr) {
    store = tuner::OpenUserStore(options.database);
    tuning.plans = std::make_shared<tuner::LearnedPlans>(store);
  } else {
    store = tuner::MemoryStore();
  }
  if (level) {
    tuning.tune = [level = *level, seconds = options.tune_seconds, store](MatrixProduct& product) {
      return tuner::TuneProduct(product, level, seconds, *store);
    };
  }
  return tuning;
}

}  // namespace fettle::capi
