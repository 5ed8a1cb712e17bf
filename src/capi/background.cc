// fettle.h: tuning while serving.
#include "capi/handles.h"
#include "capi/parts.h"
#include "capi/structs.h"

using fettle::Error;
using fettle::OkStatus;
using fettle::Status;
using fettle::StatusCode;
using fettle::capi::Guard;
using fettle::runtime::BackgroundState;
using fettle::runtime::BackgroundWork;

namespace {

/// Null: none was begun.
std::shared_ptr<BackgroundWork> BackgroundOf(const fettle_session& session) {
  const std::lock_guard lock(session.cancel_mutex);
  return session.background;
}

}  // namespace

fettle_status fettle_session_tune_in_background(fettle_session* session,
                                                const fettle_background_options* options) {
  return Guard([&]() -> Status {
    FETTLE_ENTER(session);
    fettle_background_options wanted = FETTLE_BACKGROUND_OPTIONS_INIT;
    if (options != nullptr) {
      ASSIGN_OR_RETURN(wanted, fettle::capi::ReadStruct(options));
    }
    RETURN_IF_ERROR(fettle::capi::CheckTunable(*session));
    if (!(wanted.budget_seconds >= 0))
      return fettle::InvalidArgument("budget_seconds: expected 0 or more");
    if (!(wanted.share >= 0 && wanted.share <= 1))
      return fettle::InvalidArgument("share: expected 0 (idle time only) to 1 of a core");
    ASSIGN_OR_RETURN(std::shared_ptr<BackgroundWork> begun,
                     fettle::capi::TuneInBackground(*session, wanted));
    if (session->inputs.size() == session->model->graph().inputs.size())
      begun->Observe(session->inputs);
    {
      const std::lock_guard lock(session->cancel_mutex);
      session->background.swap(begun);
    }
    return OkStatus();
  });
}

fettle_status fettle_session_background(const fettle_session* session,
                                        fettle_background_state* state) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(session);
    FETTLE_REQUIRE(state);
    RETURN_IF_ERROR(fettle::capi::CheckStruct(state));
    const auto background = BackgroundOf(*session);
    const BackgroundState now = background == nullptr ? BackgroundState{} : background->state();
    const std::lock_guard lock(session->cancel_mutex);
    if (session->background_reason != now.reason) session->background_reason = now.reason;
    return fettle::capi::WriteStruct(
        {.struct_size = sizeof(fettle_background_state),
         .stage = fettle::runtime::StageName(now.stage).data(),
         .reason = session->background_reason.c_str(),
         .is_over = now.is_over() || now.stage == BackgroundState::Stage::kNone ? int64_t{1} : 0,
         .measured = now.measured,
         .open = now.open,
         .worked_seconds = now.worked_s,
         .waited_seconds = now.waited_s,
         .before_ms = now.before_ms,
         .after_ms = now.after_ms},
        state);
  });
}

void fettle_session_cancel_background(fettle_session* session) {
  if (session == nullptr) return;
  if (const auto background = BackgroundOf(*session); background != nullptr) background->Cancel();
}

fettle_status fettle_session_wait_background(fettle_session* session, double seconds) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(session);
    if (!(seconds >= 0)) return fettle::InvalidArgument("seconds: expected 0 or more");
    const auto background = BackgroundOf(*session);
    if (background == nullptr || background->Await(seconds)) return OkStatus();
    return Error(StatusCode::kBusy, "the background tuning has not ended");
  });
}
