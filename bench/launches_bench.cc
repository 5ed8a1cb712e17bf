// What the launches of an inference on an OpenCL device cost the host, and what the device: they
// are recorded from a session and replayed as they are. Devices that are through with a kernel
// before the host has enqueued the next one are timed behind a gate, a kernel that keeps them busy
// until all that is timed is enqueued; what events say of the same kernels stands beside it.
// Usage: launches_bench MODEL [DEVICE [high|normal]]
#include <algorithm>
#include <cstdio>
#include <map>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "bench/gate.h"
#include "bench/opencl_session.h"
#include "device/opencl/opencl_stream.h"

namespace {

using namespace fettle;  // NOLINT: a program of one file

struct Launch {
  cl_program program = nullptr;
  std::string function;
  std::vector<std::vector<std::byte>> args;
  std::array<size_t, 3> gws{}, lws{};
};

/// The loader's functions; launches are recorded on the way.
class RecordedOpenCl {
 public:
  RecordedOpenCl() : real_(*LoadOpenCl().value()), api_(real_) {
    g_recorded = this;
    api_.CreateKernel = [](cl_program program, const char* name, cl_int* code) {
      cl_kernel made = g_recorded->real_.CreateKernel(program, name, code);
      g_recorded->kernels_[made] = {.program = program, .function = name};
      return made;
    };
    api_.SetKernelArg = [](cl_kernel kernel, cl_uint i, size_t size, const void* value) {
      auto& args = g_recorded->kernels_[kernel].args;
      args.resize(std::max<size_t>(args.size(), i + 1));
      const auto* bytes = static_cast<const std::byte*>(value);
      args[i].assign(bytes, bytes + size);
      return g_recorded->real_.SetKernelArg(kernel, i, size, value);
    };
    api_.EnqueueNDRangeKernel = [](cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                   const size_t* offset, const size_t* gws, const size_t* lws,
                                   cl_uint waits, const cl_event* wait, cl_event* event) {
      Launch& launch = g_recorded->launches_.emplace_back(g_recorded->kernels_[kernel]);
      std::copy_n(gws, dims, launch.gws.begin());
      if (lws != nullptr) std::copy_n(lws, dims, launch.lws.begin());
      return g_recorded->real_.EnqueueNDRangeKernel(queue, kernel, dims, offset, gws, lws, waits,
                                                    wait, event);
    };
  }
  const OpenClApi& api() const { return api_; }
  const OpenClApi& real() const { return real_; }
  /// What was launched since the last call.
  std::vector<Launch> Take() { return std::move(launches_); }

 private:
  static inline RecordedOpenCl* g_recorded = nullptr;
  const OpenClApi& real_;
  OpenClApi api_;
  std::map<cl_kernel, Launch> kernels_;
  std::vector<Launch> launches_;
};

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + std::ssize(values) / 2, values.end());
  return values[values.size() / 2];
}

double UsSince(int64_t begin) { return static_cast<double>(NowNs() - begin) * 1e-3; }

/// Recorded launches on queues of their own, each with a kernel whose arguments are set once.
class Replay {
 public:
  Replay(const OpenClApi& api, const OpenClDevice& device, const std::vector<Launch>& launches)
      : api_(api),
        launches_(launches),
        stream_(OpenClStream::Create(device.shared_from_this()).value()) {
    cl_int code = CL_SUCCESS;
    queue_ = stream_->queue();
    timed_ =
        api.CreateCommandQueue(device.context(), device.id(), CL_QUEUE_PROFILING_ENABLE, &code);
    for (const Launch& launch : launches) {
      kernels_.push_back(api.CreateKernel(launch.program, launch.function.c_str(), &code));
      for (size_t a = 0; a < launch.args.size(); ++a)
        api.SetKernelArg(kernels_.back(), static_cast<cl_uint>(a), launch.args[a].size(),
                         launch.args[a].data());
    }
    Gate(*stream_).Ns([] {});  // the first one is calibrated
  }

  size_t size() const { return kernels_.size(); }
  void Enqueue(size_t i, cl_command_queue queue, cl_event* event = nullptr) const {
    const Launch& launch = launches_[i];
    api_.EnqueueNDRangeKernel(queue, kernels_[i], 3, nullptr, launch.gws.data(),
                              launch.lws[0] > 0 ? launch.lws.data() : nullptr, 0, nullptr, event);
  }
  void EnqueueAll() const {
    for (size_t i = 0; i < size(); ++i) Enqueue(i, queue_);
  }
  void EnqueueAllWithEvents() const {
    for (size_t i = 0; i < size(); ++i) {
      cl_event event = nullptr;
      Enqueue(i, queue_, &event);
      api_.ReleaseEvent(event);
    }
  }

