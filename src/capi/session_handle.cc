// fettle.h: sessions.
#include "capi/handles.h"
#include "capi/structs.h"
#include "runtime/device_choice.h"
#include "runtime/tune_model.h"

using fettle::Error;
using fettle::OkStatus;
using fettle::Status;
using fettle::StatusCode;
using fettle::capi::Guard;
using fettle::runtime::Session;

namespace {

/// The device and what concerns it.
Status ReadDevice(const fettle_session_options& options, fettle::runtime::SessionOptions& wanted) {
  const auto text = [](const char* given, const char* otherwise) {
    return given == nullptr ? otherwise : given;
  };
  if (options.queue_window < 0 || options.kernel_ms < 0)
    return fettle::InvalidArgument("queue_window and kernel_ms: expected 0 or more");
  ASSIGN_OR_RETURN(
      wanted.accelerators.emplace_back(),
      fettle::runtime::OpenAccelerator(
          text(options.device, "auto"),
          {.programs = options.programs,
           .pacing = {.queue_window = options.queue_window, .kernel_ms = options.kernel_ms}}));
  ASSIGN_OR_RETURN(wanted.precision,
                   fettle::runtime::PrecisionFromName(text(options.precision, "high")));
  ASSIGN_OR_RETURN(wanted.memory, fettle::runtime::MemoryFromName(text(options.memory, "auto")));
  wanted.accelerator_only = options.strict_device != 0;
  wanted.queue_window = options.queue_window;
  wanted.kernel_ms = options.kernel_ms;
  return OkStatus();
}

Status ReadOptions(const fettle_session_options& options, fettle::runtime::SessionOptions& wanted) {
  wanted.threads = options.threads;
  wanted.reference_only = options.reference_only != 0;
  if (options.extra_output_count > 0) FETTLE_REQUIRE(options.extra_outputs);
  for (size_t i = 0; i < options.extra_output_count; ++i) {
    FETTLE_REQUIRE(options.extra_outputs[i]);
    wanted.extra_outputs.emplace_back(options.extra_outputs[i]);
  }
  return ReadDevice(options, wanted);
}

}  // namespace

fettle_status fettle_session_create(const fettle_model* model,
                                    const fettle_session_options* options,
                                    fettle_session** session) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(model);
    FETTLE_REQUIRE(session);
    fettle::runtime::SessionOptions wanted;
    if (options != nullptr) {
      ASSIGN_OR_RETURN(const fettle_session_options given, fettle::capi::ReadStruct(options));
      RETURN_IF_ERROR(ReadOptions(given, wanted));
    }
    ASSIGN_OR_RETURN(auto made, Session::Create(model->model, wanted));
    *session = new fettle_session{std::move(made), {}, {}, model->model, std::move(wanted)};
    return OkStatus();
  });
}

void fettle_session_free(fettle_session* session) { delete session; }

fettle_status fettle_session_set_input(fettle_session* session, const char* name,
                                       const fettle_tensor* tensor) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(session);
    FETTLE_REQUIRE(name);
    FETTLE_REQUIRE(tensor);
    const fettle::ir::Graph& graph = session->session->model().graph();
    for (fettle::ir::ValueId id : graph.inputs) {
      if (graph.value(id).name != name) continue;
      session->inputs.insert_or_assign(name, tensor->tensor);
      return OkStatus();
    }
    return Error(StatusCode::kNotFound, "the model has no input '{}'", name);
  });
}

fettle_status fettle_session_prepare(fettle_session* session) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(session);
    std::map<std::string, fettle::Shape> shapes;
    for (const auto& [name, tensor] : session->inputs) shapes.emplace(name, tensor.shape());
    return session->session->Prepare(shapes);
  });
}

fettle_status fettle_session_run(fettle_session* session) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(session);
    return session->session->Run(session->inputs, &session->outputs);
  });
}

