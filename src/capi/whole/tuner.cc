// fettle.h: a tuner for code of the caller's own.
#include <fmt/format.h>

#include <atomic>
#include <mutex>
#include <optional>

#include "capi/handles.h"
#include "capi/structs.h"
#include "device/cpu/cpu_device.h"
#include "tuner/search/remembered_search.h"

using fettle::InvalidArgument;
using fettle::OkStatus;
using fettle::Result;
using fettle::Status;
using fettle::StatusCode;
using fettle::capi::Guard;
using fettle::tuner::Evaluation;
using fettle::tuner::History;
using fettle::tuner::Parameter;
using fettle::tuner::Point;
using fettle::tuner::RememberedSearch;
using fettle::tuner::Row;
using fettle::tuner::SearchOptions;
using fettle::tuner::SearchSpace;

struct fettle_tuner {
  std::string name, database, version;
  std::vector<Parameter> parameters;
  std::vector<std::string> conditions;
  fettle_tuner_constraint constraint = nullptr;
  void* constraint_user = nullptr;
  std::vector<Point> known;
  SearchOptions options;
  bool endless = true;  // no budget and not all configurations in order

  std::optional<RememberedSearch> search;  // once it has begun
  bool asked = false;
  /// Guards all of the above; callbacks run without it, while `running` keeps others from the
  /// search.
  mutable std::mutex mutex;
  bool running = false;
  std::atomic<bool> cancelled = false;
};

namespace {

using Values = std::vector<int64_t>;

Status NotBegun(const fettle_tuner& tuner) {
  if (!tuner.search) return OkStatus();
  return InvalidArgument("tuner '{}': the search has begun", tuner.name);
}

Status CheckCount(const fettle_tuner& tuner, size_t count) {
  if (count == tuner.parameters.size()) return OkStatus();
  return InvalidArgument("tuner '{}': {} values for {} parameters", tuner.name, count,
                         tuner.parameters.size());
}

void WriteValues(const std::vector<Parameter>& parameters, const Point& point, int64_t* values) {
  for (size_t i = 0; i < point.size(); ++i)
    values[i] = std::get<int64_t>(parameters[i].values[point[i]]);
}

/// The caller's function as a predicate on points. It keeps copies: the space outlives no tuner,
/// but is copied about inside it.
fettle::tuner::PointPredicate Predicate(const fettle_tuner& tuner) {
  if (tuner.constraint == nullptr) return nullptr;
  return [parameters = tuner.parameters, function = tuner.constraint,
          user = tuner.constraint_user](const Point& point) {
    Values values(point.size());
    WriteValues(parameters, point, values.data());
    return function(values.data(), values.size(), user) != 0;
  };
}

/// The CPU that the caller's code is taken to run on.
std::string DeviceFingerprint() {
  return std::string(fettle::CpuDevice(std::make_shared<fettle::ThreadPool>(1)).fingerprint());
}

Status Begin(fettle_tuner& tuner) {
  if (tuner.search) return OkStatus();
  auto space = SearchSpace::Create(tuner.parameters, tuner.conditions, Predicate(tuner));
  if (!space.ok()) return space.status().WithContext(fmt::format("tuner '{}'", tuner.name));
  SearchOptions options = tuner.options;
  options.seeds = tuner.known;
  fettle::tuner::RowKey key;
  key.problem = "own code";
  key.kernel = tuner.name;
  key.build = tuner.version;
  key.device = DeviceFingerprint();
  std::shared_ptr<fettle::tuner::Store> store = tuner.database.empty()
                                                    ? fettle::tuner::MemoryStore()
                                                    : fettle::tuner::OpenStore(tuner.database);
  if (!store->is_kept())
    return fettle::Error(StatusCode::kIo, "tuner '{}': database: {}", tuner.name, store->trouble());
  auto search = RememberedSearch::Create(std::move(*space), options, std::move(store), key);
  if (!search.ok()) return search.status().WithContext(fmt::format("tuner '{}'", tuner.name));
  tuner.search.emplace(std::move(*search));
  return OkStatus();
}

fettle_tuner_state StateOf(const fettle_tuner& tuner) {
  fettle_tuner_state state = FETTLE_TUNER_STATE_INIT;
  if (!tuner.search) return state;
  const fettle::tuner::Search& search = tuner.search->search();
  const History& history = search.history();
  state.evaluations = static_cast<int64_t>(history.size());
  state.failed = static_cast<int64_t>(history.size() - history.fastest().size());
  state.reused = tuner.search->reused();
  state.seconds = search.seconds();
  state.best_ms = search.best() ? *search.best()->ms : 0;
  return state;
}

/// The tuner for one call; kBusy where the call changes a search that fettle_tuner_run is at.
class Turn {
 public:
  explicit Turn(const fettle_tuner& tuner) : lock_(tuner.mutex), tuner_(tuner) {}
  Status Change() const {
    if (!tuner_.running) return OkStatus();
    return fettle::Error(StatusCode::kBusy, "tuner '{}': fettle_tuner_run is at work", tuner_.name);
  }