  struct Times {
    double host_us = 0, whole_us = 0;
  };
  /// Of the host in `enqueue`, and until the device is through.
  Times Time(auto enqueue) const {
    std::vector<double> host, whole;
    for (int run = 0; run < kRuns; ++run) {
      api_.Finish(queue_);
      const int64_t begin = NowNs();
      enqueue();
      host.push_back(UsSince(begin));
      api_.Finish(queue_);
      whole.push_back(UsSince(begin));
    }
    return {Median(host), Median(whole)};
  }
  /// Of the device alone, in what `enqueue` enqueues in less than `host_us`.
  double Gated(auto enqueue, double host_us) const {
    constexpr double kMarginUs = 300;
    const Gate gate(*stream_, host_us + kMarginUs);
    std::vector<double> us;
    for (int run = 0; run < kRuns; ++run) us.push_back(gate.MicrosecondsBehind(enqueue));
    return Median(us);
  }
  double GatedUs(size_t i) const {
    constexpr int kTimes = 48;
    constexpr double kHostUs = 12;
    return Gated(
               [&] {
                 for (int k = 0; k < kTimes; ++k) Enqueue(i, queue_);
               },
               kTimes * kHostUs) /
           kTimes;
  }
  double EventUs(size_t i) const {
    std::vector<double> us;
    for (int run = 0; run < kRuns; ++run) {
      cl_event event = nullptr;
      Enqueue(i, timed_, &event);
      api_.WaitForEvents(1, &event);
      us.push_back(DurationMs(api_, event) * 1e3);
      api_.ReleaseEvent(event);
    }
    return Median(us);
  }

 private:
  static constexpr int kRuns = 7;

  const OpenClApi& api_;
  const std::vector<Launch>& launches_;
  std::unique_ptr<OpenClStream> stream_;
  cl_command_queue queue_, timed_;  // until the program ends, as are the kernels
  std::vector<cl_kernel> kernels_;
};

void Print(const Replay& replay, const std::vector<Launch>& launches) {
  const auto times = replay.Time([&] { replay.EnqueueAll(); });
  const auto with_events = replay.Time([&] { replay.EnqueueAllWithEvents(); });
  const double count = static_cast<double>(replay.size());
  std::printf(
      "%zu launches an inference, us: host %.1f each, %.1f with an event; until finished "
      "%.1f; device alone %.1f\n",
      replay.size(), times.host_us / count, with_events.host_us / count, times.whole_us,
      replay.Gated([&] { replay.EnqueueAll(); }, 2 * times.host_us));
  std::printf("%4s %-26s %9s %24s %9s %9s\n", "", "function", "arguments", "work-items", "gated us",
              "event us");
  double gated_sum = 0, event_sum = 0;
  for (size_t i = 0; i < replay.size(); ++i) {
    const Launch& launch = launches[i];
    const auto& [gws, lws] = std::pair(launch.gws, launch.lws);
    const double gated = replay.GatedUs(i), event = replay.EventUs(i);
    std::printf(
        "%4zu %-26s %9zu %24s %9.2f %9.2f\n", i, launch.function.c_str(), launch.args.size(),
        fmt::format("{}x{}x{} by {}x{}x{}", gws[0], gws[1], gws[2], lws[0], lws[1], lws[2]).c_str(),
        gated, event);
    gated_sum += gated;
    event_sum += event;
  }
  std::printf("in all: %.1f us behind a gate, %.1f us by events\n", gated_sum, event_sum);
}

/// Whole inferences with inputs and outputs of the host, recorded as well: what the session adds.
Status PrintSession(runtime::Session& session, const runtime::TensorMap& inputs) {
  constexpr int kRuns = 21;
  std::vector<double> host, whole;
  runtime::TensorMap outputs;
  for (int run = 0; run < kRuns; ++run) {
    const int64_t begin = NowNs();
    RETURN_IF_ERROR(session.Run(inputs, &outputs));
    whole.push_back(UsSince(begin));
    host.push_back(static_cast<double>(session.host_ns()) * 1e-3);
  }
  std::printf("the session, us: %.1f, of them the host %.1f without waiting\n", Median(whole),
              Median(host));
  return OkStatus();
}

Status Run(const std::string& path, const std::string& device_name, bool normal) {
  RecordedOpenCl recorded;
  ASSIGN_OR_RETURN(
      const bench::OpenClSession opened,
      bench::OpenSession(path, device_name, {.api = &recorded.api()},
                         normal ? planner::Precision::kNormal : planner::Precision::kHigh));
  runtime::TensorMap outputs;
  // The first inference judges the precision.
  RETURN_IF_ERROR(opened.session->Run(opened.inputs, &outputs));
  recorded.Take();
  RETURN_IF_ERROR(opened.session->Run(opened.inputs, &outputs));
  const std::vector<Launch> launches = recorded.Take();
  RETURN_IF_ERROR(PrintSession(*opened.session, opened.inputs));
  Print(Replay(recorded.real(), *opened.device, launches), launches);
  return OkStatus();
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: launches_bench MODEL [DEVICE [high|normal]]\n");
    return 2;
  }
  const bool normal = count > 3 && std::string_view(arguments[3]) == "normal";
  const Status status = Run(arguments[1], count > 2 ? arguments[2] : "", normal);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.message().c_str());
  return 1;
}
