#include "device/opencl/spin_gate.h"

#include <algorithm>

#include "base/clock.h"
#include "device/opencl/opencl_stream.h"

namespace fettle {
namespace {

/// Each step needs the one before it, and the end depends on all of them.
constexpr const char* kSource = R"(
__kernel void gate(__global uint* out, const uint steps) {
  uint value = steps;
  for (uint i = 0; i < steps; ++i) value = (value * 1664525u + 1013904223u) ^ i;
  if (value == 1u) out[0] = value;
})";

constexpr double kFirstSteps = 1 << 12, kMostSteps = 1u << 30;
/// A launch this long tells how long a step takes: what it costs beside its steps is little.
constexpr double kTellingUs = 500;

}  // namespace

Result<std::unique_ptr<OpenClGate>> OpenClGate::Create(OpenClStream& stream) {
  std::unique_ptr<OpenClGate> gate(new OpenClGate());
  const OpenClDevice& device = stream.device();
  ASSIGN_OR_RETURN(gate->kernel_, device.BuildKernel({"gate", kSource, ""}, "gate"));
  ASSIGN_OR_RETURN(gate->memory_, device.Allocate({.kind = MemoryKind::kBuffer, .bytes = 64}));
  RETURN_IF_ERROR(gate->Calibrate(stream));
  return gate;
}

Status OpenClGate::Calibrate(OpenClStream& stream) {
  RETURN_IF_ERROR(EnqueueSteps(1, stream));  // its code may have to be loaded
  for (double steps = kFirstSteps;; steps *= 4) {
    RETURN_IF_ERROR(stream.Synchronise());
    const int64_t begin = NowNs();
    RETURN_IF_ERROR(EnqueueSteps(steps, stream));
    RETURN_IF_ERROR(stream.Synchronise());
    const double us = std::max(static_cast<double>(NowNs() - begin) * 1e-3, 1e-3);
    steps_per_us_ = steps / us;
    if (us >= kTellingUs || steps >= kMostSteps) return OkStatus();
  }
}

Status OpenClGate::EnqueueSteps(double steps, OpenClStream& stream) const {
  return stream.Launch(*kernel_, {.gws = {1, 1, 1}, .lws = {1, 1, 1}},
                       {memory_->location(), static_cast<cl_uint>(steps)});
}

Status OpenClGate::Enqueue(double us, OpenClStream& stream) const {
  return EnqueueSteps(std::clamp(us * steps_per_us_, 1.0, kMostSteps), stream);
}

}  // namespace fettle