 private:
  std::lock_guard<std::mutex> lock_;
  const fettle_tuner& tuner_;
};

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
  const Turn turn(tuner);
  const std::optional<Point> point = tuner.search->Ask();
  if (!point) return false;
  if (tuner.cancelled.exchange(false))
    return fettle::Error(StatusCode::kCancelled, "tuner '{}': cancelled", tuner.name);
  WriteValues(tuner.parameters, *point, values.data());
  return true;
}

fettle_tuner_state Tell(fettle_tuner& tuner, const Outcome& outcome) {
  const Turn turn(tuner);
  tuner.search->Tell(outcome.ms, outcome.status, outcome.reason);
  tuner.asked = false;
  return StateOf(tuner);
}

/// fettle_tuner_run at work.
class Running {
 public:
  explicit Running(fettle_tuner& tuner) : tuner_(tuner) {}
  ~Running() {
    const Turn turn(tuner_);
    if (begun_) tuner_.running = false;
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  Status Start() {
    const Turn turn(tuner_);
    RETURN_IF_ERROR(turn.Change());
    if (tuner_.endless)
      return InvalidArgument(
          "tuner '{}': no budget: set max_evaluations, max_seconds or the "
          "strategy full",
          tuner_.name);
    RETURN_IF_ERROR(Begin(tuner_));
    tuner_.running = begun_ = true;
    return OkStatus();
  }

 private:
  fettle_tuner& tuner_;
  bool begun_ = false;
};

Status Run(fettle_tuner& tuner, const fettle_tuner_callbacks& callbacks) {
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

Status WriteEvaluation(const fettle_tuner& tuner, const Evaluation* evaluation, int64_t* values,
                       size_t count, double* ms) {
  RETURN_IF_ERROR(CheckCount(tuner, count));
  if (evaluation == nullptr)
    return fettle::Error(StatusCode::kNotFound, "tuner '{}': no such evaluation", tuner.name);
  WriteValues(tuner.parameters, evaluation->point, values);
  if (ms != nullptr) *ms = evaluation->ms.value_or(0);
  return OkStatus();
}

}  // namespace

fettle_status fettle_tuner_create(const char* name, fettle_tuner** tuner) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(name);
    FETTLE_REQUIRE(tuner);
    auto made = std::make_unique<fettle_tuner>();
    made->name = name;
    *tuner = made.release();
    return OkStatus();
  });
}

void fettle_tuner_free(fettle_tuner* tuner) { delete tuner; }

fettle_status fettle_tuner_add_parameter(fettle_tuner* tuner, const char* name,
                                         const int64_t* values, size_t count) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(tuner);
    FETTLE_REQUIRE(name);
    if (count > 0) FETTLE_REQUIRE(values);
    const Turn turn(*tuner);
    RETURN_IF_ERROR(turn.Change());
    RETURN_IF_ERROR(NotBegun(*tuner));
    Parameter parameter{name, {}};
    for (size_t i = 0; i < count; ++i) parameter.values.emplace_back(values[i]);
    std::vector<Parameter> parameters = tuner->parameters;
    parameters.push_back(std::move(parameter));
    const auto space = SearchSpace::Create(parameters);
    if (!space.ok()) return space.status().WithContext(fmt::format("tuner '{}'", tuner->name));
    tuner->parameters = std::move(parameters);
    tuner->known.clear();
    return OkStatus();
  });
}

fettle_status fettle_tuner_add_constraint(fettle_tuner* tuner, const char* expression) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(tuner);
    FETTLE_REQUIRE(expression);
    const Turn turn(*tuner);
    RETURN_IF_ERROR(turn.Change());
    RETURN_IF_ERROR(NotBegun(*tuner));
    const auto space = SearchSpace::Create(tuner->parameters, {expression});
    if (!space.ok()) return space.status().WithContext(fmt::format("tuner '{}'", tuner->name));
    tuner->conditions.emplace_back(expression);
    return OkStatus();
  });
}

fettle_status fettle_tuner_set_constraint(fettle_tuner* tuner, fettle_tuner_constraint function,
                                          void* user) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(tuner);
    const Turn turn(*tuner);
    RETURN_IF_ERROR(turn.Change());
    RETURN_IF_ERROR(NotBegun(*tuner));
    tuner->constraint = function;
    tuner->constraint_user = user;
    return OkStatus();
  });
}

