#include "capi/whole/tuner_search.h"

#include <fmt/format.h>

#include "device/cpu/cpu_device.h"

namespace fettle::capi {
namespace {

using tuner::History;
using tuner::Point;
using tuner::RememberedSearch;
using tuner::Row;
using tuner::SearchOptions;
using tuner::SearchSpace;
using Values = std::vector<int64_t>;

/// The caller's function as a predicate on points. It keeps copies: the space outlives no tuner,
/// but is copied about inside it.
tuner::PointPredicate Predicate(const fettle_tuner& tuner) {
  if (tuner.constraint == nullptr) return nullptr;
  return [parameters = tuner.parameters, function = tuner.constraint,
          user = tuner.constraint_user](const Point& point) {
    Values values(point.size());
    for (size_t i = 0; i < point.size(); ++i)
      values[i] = std::get<int64_t>(parameters[i].values[point[i]]);
    return function(values.data(), values.size(), user) != 0;
  };
}

/// The CPU that the caller's code is taken to run on.
std::string DeviceFingerprint() {
  return std::string(CpuDevice(std::make_shared<ThreadPool>(1)).fingerprint());
}

/// What came of one configuration.
struct Outcome {
  std::optional<double> ms;
  Row::Status status = Row::Status::kFailed;
  const char* reason = "the run function wrote no time";
};

/// Runs and checks one configuration.
Outcome Evaluate(const Values& values, const fettle_tuner_callbacks& callbacks) {
  double ms = 0;
  if (callbacks.run(values.data(), values.size(), &ms, callbacks.user) != 0)
    return {std::nullopt, Row::Status::kFailed, "the run function failed"};
  if (callbacks.check != nullptr &&
      callbacks.check(values.data(), values.size(), callbacks.user) != 0)
    return {std::nullopt, Row::Status::kWrong, "the check function refused the result"};
  return {.ms = ms};
}

/// The next configuration; false at the end.
Result<bool> Next(fettle_tuner& tuner, Values& values) {
  const TunerTurn turn(tuner);
  const std::optional<Point> point = tuner.search->Ask();
  if (!point) return false;
  if (tuner.cancelled.exchange(false))
    return Error(StatusCode::kCancelled, "tuner '{}': cancelled", tuner.name);
  WriteValues(tuner, *point, values.data());
  return true;
}

fettle_tuner_state Tell(fettle_tuner& tuner, const Outcome& outcome) {
  const TunerTurn turn(tuner);
  tuner.search->Tell(outcome.ms, outcome.status, outcome.reason);
  tuner.asked = false;
  return StateOf(tuner);
}

/// fettle_tuner_run at work.
class Running {
 public:
  explicit Running(fettle_tuner& tuner) : tuner_(tuner) {}
  ~Running() {
    const TunerTurn turn(tuner_);
    if (begun_) tuner_.running = false;
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  Status Start() {
    const TunerTurn turn(tuner_);
    RETURN_IF_ERROR(turn.Change());
    if (tuner_.endless)
      return InvalidArgument(
          "tuner '{}': no budget: set max_evaluations, max_seconds or the "
          "strategy full",
          tuner_.name);
    RETURN_IF_ERROR(BeginSearch(tuner_));
    tuner_.running = begun_ = true;
    return OkStatus();
  }

 private:
  fettle_tuner& tuner_;
  bool begun_ = false;
};

}  // namespace

Status TunerTurn::Change() const {
  if (!tuner_.running) return OkStatus();
  return Error(StatusCode::kBusy, "tuner '{}': fettle_tuner_run is running", tuner_.name);
}

Status TunerTurn::Describe() const {
  RETURN_IF_ERROR(Change());
  if (!tuner_.search) return OkStatus();
  return InvalidArgument("tuner '{}': the search has begun", tuner_.name);
}

Status OfTuner(const fettle_tuner& tuner, const Status& status) {
  return status.WithContext(fmt::format("tuner '{}'", tuner.name));
}

Status CheckCount(const fettle_tuner& tuner, size_t count) {
  if (count == tuner.parameters.size()) return OkStatus();
  return InvalidArgument("tuner '{}': {} values for {} parameters", tuner.name, count,
                         tuner.parameters.size());
}

void WriteValues(const fettle_tuner& tuner, const Point& point, int64_t* values) {
  for (size_t i = 0; i < point.size(); ++i)
    values[i] = std::get<int64_t>(tuner.parameters[i].values[point[i]]);
}

Status BeginSearch(fettle_tuner& tuner) {
  if (tuner.search) return OkStatus();
  auto space = SearchSpace::Create(tuner.parameters, tuner.conditions, Predicate(tuner));
  if (!space.ok()) return OfTuner(tuner, space.status());
  SearchOptions options = tuner.options;
  options.seeds = tuner.known;
  tuner::RowKey key;
  key.problem = "own code";
  key.kernel = tuner.name;
  key.build = tuner.version;
  key.device = DeviceFingerprint();
  std::shared_ptr<tuner::Store> store =
      tuner.database.empty() ? tuner::MemoryStore() : tuner::OpenStore(tuner.database);
  if (!store->is_kept())
    return Error(StatusCode::kIo, "tuner '{}': database: {}", tuner.name, store->trouble());
  auto search = RememberedSearch::Create(std::move(*space), options, std::move(store), key);
  if (!search.ok()) return OfTuner(tuner, search.status());
  tuner.search.emplace(std::move(*search));
  return OkStatus();
}

fettle_tuner_state StateOf(const fettle_tuner& tuner) {
  fettle_tuner_state state = FETTLE_TUNER_STATE_INIT;
  if (!tuner.search) return state;
  const tuner::Search& search = tuner.search->search();
  const History& history = search.history();
  state.evaluations = static_cast<int64_t>(history.size());
  state.failed = static_cast<int64_t>(history.size() - history.fastest().size());
  state.reused = tuner.search->reused();
  state.seconds = search.seconds();
  state.best_ms = search.best() ? *search.best()->ms : 0;
  return state;
}

Status RunSearch(fettle_tuner& tuner, const fettle_tuner_callbacks& callbacks) {
  Running running(tuner);
  RETURN_IF_ERROR(running.Start());
  Values values(tuner.parameters.size());
  while (true) {
    ASSIGN_OR_RETURN(const bool more, Next(tuner, values));
    if (!more) return OkStatus();
    const fettle_tuner_state state = Tell(tuner, Evaluate(values, callbacks));
    if (callbacks.progress != nullptr && callbacks.progress(&state, callbacks.user) != 0)
      tuner.cancelled = true;
  }
}

}  // namespace fettle::capi
