#include "jobs/bench_runs.h"

#include <algorithm>
#include <atomic>
#include <latch>
#include <map>
#include <memory>
#include <numeric>
#include <thread>

#include "jobs/interrupt.h"
#include "report/progress.h"

namespace fettle::tools {
namespace {

/// At most so many inferences wait for each step, where that is the only way to the steps' times.
constexpr int kWaitingRuns = 5;

/// Inferences of each of several sessions before they begin together.
constexpr int kWarmUps = 2;

Transfers Since(const Transfers& now, const Transfers& before) {
  return {now.copies - before.copies, now.copied_bytes - before.copied_bytes,
          now.maps - before.maps, now.conversions - before.conversions};
}

Transfers Sum(const Transfers& a, const Transfers& b) {
  return {a.copies + b.copies, a.copied_bytes + b.copied_bytes, a.maps + b.maps,
          a.conversions + b.conversions};
}

/// Adds the times of one run to the sums; programs that take another path start over.
void Accumulate(const std::vector<exec::StepProfile>& run, std::vector<exec::StepProfile>& sums,
                int64_t& runs) {
  if (sums.size() != run.size()) {
    sums = run;
    runs = 1;
    return;
  }
  for (size_t i = 0; i < run.size(); ++i) sums[i].ms += run[i].ms;
  ++runs;
}

/// Inferences on tensors of the host, or on those of BoundRuns.
class Runs {
 public:
  Runs(const Job& job, runtime::Session& session)
      : session_(session), inputs_(job.bound.tensors()) {}
  /// From now on.
  Status Bind(const Job& job) {
    ASSIGN_OR_RETURN(bound_, BoundRuns::Create(job, session_));
    return OkStatus();
  }
  Status Run() { return bound_ ? bound_->Run(session_) : session_.Run(inputs_, &outputs_); }
  Transfers transfers() const {
    return bound_ ? Sum(session_.transfers(), bound_->transfers()) : session_.transfers();
  }

