// Functions that libfettle supports and the runtime library does not: whole/ and runtime/ implement
// each once.
#pragma once

#include <functional>
#include <span>

#include "capi/handles.h"
#include "runtime/product/matrix_product.h"

namespace fettle::capi {

/// An ONNX file or a package; the runtime library answers kUnsupported to the first.
Result<std::shared_ptr<const runtime::Model>> LoadModel(const char* path);
Result<std::shared_ptr<const runtime::Model>> LoadModelBytes(std::span<const std::byte> bytes,
                                                             const char* name);

/// fettle_session_tune for a session that the caller has entered. `report` may be null.
Status Tune(fettle_session& session, const fettle_tune_options& wanted, fettle_tune_report* report);

/// kUnsupported, or kBusy where the session is tuned in the background.
Status CheckTunable(const fettle_session& session);
/// fettle_session_tune_in_background for a session that the caller has entered.
Result<std::shared_ptr<runtime::BackgroundWork>> TuneInBackground(
    const fettle_session& session, const fettle_background_options& wanted);

/// What options of a product ask for beside it: plans to begin with, and tuning; both may be empty.
struct ProductTuning {
  std::shared_ptr<planner::PlanSource> plans;
  std::function<Status(runtime::MatrixProduct&)> tune;
};
Result<ProductTuning> TuningOf(const fettle_gemm_options& options);

}  // namespace fettle::capi
