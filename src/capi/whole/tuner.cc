// fettle.h: a tuner for code of the caller's own.
#include "capi/handles.h"
#include "capi/whole/tuner_search.h"

using fettle::InvalidArgument;
using fettle::OkStatus;
using fettle::Status;
using fettle::StatusCode;
using fettle::capi::BeginSearch;
using fettle::capi::CheckCount;
using fettle::capi::Guard;
using fettle::capi::OfTuner;
using fettle::capi::ReadStruct;
using fettle::capi::RunSearch;
using fettle::capi::StateOf;
using fettle::capi::TunerTurn;
using fettle::capi::WriteStruct;
using fettle::capi::WriteValues;
using fettle::tuner::Evaluation;
using fettle::tuner::Parameter;
using fettle::tuner::Point;
using fettle::tuner::Row;
using fettle::tuner::SearchOptions;
using fettle::tuner::SearchSpace;

namespace {

Status WriteEvaluation(const fettle_tuner& tuner, const Evaluation* evaluation, int64_t* values,
                       size_t count, double* ms) {
  RETURN_IF_ERROR(CheckCount(tuner, count));
  if (evaluation == nullptr)
    return fettle::Error(StatusCode::kNotFound, "tuner '{}': no such evaluation", tuner.name);
  WriteValues(tuner, evaluation->point, values);
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
    const TunerTurn turn(*tuner);
    RETURN_IF_ERROR(turn.Describe());
    Parameter parameter{name, {}};
    for (size_t i = 0; i < count; ++i) parameter.values.emplace_back(values[i]);
    std::vector<Parameter> parameters = tuner->parameters;
    parameters.push_back(std::move(parameter));
    const auto space = SearchSpace::Create(parameters);
    if (!space.ok()) return OfTuner(*tuner, space.status());
    tuner->parameters = std::move(parameters);
    tuner->known.clear();
    return OkStatus();
  });
}

fettle_status fettle_tuner_add_constraint(fettle_tuner* tuner, const char* expression) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(tuner);
    FETTLE_REQUIRE(expression);
    const TunerTurn turn(*tuner);
    RETURN_IF_ERROR(turn.Describe());
    const auto space = SearchSpace::Create(tuner->parameters, {expression});
    if (!space.ok()) return OfTuner(*tuner, space.status());
    tuner->conditions.emplace_back(expression);
    return OkStatus();
  });
}

fettle_status fettle_tuner_set_constraint(fettle_tuner* tuner, fettle_tuner_constraint function,
                                          void* user) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(tuner);
    const TunerTurn turn(*tuner);
    RETURN_IF_ERROR(turn.Describe());
    tuner->constraint = function;
    tuner->constraint_user = user;
    return OkStatus();
  });
}

fettle_status fettle_tuner_add_known(fettle_tuner* tuner, const int64_t* values, size_t count) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(tuner);
    FETTLE_REQUIRE(values);
    const TunerTurn turn(*tuner);
    RETURN_IF_ERROR(turn.Describe());
    RETURN_IF_ERROR(CheckCount(*tuner, count));
    ASSIGN_OR_RETURN(const SearchSpace space, SearchSpace::Create(tuner->parameters));
    auto point = space.Find({values, values + count});
    if (!point.ok()) return OfTuner(*tuner, point.status());
    tuner->known.push_back(std::move(*point));
    return OkStatus();
  });
}

fettle_status fettle_tuner_set_options(fettle_tuner* tuner, const fettle_tuner_options* options) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(tuner);
    FETTLE_REQUIRE(options);
    ASSIGN_OR_RETURN(const fettle_tuner_options given, ReadStruct(options));
    const TunerTurn turn(*tuner);
    RETURN_IF_ERROR(turn.Describe());
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
    ASSIGN_OR_RETURN(const fettle_tuner_callbacks given, ReadStruct(callbacks));
    if (given.run == nullptr) return InvalidArgument("callbacks->run is null");
    return RunSearch(*tuner, given);
  });
}

void fettle_tuner_cancel(fettle_tuner* tuner) {
  if (tuner != nullptr) tuner->cancelled = true;
}

fettle_status fettle_tuner_ask(fettle_tuner* tuner, int64_t* values, size_t count) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(tuner);
    if (count > 0) FETTLE_REQUIRE(values);
    const TunerTurn turn(*tuner);
    RETURN_IF_ERROR(turn.Change());
    RETURN_IF_ERROR(CheckCount(*tuner, count));
    RETURN_IF_ERROR(BeginSearch(*tuner));
    const std::optional<Point> point = tuner->search->Ask();
    if (!point)
      return fettle::Error(StatusCode::kNotFound, "tuner '{}': the search is over", tuner->name);
    tuner->asked = true;
    WriteValues(*tuner, *point, values);
    return OkStatus();
  });
}

fettle_status fettle_tuner_tell(fettle_tuner* tuner, double ms) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(tuner);
    const TunerTurn turn(*tuner);
    RETURN_IF_ERROR(turn.Change());
    if (!tuner->asked)
      return InvalidArgument("tuner '{}': fettle_tuner_tell before fettle_tuner_ask", tuner->name);
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
    const TunerTurn turn(*tuner);
    const Evaluation* const best = tuner->search ? tuner->search->search().best() : nullptr;
    return WriteEvaluation(*tuner, best, values, count, ms);
  });
}

fettle_status fettle_tuner_evaluation(const fettle_tuner* tuner, int64_t index, int64_t* values,
                                      size_t count, double* ms) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(tuner);
    FETTLE_REQUIRE(values);
    const TunerTurn turn(*tuner);
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
    const TunerTurn turn(*tuner);
    return WriteStruct(StateOf(*tuner), state);
  });
}
