// A launch that keeps an OpenCL device busy while the host enqueues those that are timed.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>

#include "base/clock.h"
#include "kernels/opencl/launch.h"

namespace fettle {

/// A launch of about two milliseconds, so that a launch of a few microseconds behind it is not
/// hidden by what the host takes to enqueue it. Belongs to one thread; ends the program where the
/// device fails.
class Gate {
 public:
  Gate(const OpenClDevice& device, OpenClStream& stream) : stream_(stream) {
    const std::string source =
        "__kernel void gate(__global float* out, const int steps) {\n"
        "  float v = out[0];\n"
        "  for (int i = 0; i < steps; ++i) v = fma(v, 0.999f, 1.0f);\n"
        "  out[0] = v;\n"
        "}\n";
    kernel_ = device.BuildKernel({"gate", source, ""}, "gate").value();
    memory_ = device.Allocate({.kind = MemoryKind::kBuffer, .bytes = 64}).value();
    for (int i = 0; i < 3; ++i) {
      const double ns = Ns([] {});
      if (i > 0) steps_ = static_cast<int>(std::clamp(steps_ * 2.5e6 / ns, 1e3, 1e7));
    }
  }
  /// What `enqueue` and a launch before it take.
  template <typename Enqueue>
  double Ns(const Enqueue& enqueue) {
    if (!stream_.Synchronise().ok()) std::abort();
    const int64_t begin = NowNs();
    if (!stream_
             .Launch(*kernel_, {.gws = {1, 1, 1}, .lws = {1, 1, 1}}, {memory_->location(), steps_})
             .ok())
      std::abort();
    enqueue();
    if (!stream_.Synchronise().ok()) std::abort();
    return static_cast<double>(NowNs() - begin);
  }
  /// Of one of `launches` calls of `launch`, the least of `rounds`, in microseconds.
  template <typename Launch>
  double LeastMicroseconds(int launches, int rounds, const Launch& launch) {
    double least = 1e30;
    for (int i = 0; i < rounds; ++i) {
      const double alone = Ns([] {});
      const double all = Ns([&] {
        for (int j = 0; j < launches; ++j) launch();
      });
      least = std::min(least, (all - alone) * 1e-3 / launches);
    }
    return least;
  }

 private:
  OpenClStream& stream_;
  std::shared_ptr<OpenClKernel> kernel_;
  std::shared_ptr<DeviceMemory> memory_;
  cl_int steps_ = 100'000;
};

}  // namespace fettle