fettle_status fettle_session_tune(fettle_session* session, const fettle_tune_options* options,
                                  fettle_tune_report* report) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(session);
    if (session->options.reference_only || !session->options.extra_outputs.empty())
      return fettle::Unsupported("a session with extra outputs or references alone is not tuned");
    fettle_tune_options wanted = FETTLE_TUNE_OPTIONS_INIT;
    if (options != nullptr) {
      ASSIGN_OR_RETURN(wanted, fettle::capi::ReadStruct(options));
    }
    if (report != nullptr) RETURN_IF_ERROR(fettle::capi::CheckStruct(report));
    fettle::runtime::TuneModelOptions tune{.session = session->options};
    ASSIGN_OR_RETURN(tune.tune.level, fettle::tuner::LevelFromName(
                                          wanted.level == nullptr ? "normal" : wanted.level));
    if (wanted.budget_seconds < 0) return fettle::InvalidArgument("budget_seconds: below 0");
    if (wanted.budget_seconds > 0)
      tune.deadline_ns = fettle::NowNs() + static_cast<int64_t>(wanted.budget_seconds * 1e9);
    const auto store = wanted.database == nullptr ? fettle::tuner::MemoryStore()
                                                  : fettle::tuner::OpenUserStore(wanted.database);
    ASSIGN_OR_RETURN(auto result,
                     fettle::runtime::TuneModel(session->model, session->inputs, tune, *store));
    if (wanted.package != nullptr) {
      RETURN_IF_ERROR(fettle::runtime::SaveTuned(wanted.package, "", session->model,
                                                 session->inputs, session->options, result)
                          .status());
    }
    fettle::runtime::SessionOptions next = session->options;
    next.plans = fettle::planner::PlansOf(result.book);
    ASSIGN_OR_RETURN(session->session, Session::Create(session->model, next));
    session->options = std::move(next);
    if (report == nullptr) return OkStatus();
    const fettle::tuner::GateResult& gate = result.gate;
    return fettle::capi::WriteStruct(
        {.struct_size = sizeof(fettle_tune_report),
         .accepted = gate.accepted ? 1 : 0,
         .default_ms = gate.incumbent_us * 1e-3,
         .tuned_ms = (gate.accepted ? gate.challenger_us : gate.incumbent_us) * 1e-3,
         .predicted_ms = result.predicted_us * 1e-3,
         .measured = result.report.measured,
         .reused = result.report.reused},
        report);
  });
}

fettle_status fettle_session_output(const fettle_session* session, const char* name,
                                    fettle_tensor** tensor) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(session);
    FETTLE_REQUIRE(name);
    FETTLE_REQUIRE(tensor);
    const auto found = session->outputs.find(name);
    if (found == session->outputs.end())
      return Error(StatusCode::kNotFound, "the last run gave no output '{}'", name);
    *tensor = new fettle_tensor{found->second};
    return OkStatus();
  });
}

void fettle_session_cancel(fettle_session* session) {
  if (session != nullptr) session->session->Cancel();
}

size_t fettle_session_step_count(const fettle_session* session) {
  return session == nullptr ? 0 : session->session->profile().size();
}

fettle_status fettle_session_step(const fettle_session* session, size_t index, fettle_step* step) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(session);
    FETTLE_REQUIRE(step);
    const auto& profile = session->session->profile();
    if (index >= profile.size())
      return Error(StatusCode::kNotFound, "index {} of {} steps", index, profile.size());
    const fettle::exec::StepProfile& from = profile[index];
    return fettle::capi::WriteStruct({.struct_size = sizeof(fettle_step),
                                      .node = from.node.c_str(),
                                      .op = from.op.c_str(),
                                      .kernel = from.kernel.c_str(),
                                      .ms = from.ms,
                                      .macs = from.macs,
                                      .bytes = from.bytes},
                                     step);
  });
}

fettle_status fettle_session_memory(const fettle_session* session, fettle_memory* memory) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(session);
    FETTLE_REQUIRE(memory);
    const fettle::runtime::MemoryInfo info = session->session->memory();
    return fettle::capi::WriteStruct({.struct_size = sizeof(fettle_memory),
                                      .arena = info.arena_bytes,
                                      .weights = info.weight_bytes,
                                      .packed = info.packed_bytes},
                                     memory);
  });
}
