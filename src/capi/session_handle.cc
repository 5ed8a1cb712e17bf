// fettle.h: sessions.
#include <algorithm>

#include "base/foreground.h"
#include "base/nearest.h"
#include "capi/handles.h"
#include "capi/parts.h"
#include "capi/structs.h"
#include "ir/value_text.h"
#include "runtime/device_choice.h"

using fettle::Error;
using fettle::OkStatus;
using fettle::Result;
using fettle::Status;
using fettle::StatusCode;
using fettle::capi::CheckInput;
using fettle::capi::Guard;
using fettle::capi::InputsWith;
using fettle::capi::OutputOf;
using fettle::capi::Run;
using fettle::runtime::BufferMap;
using fettle::runtime::Session;
using fettle::runtime::TensorBuffer;

namespace {

/// The device and what concerns it.
Status ReadDevice(const fettle_session_options& options, fettle::runtime::SessionOptions& wanted) {
  const auto text = [](const char* given, const char* otherwise) {
    return given == nullptr ? otherwise : given;
  };
  if (options.queue_window < 0 || !(options.kernel_ms >= 0))
    return fettle::InvalidArgument("queue_window and kernel_ms: expected 0 or more");
  const char* device = text(options.device, "auto");
  fettle::OpenOptions open{
      .programs = options.programs,
      .pacing = {.queue_window = options.queue_window, .kernel_ms = options.kernel_ms}};
  ASSIGN_OR_RETURN(open.svm,
                   fettle::runtime::SharedMemoryFromName(text(options.svm, "off"), device, open));
  ASSIGN_OR_RETURN(wanted.accelerators.emplace_back(),
                   fettle::runtime::OpenAccelerator(device, open));
  std::erase(wanted.accelerators, nullptr);
  ASSIGN_OR_RETURN(wanted.precision,
                   fettle::runtime::PrecisionFromName(text(options.precision, "high")));
  ASSIGN_OR_RETURN(wanted.memory, fettle::runtime::MemoryFromName(text(options.memory, "auto")));
  ASSIGN_OR_RETURN(wanted.starts_fast,
                   fettle::runtime::StartsFastFromName(text(options.start, "ready")));
  wanted.accelerator_only = options.strict_device != 0;
  wanted.queue_window = options.queue_window;
  wanted.kernel_ms = options.kernel_ms;
  return OkStatus();
}

Status ReadOptions(const fettle_session_options& options, fettle::runtime::SessionOptions& wanted) {
  wanted.threads = options.threads;
  wanted.reference_only = options.reference_only != 0;
  wanted.max_memory = options.max_memory;
  ASSIGN_OR_RETURN(wanted.subnormals,
                   fettle::runtime::SubnormalsFromName(
                       options.subnormals == nullptr ? "flush" : options.subnormals));
  if (options.extra_output_count > 0) FETTLE_REQUIRE(options.extra_outputs);
  for (size_t i = 0; i < options.extra_output_count; ++i) {
    FETTLE_REQUIRE(options.extra_outputs[i]);
    wanted.extra_outputs.emplace_back(options.extra_outputs[i]);
  }
  return ReadDevice(options, wanted);
}

Result<bool> FailsWhenBusy(const char* when_busy) {
  const std::string_view name = when_busy == nullptr ? "wait" : when_busy;
  if (name == "wait" || name == "fail") return name == "fail";
  return fettle::InvalidArgument("when_busy: expected wait|fail, got '{}'", name);
}

bool Has(const fettle::ir::Graph& graph, const std::vector<fettle::ir::ValueId>& list,
         std::string_view name) {
  return std::any_of(list.begin(), list.end(),
                     [&](fettle::ir::ValueId id) { return graph.value(id).name == name; });
}

/// Says that a tuning is in progress, as long as it lives.
class TuningMark {
 public:
  explicit TuningMark(std::atomic<bool>& tunes) : tunes_(tunes) { tunes_ = true; }
  ~TuningMark() { tunes_ = false; }
  TuningMark(const TuningMark&) = delete;
  TuningMark& operator=(const TuningMark&) = delete;

 private:
  std::atomic<bool>& tunes_;
};

}  // namespace

