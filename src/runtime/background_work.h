// Tuning beside requests, as seen by the threads that make the requests.
#pragma once

#include <memory>
#include <string>

#include "runtime/bindings.h"
#include "runtime/session.h"

namespace fettle::runtime {

/// How far a tuning in the background is.
struct BackgroundState {
  enum class Stage {
    kNone,     // none was begun
    kWaiting,  // for the inputs of a request
    kMeasuring,
    kVerifying,  // the plan that was found, on inputs of a request
    kHandingOver,
    kTuned,    // over, as all that follow: sessions run on another plan
    kKept,     // the plan of before is the best one
    kRefused,  // the plan that was found computes something else
    kFailed,
    kCancelled,
  };
  Stage stage = Stage::kNone;
  int64_t measured = 0, open = 0;  // as TuneProgress has it
  double worked_s = 0, waited_s = 0;
  double before_ms = 0, after_ms = 0;  // whole runs; 0: not compared yet
  int64_t swaps = 0;
  std::string reason;  // of the end, for people

  bool is_over() const { return stage >= Stage::kTuned; }
};
std::string_view StageName(BackgroundState::Stage stage);

/// Thread-safe. The destructor cancels the tuning and waits for it.
class BackgroundWork {
 public:
  virtual ~BackgroundWork() = default;
  /// Reports a run's inputs before they may change; now and then they are copied.
  virtual void Observe(const BufferMap& inputs) = 0;
  /// Where a session on a better plan is ready, it and its options replace these, which end on
  /// another thread. Called by the thread that runs `session`, between runs. Never waits.
  virtual bool Exchange(std::shared_ptr<Session>& session, SessionOptions& options) = 0;
  /// Never waits.
  virtual void Cancel() = 0;
  /// Waits until it is over, for at most this long; says whether it is over.
  virtual bool Await(double seconds) = 0;
  virtual BackgroundState state() const = 0;
};

}  // namespace fettle::runtime
