// How an inference on an OpenCL device leaves it to others: its launches, the longest of them by
// the device's clock, and how many commands were unfinished at once, without limits and with them.
// Usage: pacing_bench MODEL [KERNEL_MS [QUEUE_WINDOW [DEVICE]]]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bench/opencl_session.h"
#include "device/opencl/opencl_stream.h"

namespace {

using namespace fettle;  // NOLINT: a program of one file

/// The loader's functions; launches are watched on the way.
class WatchedOpenCl {
 public:
  WatchedOpenCl() : real_(*LoadOpenCl().value()), api_(real_) {
    g_watched = this;
    api_.CreateCommandQueue = [](cl_context context, cl_device_id device,
                                 cl_command_queue_properties properties, cl_int* code) {
      return g_watched->real_.CreateCommandQueue(context, device,
                                                 properties | CL_QUEUE_PROFILING_ENABLE, code);
    };
    api_.EnqueueNDRangeKernel = [](cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                   const size_t* offset, const size_t* gws, const size_t* lws,
                                   cl_uint waits, const cl_event* wait, cl_event* event) {
      cl_event made = nullptr;
      const cl_int code = g_watched->real_.EnqueueNDRangeKernel(queue, kernel, dims, offset, gws,
                                                                lws, waits, wait, &made);
      if (code == CL_SUCCESS) g_watched->Count(made);
      if (event != nullptr) *event = made;
      return code;
    };
    api_.ReleaseEvent = [](cl_event) { return CL_SUCCESS; };  // they are read at the end
  }
  ~WatchedOpenCl() {
    for (cl_event event : events_) real_.ReleaseEvent(event);
  }
  const OpenClApi& api() const { return api_; }

  /// Forgets what was launched.
  void Start() {
    begin_ = first_unfinished_ = events_.size();
    most_unfinished_ = 0;
  }
  void Print(const char* name) const {
    std::vector<double> ms;
    for (size_t i = begin_; i < events_.size(); ++i) ms.push_back(DurationMs(real_, events_[i]));
    std::sort(ms.begin(), ms.end());
    const auto over = ms.end() - std::upper_bound(ms.begin(), ms.end(), 1.2);
    std::printf(
        "%-22s %6zu launches, longest %8.3f ms, %4td over 1.2 ms, %4zu unfinished at once\n", name,
        ms.size(), ms.empty() ? 0 : ms.back(), over, most_unfinished_);
  }

 private:
  void Count(cl_event event) {
    events_.push_back(event);
    while (first_unfinished_ < events_.size() && IsFinished(events_[first_unfinished_]))
      ++first_unfinished_;
    most_unfinished_ = std::max(most_unfinished_, events_.size() - first_unfinished_);
  }
  bool IsFinished(cl_event event) const {
    cl_int state = CL_QUEUED;
    return real_.GetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(state), &state,
                              nullptr) == CL_SUCCESS &&
           state == CL_COMPLETE;
  }

  static inline WatchedOpenCl* g_watched = nullptr;
  const OpenClApi& real_;
  OpenClApi api_;
  std::vector<cl_event> events_;  // in order
  size_t begin_ = 0, first_unfinished_ = 0, most_unfinished_ = 0;
};

Status Run(WatchedOpenCl& watched, const char* name, const std::string& path,
           const std::string& device_name, const StreamOptions& pacing) {
  ASSIGN_OR_RETURN(
      const bench::OpenClSession opened,
      bench::OpenSession(path, device_name, {.pacing = pacing, .api = &watched.api()}));
  runtime::TensorMap outputs;
  // The first inferences build programs and learn how far launches may go.
  for (int i = 0; i < 4; ++i) RETURN_IF_ERROR(opened.session->Run(opened.inputs, &outputs));
  watched.Start();
  for (int i = 0; i < 5; ++i) RETURN_IF_ERROR(opened.session->Run(opened.inputs, &outputs));
  watched.Print(name);
  return OkStatus();
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: pacing_bench MODEL [KERNEL_MS [QUEUE_WINDOW [DEVICE]]]\n");
    return 2;
  }
  const double kernel_ms = count > 2 ? std::atof(arguments[2]) : 1;
  const int window = count > 3 ? std::atoi(arguments[3]) : 16;
  const std::string device = count > 4 ? arguments[4] : "";
  WatchedOpenCl watched;
  for (const auto& [name, pacing] :
       {std::pair("without limits", StreamOptions{}),
        std::pair("window", StreamOptions{.queue_window = window}),
        std::pair("longest launch", StreamOptions{.kernel_ms = kernel_ms})}) {
    const Status status = Run(watched, name, arguments[1], device, pacing);
    if (status.ok()) continue;
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return 1;
  }
  return 0;
}
