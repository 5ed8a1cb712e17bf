// fettle.h: runs that nobody waits for.
#include <utility>

#include "capi/handles.h"

using fettle::OkStatus;
using fettle::RunQueue;
using fettle::Status;
using fettle::capi::Caught;
using fettle::capi::Guard;
using fettle::capi::InputsWith;
using fettle::capi::OutputOf;
using fettle::capi::Report;
using fettle::runtime::BufferMap;

namespace {

/// What is asked for, and the outputs once they are there.
struct AsyncRun {
  BufferMap inputs, outputs;
  std::vector<std::string> names;
  std::vector<std::unique_ptr<fettle_tensor>> results;
  fettle_run_callback callback;
  void* user;
};

Status Compute(fettle_session& session, AsyncRun& run) {
  const Status status = fettle::capi::Run(session, run.inputs, run.outputs);
  run.inputs.clear();
  run.outputs.clear();
  RETURN_IF_ERROR(status);
  for (const std::string& name : run.names) {
    ASSIGN_OR_RETURN(run.results.emplace_back(), OutputOf(session, name));
  }
  return OkStatus();
}

void Tell(AsyncRun& run, const Status& status) {
  const fettle_status code = Report(status);
  std::vector<fettle_tensor*> outputs;
  if (run.callback == nullptr || !status.ok()) run.results.clear();
  for (auto& result : std::exchange(run.results, {})) outputs.push_back(result.release());
  if (run.callback != nullptr) run.callback(run.user, code, outputs.data(), outputs.size());
}

}  // namespace

fettle_status fettle_session_run_async(fettle_session* session, const char* const* input_names,
                                       const fettle_tensor* const* inputs, size_t input_count,
                                       const char* const* output_names, size_t output_count,
                                       fettle_run_callback callback, void* user, fettle_run** run) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(session);
    if (input_count > 0) FETTLE_REQUIRE(input_names);
    if (output_count > 0) FETTLE_REQUIRE(output_names);
    auto begun = std::make_shared<AsyncRun>();
    begun->callback = callback;
    begun->user = user;
    for (size_t i = 0; i < output_count; ++i) {
      FETTLE_REQUIRE(output_names[i]);
      begun->names.emplace_back(output_names[i]);
    }
    ASSIGN_OR_RETURN(begun->inputs, InputsWith(*session, input_names, inputs, input_count));
    {
      const std::lock_guard lock(session->set_mutex);
      begun->outputs = session->outputs;
    }
    auto handle = std::make_unique<fettle_run>();
    ASSIGN_OR_RETURN(
        handle->run,
        session->runs->Add(
            [session, begun] { return Caught([&] { return Compute(*session, *begun); }); },
            [begun](const Status& status) { Tell(*begun, status); }, !session->fails_when_busy));
    if (run != nullptr) *run = handle.release();
    return OkStatus();
  });
}

void fettle_run_cancel(fettle_run* run) {
  if (run != nullptr) RunQueue::Cancel(*run->run);
}

fettle_status fettle_run_wait(fettle_run* run) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(run);
    return RunQueue::Wait(*run->run);
  });
}

void fettle_run_free(fettle_run* run) { delete run; }