namespace fettle::capi {

Status CheckTunable(const fettle_session& session) {
  if (session.options.reference_only || !session.options.extra_outputs.empty())
    return Unsupported("a session with extra outputs, or with references only, cannot be tuned");
  if (session.background != nullptr && !session.background->state().is_over())
    return Error(StatusCode::kBusy, "the session is being tuned in the background");
  return OkStatus();
}

Status CheckInput(const fettle_session& session, std::string_view name) {
  const ir::Graph& graph = session.model->graph();
  if (Has(graph, graph.inputs, name)) return OkStatus();
  return Error(StatusCode::kNotFound, "the model has no input '{}'; it has {}", name,
               NearestNames(name, ir::NamesOfValues(graph, graph.inputs)));
}

Status Run(fettle_session& session, const BufferMap& inputs, const BufferMap& outputs) {
  const Foreground::Request request;
  if (session.background != nullptr) {
    const std::lock_guard lock(session.cancel_mutex);
    session.background->Exchange(session.session, session.options);
  }
  session.results.clear();
  runtime::TensorMap made;
  RETURN_IF_ERROR(session.session->RunOn(inputs, outputs, &made));
  if (session.background != nullptr) session.background->Observe(inputs);
  session.results = outputs;
  for (auto& [name, tensor] : made)
    session.results.insert_or_assign(
        name, std::make_shared<TensorBuffer>(std::move(tensor), /*recyclable=*/true));
  return OkStatus();
}

Result<std::unique_ptr<fettle_tensor>> OutputOf(const fettle_session& session,
                                                std::string_view name) {
  const auto found = session.results.find(std::string(name));
  if (found == session.results.end())
    return Error(StatusCode::kNotFound, "the last run gave no output '{}'", name);
  return std::unique_ptr<fettle_tensor>(new fettle_tensor{found->second});
}

Result<BufferMap> InputsWith(const fettle_session& session, const char* const* names,
                             const fettle_tensor* const* inputs, size_t count) {
  BufferMap given;
  {
    const std::lock_guard lock(session.set_mutex);
    given = session.inputs;
  }
  if (count > 0) FETTLE_REQUIRE(inputs);
  for (size_t i = 0; i < count; ++i) {
    FETTLE_REQUIRE(names[i]);
    FETTLE_REQUIRE(inputs[i]);
    RETURN_IF_ERROR(CheckInput(session, names[i]));
    given.insert_or_assign(names[i], inputs[i]->buffer);
  }
  return given;
}

}  // namespace fettle::capi

fettle_status fettle_session_create(const fettle_model* model,
                                    const fettle_session_options* options,
                                    fettle_session** session) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(model);
    FETTLE_REQUIRE(session);
    auto handle = std::make_unique<fettle_session>();
    int64_t max_runs = fettle::RunQueue::kDefaultLimit;
    if (options != nullptr) {
      ASSIGN_OR_RETURN(const fettle_session_options given, fettle::capi::ReadStruct(options));
      RETURN_IF_ERROR(ReadOptions(given, handle->options));
      ASSIGN_OR_RETURN(handle->fails_when_busy, FailsWhenBusy(given.when_busy));
      if (given.max_runs < 0)
        return fettle::InvalidArgument("max_runs: expected 0 or more, got {}", given.max_runs);
      if (given.max_runs > 0) max_runs = given.max_runs;
    }
    handle->options.cancelled = &handle->stops_run;
    handle->runs.emplace(handle->mutex, handle->stops_run, max_runs);
    ASSIGN_OR_RETURN(handle->session, Session::Create(model->model, handle->options));
    handle->options.starts_fast = false;  // sessions that take its place are ready
    handle->model = model->model;
    *session = handle.release();
    return OkStatus();
  });
}

void fettle_session_free(fettle_session* session) { delete session; }

fettle_status fettle_session_set_input(fettle_session* session, const char* name,
                                       const fettle_tensor* tensor) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(name);
    FETTLE_REQUIRE(tensor);
    FETTLE_ENTER(session);
    RETURN_IF_ERROR(CheckInput(*session, name));
    const std::lock_guard lock(session->set_mutex);
    session->inputs.insert_or_assign(name, tensor->buffer);
    return OkStatus();
  });
}