fettle_status fettle_tuner_add_known(fettle_tuner* tuner, const int64_t* values, size_t count) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(tuner);
    FETTLE_REQUIRE(values);
    const Turn turn(*tuner);
    RETURN_IF_ERROR(turn.Change());
    RETURN_IF_ERROR(NotBegun(*tuner));
    RETURN_IF_ERROR(CheckCount(*tuner, count));
    ASSIGN_OR_RETURN(const SearchSpace space, SearchSpace::Create(tuner->parameters));
    auto point = space.Find({values, values + count});
    if (!point.ok()) return point.status().WithContext(fmt::format("tuner '{}'", tuner->name));
    tuner->known.push_back(std::move(*point));
    return OkStatus();
  });
}

fettle_status fettle_tuner_set_options(fettle_tuner* tuner, const fettle_tuner_options* options) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(tuner);
    FETTLE_REQUIRE(options);
    ASSIGN_OR_RETURN(const fettle_tuner_options given, fettle::capi::ReadStruct(options));
    const Turn turn(*tuner);
    RETURN_IF_ERROR(turn.Change());
    RETURN_IF_ERROR(NotBegun(*tuner));
    SearchOptions search;
    if (given.strategy != nullptr) search.strategy = given.strategy;
    if (fettle::tuner::FindStrategy(search.strategy) == nullptr)
      return InvalidArgument("tuner '{}': strategy '{}': expected {}", tuner->name, search.strategy,
                             fettle::tuner::StrategyNames());
    if (given.max_evaluations < 0 || !(given.max_seconds >= 0))
      return InvalidArgument("tuner '{}': a budget is 0 or more", tuner->name);
    search.seed = given.seed;
    if (given.max_evaluations > 0) search.max_evaluations = given.max_evaluations;
    if (given.max_seconds > 0) search.max_seconds = given.max_seconds;
    tuner->endless =
        given.max_evaluations == 0 && given.max_seconds == 0 && search.strategy != "full";
    tuner->options = std::move(search);
    tuner->database = given.database == nullptr ? "" : given.database;
    tuner->version = given.version == nullptr ? "" : given.version;
    return OkStatus();
  });
}

fettle_status fettle_tuner_run(fettle_tuner* tuner, const fettle_tuner_callbacks* callbacks) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(tuner);
    FETTLE_REQUIRE(callbacks);
    ASSIGN_OR_RETURN(const fettle_tuner_callbacks given, fettle::capi::ReadStruct(callbacks));
    if (given.run == nullptr) return InvalidArgument("callbacks->run is null");
    return Run(*tuner, given);
  });
}

void fettle_tuner_cancel(fettle_tuner* tuner) {
  if (tuner != nullptr) tuner->cancelled = true;
}

fettle_status fettle_tuner_ask(fettle_tuner* tuner, int64_t* values, size_t count) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(tuner);
    if (count > 0) FETTLE_REQUIRE(values);
    const Turn turn(*tuner);
    RETURN_IF_ERROR(turn.Change());
    RETURN_IF_ERROR(CheckCount(*tuner, count));
    RETURN_IF_ERROR(Begin(*tuner));
    const std::optional<Point> point = tuner->search->Ask();
    if (!point)
      return fettle::Error(StatusCode::kNotFound, "tuner '{}': the search is over", tuner->name);
    tuner->asked = true;
    WriteValues(tuner->parameters, *point, values);
    return OkStatus();
  });
}

fettle_status fettle_tuner_tell(fettle_tuner* tuner, double ms) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(tuner);
    const Turn turn(*tuner);
    RETURN_IF_ERROR(turn.Change());
    if (!tuner->asked)
      return InvalidArgument("tuner '{}': told a time without being asked", tuner->name);
    tuner->search->Tell(ms, Row::Status::kFailed, "told no time");
    tuner->asked = false;
    return OkStatus();
  });
}

fettle_status fettle_tuner_best(const fettle_tuner* tuner, int64_t* values, size_t count,
                                double* ms) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(tuner);
    FETTLE_REQUIRE(values);
    const Turn turn(*tuner);
    const Evaluation* const best = tuner->search ? tuner->search->search().best() : nullptr;
    return WriteEvaluation(*tuner, best, values, count, ms);
  });
}

fettle_status fettle_tuner_evaluation(const fettle_tuner* tuner, int64_t index, int64_t* values,
                                      size_t count, double* ms) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(tuner);
    FETTLE_REQUIRE(values);
    const Turn turn(*tuner);
    const bool known = index >= 0 && index < StateOf(*tuner).evaluations;
    const Evaluation* const evaluation =
        known ? &tuner->search->search().history().at(static_cast<int>(index)) : nullptr;
    return WriteEvaluation(*tuner, evaluation, values, count, ms);
  });
}

fettle_status fettle_tuner_get_state(const fettle_tuner* tuner, fettle_tuner_state* state) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(tuner);
    FETTLE_REQUIRE(state);
    const Turn turn(*tuner);
    return fettle::capi::WriteStruct(StateOf(*tuner), state);
  });
}
