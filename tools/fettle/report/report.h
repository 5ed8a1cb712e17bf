// What every command says in the same words: failures, warnings, and the shared JSON fields.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "device/device.h"
#include "exec/profile.h"
#include "jobs/exit_code.h"
#include "jobs/options.h"
#include "tensor/tensor.h"

namespace fettle::tools {

using Json = nlohmann::ordered_json;

/// Prints `fettle: message` to stderr and returns the exit code for it.
int Fail(const Status& status);

/// Prints warnings to stderr, each once.
void PrintWarnings(const std::vector<std::string>& warnings);

/// Prints the document to stdout; bytes that are no UTF-8 are replaced.
void PrintJson(const Json& document);

/// high|normal|low: "normal" as soon as one value of the accelerator is stored as f16, "low" as
/// soon as one of its kernels computes in it.
std::string_view UsedPrecision(std::span<const exec::StepProfile> steps);
/// {wanted, device, used, reason, fp32_layers[]}: what was asked for, the lowest that the device
/// can, and what the steps of a run did; why the device cannot do what was asked for, or null;
/// layers of the accelerator that stored f32 where less was asked for.
Json PrecisionJson(const CommonOptions& options, const Device* accelerator = nullptr,
                   std::span<const exec::StepProfile> steps = {});
std::string PrecisionLine(const CommonOptions& options, const Device* accelerator = nullptr,
                          std::span<const exec::StepProfile> steps = {});
/// {kind, name, cores, threads}, of an accelerator {kind, name, fingerprint, threads}.
Json DeviceJson(int threads, const Device* accelerator = nullptr);
std::string DeviceLine(int threads, const Device* accelerator = nullptr);

Json ShapeJson(const Shape& shape);

/// Statistics of one tensor, over its finite elements.
struct TensorStats {
  double min = 0, max = 0, mean = 0;
  int64_t nonfinite = 0;
};
TensorStats StatsOf(const Tensor& tensor);

/// A finite number, or null.
Json NumberJson(double value);

}  // namespace fettle::tools