fettle_status fettle_session_set_output(fettle_session* session, const char* name,
                                        fettle_tensor* tensor) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(name);
    FETTLE_ENTER(session);
    const fettle::ir::Graph& graph = session->model->graph();
    if (!Has(graph, graph.outputs, name))
      return Error(StatusCode::kNotFound, "the model has no output '{}'; it has {}", name,
                   fettle::NearestNames(name, fettle::ir::NamesOfValues(graph, graph.outputs)));
    const std::lock_guard lock(session->set_mutex);
    if (tensor == nullptr)
      session->outputs.erase(name);
    else
      session->outputs.insert_or_assign(name, tensor->buffer);
    return OkStatus();
  });
}

fettle_status fettle_session_prepare(fettle_session* session) {
  return Guard([&]() -> Status {
    FETTLE_ENTER(session);
    return session->session->PrepareOn(session->inputs, session->outputs);
  });
}

fettle_status fettle_session_run(fettle_session* session) {
  return Guard([&]() -> Status {
    FETTLE_ENTER(session);
    return Run(*session, session->inputs, session->outputs);
  });
}

fettle_status fettle_session_infer(fettle_session* session, const char* const* input_names,
                                   const fettle_tensor* const* inputs, size_t input_count,
                                   const char* const* output_names, fettle_tensor** outputs,
                                   size_t output_count) {
  return Guard([&]() -> Status {
    if (input_count > 0) FETTLE_REQUIRE(input_names);
    if (output_count > 0) FETTLE_REQUIRE(output_names);
    if (output_count > 0) FETTLE_REQUIRE(outputs);
    FETTLE_ENTER(session);
    ASSIGN_OR_RETURN(const BufferMap given, InputsWith(*session, input_names, inputs, input_count));
    RETURN_IF_ERROR(Run(*session, given, session->outputs));
    std::vector<std::unique_ptr<fettle_tensor>> results(output_count);
    for (size_t i = 0; i < output_count; ++i) {
      FETTLE_REQUIRE(output_names[i]);
      ASSIGN_OR_RETURN(results[i], OutputOf(*session, output_names[i]));
    }
    for (size_t i = 0; i < output_count; ++i) outputs[i] = results[i].release();
    return OkStatus();
  });
}

fettle_status fettle_session_tune(fettle_session* session, const fettle_tune_options* options,
                                  fettle_tune_report* report) {
  return Guard([&]() -> Status {
    FETTLE_ENTER(session);
    RETURN_IF_ERROR(fettle::capi::CheckTunable(*session));
    fettle_tune_options wanted = FETTLE_TUNE_OPTIONS_INIT;
    if (options != nullptr) {
      ASSIGN_OR_RETURN(wanted, fettle::capi::ReadStruct(options));
    }
    if (wanted.reserved != 0) return fettle::Unsupported("fettle_tune_options: reserved is set");
    if (report != nullptr) RETURN_IF_ERROR(fettle::capi::CheckStruct(report));
    session->tuning_cancelled = false;
    const TuningMark mark(session->tunes);
    return fettle::capi::Tune(*session, wanted, report);
  });
}

fettle_status fettle_session_output(const fettle_session* session, const char* name,
                                    fettle_tensor** tensor) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(tensor);
    FETTLE_REQUIRE(name);
    FETTLE_ENTER(session);
    ASSIGN_OR_RETURN(auto output, OutputOf(*session, name));
    *tensor = output.release();
    return OkStatus();
  });
}

void fettle_session_cancel(fettle_session* session) {
  if (session == nullptr) return;
  if (session->tunes) session->tuning_cancelled = true;
  const std::lock_guard lock(session->cancel_mutex);
  session->session->Cancel();
}

size_t fettle_session_step_count(const fettle_session* session) {
  if (session == nullptr) return 0;
  const std::lock_guard lock(session->mutex);
  return session->session->profile().size();
}

fettle_status fettle_session_step(const fettle_session* session, size_t index, fettle_step* step) {
  return Guard([&]() -> Status {
    FETTLE_REQUIRE(step);
    FETTLE_ENTER(session);
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
    FETTLE_REQUIRE(memory);
    FETTLE_ENTER(session);
    const fettle::runtime::MemoryInfo info = session->session->memory();
    return fettle::capi::WriteStruct({.struct_size = sizeof(fettle_memory),
                                      .arena = info.arena_bytes,
                                      .weights = info.weight_bytes,
                                      .packed = info.packed_bytes},
                                     memory);
  });
}