 private:
  runtime::Session& session_;
  const runtime::TensorMap inputs_;
  runtime::TensorMap outputs_;
  std::optional<BoundRuns> bound_;
};

Status TimeRuns(const BenchLength& length, Runs& runs, const runtime::Session& session,
                BenchResult& result) {
  Progress progress("bench", length.iters);
  int64_t count = 0;  // of those in the steps' sums
  const int64_t begin = NowNs();
  for (bool enough = false; !enough && !result.interrupted;) {
    const Transfers before = runs.transfers();
    const int64_t start = NowNs();
    const Status status = runs.Run();
    if (status.code() == StatusCode::kCancelled && !result.latencies.empty()) {
      result.interrupted = true;
      break;
    }
    RETURN_IF_ERROR(status);
    result.latencies.push_back(MsSince(start));
    result.transfers = Since(runs.transfers(), before);
    result.runs_on_fewer += session.lanes() < session.threads() ? 1 : 0;
    result.host_ms.push_back(static_cast<double>(session.host_ns()) * 1e-6);
    Accumulate(session.profile(), result.steps, count);
    result.interrupted = InterruptScope::Interrupted();
    const double elapsed = MsSince(begin) * 1e-3;
    enough =
        length.iters > 0 ? std::ssize(result.latencies) >= length.iters : elapsed >= length.seconds;
    if (length.iters > 0) progress.Update(std::ssize(result.latencies));
    if (length.iters == 0) progress.UpdateFraction(elapsed / length.seconds);
  }
  for (exec::StepProfile& step : result.steps)
    step.ms /= static_cast<double>(std::max<int64_t>(1, count));
  return OkStatus();
}

}  // namespace

Result<BoundRuns> BoundRuns::Create(const Job& job, runtime::Session& session) {
  const auto place = [&](const Tensor& like) -> Result<std::shared_ptr<runtime::TensorBuffer>> {
    if (job.session.accelerator() == nullptr) {
      ASSIGN_OR_RETURN(Tensor host, Tensor::Create(like.dtype(), like.shape()));
      return std::make_shared<runtime::TensorBuffer>(std::move(host), /*recyclable=*/true);
    }
    const auto& device = job.session.accelerators[0];
    const State state{
        .device = device->kind(), .memory = MemoryKind::kBuffer, .storage = like.dtype()};
    return runtime::TensorBuffer::Create(device, like.dtype(), like.shape(), state);
  };
  const runtime::TensorMap inputs = job.bound.tensors();
  runtime::TensorMap outputs;
  // Tells the outputs' shapes.
  RETURN_IF_ERROR(session.Run(inputs, &outputs));
  BoundRuns runs;
  for (const auto& [name, tensor] : inputs) {
    ASSIGN_OR_RETURN(auto& buffer = runs.inputs_[name], place(tensor));
    RETURN_IF_ERROR(buffer->WriteFromHost(tensor));
  }
  for (const auto& [name, tensor] : outputs) {
    ASSIGN_OR_RETURN(runs.outputs_[name], place(tensor));
  }
  return runs;
}

Status BoundRuns::Run(runtime::Session& session) {
  runtime::TensorMap others;
  return session.RunOn(inputs_, outputs_, &others);
}

Transfers BoundRuns::transfers() const {
  Transfers sum;
  for (const auto* buffers : {&inputs_, &outputs_}) {
    for (const auto& [name, buffer] : *buffers) {
      sum = Sum(sum, buffer->transfers());
    }
  }
  return sum;
}

Status Measure(const BenchLength& length, const Job& job, bool bound, runtime::Session& session,
               BenchResult& result) {
  const InterruptScope interrupt([&] { session.Cancel(); });
  int64_t start = NowNs();
  RETURN_IF_ERROR(session.Prepare(job.bound.shapes()));
  result.prepare_ms = MsSince(start);
  result.preparation = session.preparation();
  Runs runs(job, session);
  start = NowNs();
  RETURN_IF_ERROR(runs.Run());
  result.first_ms = MsSince(start);
  if (bound) RETURN_IF_ERROR(runs.Bind(job));
  for (int i = 0; i < length.warmup; ++i) RETURN_IF_ERROR(runs.Run());
  RETURN_IF_ERROR(TimeRuns(length, runs, session, result));
  result.memory = session.memory();
  return OkStatus();
}

Status MeasureSteps(const Job& job, const runtime::Session& timed, runtime::SessionOptions options,
                    BenchResult& result) {
  options.waits_for_steps = true;
  options.precision = timed.limits().precision;  // as its first run was judged
  options.judges_first_run = false;
  ASSIGN_OR_RETURN(const auto session, runtime::Session::Create(job.model, options));
  const std::map<std::string, Tensor> inputs = job.bound.tensors();
  std::map<std::string, Tensor> outputs;
  RETURN_IF_ERROR(session->Run(inputs, &outputs));
  std::vector<exec::StepProfile> sums;
  int64_t runs = 0;
  const double enough_ms = std::accumulate(result.latencies.begin(), result.latencies.end(), 0.0);
  const int64_t begin = NowNs();
  for (int i = 0; i == 0 || (i < kWaitingRuns && MsSince(begin) < enough_ms); ++i) {
    RETURN_IF_ERROR(session->Run(inputs, &outputs));
    Accumulate(session->profile(), sums, runs);
  }
  for (exec::StepProfile& step : sums) step.ms /= static_cast<double>(runs);
  result.steps = std::move(sums);
  return OkStatus();
}

Result<double> ThroughputAtOnce(const Job& job, const runtime::SessionOptions& options,
                                int sessions, double seconds) {
  runtime::SessionOptions each = options;
  each.threads = std::max(job.threads / sessions, 1);
  const std::map<std::string, Tensor> inputs = job.bound.tensors();
  std::vector<std::unique_ptr<runtime::Session>> made;
  for (int i = 0; i < sessions; ++i) {
    ASSIGN_OR_RETURN(auto session, runtime::Session::Create(job.model, each));
    std::map<std::string, Tensor> outputs;
    for (int run = 0; run < kWarmUps; ++run) RETURN_IF_ERROR(session->Run(inputs, &outputs));
    made.push_back(std::move(session));
  }
  std::vector<Status> statuses(made.size());
  std::vector<int64_t> runs(made.size(), 0);
  std::atomic<bool> ends = false;
  std::latch begin(sessions);
  const auto run = [&](size_t i) {
    std::map<std::string, Tensor> outputs;
    begin.arrive_and_wait();
    const int64_t end_ns = NowNs() + static_cast<int64_t>(seconds * 1e9);
    while (!ends && NowNs() < end_ns && !InterruptScope::Interrupted()) {
      statuses[i] = made[i]->Run(inputs, &outputs);
      if (!statuses[i].ok()) ends = true;
      ++runs[i];
    }
  };
  const int64_t start = NowNs();
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < made.size(); ++i) threads.emplace_back(run, i);
  }
  const double taken = static_cast<double>(NowNs() - start) * 1e-9;
  int64_t all = 0;
  for (size_t i = 0; i < made.size(); ++i) {
    RETURN_IF_ERROR(statuses[i]);
    all += runs[i];
  }
  return static_cast<double>(all) / taken;
}

}  // namespace fettle::tools
