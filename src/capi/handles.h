// The objects behind the handles of fettle.h, and how failures cross the boundary.
#pragma once

#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "base/run_queue.h"
#include "base/status.h"
#include "fettle/fettle.h"
#include "runtime/background_work.h"
#include "runtime/model.h"
#include "runtime/session.h"
#include "runtime/tensor_buffer.h"
#include "tensor/tensor.h"

struct fettle_model {
  std::shared_ptr<const fettle::runtime::Model> model;
};

struct fettle_tensor {
  std::shared_ptr<fettle::runtime::TensorBuffer> buffer;
  std::atomic<bool> is_mapped = false;  // through this handle
};

struct fettle_session {
  /// Held by every call but fettle_session_cancel and fettle_session_free.
  mutable std::mutex mutex;
  bool fails_when_busy = false;
  /// Changed under both mutexes, so that a cancel needs the second alone.
  std::shared_ptr<fettle::runtime::Session> session;
  mutable std::mutex cancel_mutex;
  /// What the caller set, changed under `mutex` and this one, so that asynchronous runs need the
  /// second alone; and the results of the last run.
  mutable std::mutex set_mutex;
  fettle::runtime::BufferMap inputs, outputs, results;
  std::shared_ptr<const fettle::runtime::Model> model;
  fettle::runtime::SessionOptions options;
  /// While a tuning is in progress, it is what is cancelled.
  std::atomic<bool> tunes = false, tuning_cancelled = false;
  /// SessionOptions::cancelled: ends the asynchronous run that works.
  std::atomic<bool> stops_run = false;
  /// Changed under both mutexes; null: none was begun. Ends after the runs that tell it of inputs.
  std::shared_ptr<fettle::runtime::BackgroundWork> background;
  mutable std::string background_reason;  // as the caller has it, under `cancel_mutex`
  /// Ends before all that its runs use.
  std::optional<fettle::RunQueue> runs;
};

struct fettle_run {
  std::shared_ptr<fettle::RunQueue::Run> run;
};

namespace fettle::capi {

fettle_dtype ToC(DType dtype);
DType FromC(fettle_dtype dtype);

/// A shape with a known element count, of a type that tensors may have. kInvalidArgument.
Result<Shape> CheckedShape(fettle_dtype dtype, int rank, const int64_t* dims);

/// Keeps the message for fettle_last_error and returns the code.
fettle_status Report(const Status& status);

/// A session for one call: waits for those of other threads, or fails with kBusy, as its options
/// say.
class SessionLock {
 public:
  explicit SessionLock(const fettle_session& session)
      : lock_(session.mutex, std::defer_lock), fails_(session.fails_when_busy) {}
  Status Enter() {
    if (!fails_)
      lock_.lock();
    else if (!lock_.try_lock())
      return Error(StatusCode::kBusy, "another thread is using the session");
    return OkStatus();
  }

 private:
  std::unique_lock<std::mutex> lock_;
  bool fails_;
};

/// Runs `body`, which returns a Status; nothing it throws passes on.
template <typename Body>
Status Caught(Body&& body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return Error(StatusCode::kOutOfMemory, "out of memory");
  } catch (const std::exception& error) {
    return Error(StatusCode::kInternal, "{}", error.what());
  }
}

/// The same, for the caller.
template <typename Body>
fettle_status Guard(Body&& body) {
  return Report(Caught(body));
}

/// kNotFound where the session's model has no such input.
Status CheckInput(const fettle_session& session, std::string_view name);

/// One inference that writes `outputs`; the session keeps its results. The caller has entered.
Status Run(fettle_session& session, const runtime::BufferMap& inputs,
           const runtime::BufferMap& outputs);

/// A result of the last run; kNotFound.
Result<std::unique_ptr<fettle_tensor>> OutputOf(const fettle_session& session,
                                                std::string_view name);

/// `session`'s inputs and those named here, which replace them. kNotFound, kInvalidArgument where
/// one is null.
Result<runtime::BufferMap> InputsWith(const fettle_session& session, const char* const* names,
                                      const fettle_tensor* const* inputs, size_t count);

}  // namespace fettle::capi

/// For calls of a session: refuses null, then waits for its turn.
#define FETTLE_ENTER(session)                         \
  FETTLE_REQUIRE(session);                            \
  ::fettle::capi::SessionLock session_lock(*session); \
  RETURN_IF_ERROR(session_lock.Enter())

/// Refuses null where the caller must pass something.
#define FETTLE_REQUIRE(pointer) \
  if ((pointer) == nullptr) return ::fettle::InvalidArgument(#pointer " is null")
