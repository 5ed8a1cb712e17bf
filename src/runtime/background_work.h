// Tuning beside requests, as those who make the requests see it.
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

/// Thread-safe. Its end cancels it and waits for it.
class BackgroundWork {
 public:
  virtual ~BackgroundWork() = default;
  /// Tells of a run's inputs, of which a copy is made now and then. Before they may change.
  virtual void Observe(const BufferMap& inputs) = 0;
  /// Where a session on a better plan is ready: has it and its options take the place of these,
  /// which end elsewhere. For whoever runs `session`, between runs. Never waits.
  virtual bool Exchange(std::shared_ptr<Session>& session, SessionOptions& options) = 0;
  /// Never waits.
  virtual void Cancel() = 0;
  /// Until it is over, or for so long; whether it is over.
  virtual bool Await(double seconds) = 0;
  virtual BackgroundState state() const = 0;
};

}  // namespace fettle::runtime
