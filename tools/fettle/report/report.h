// What every command says in the same words: failures, warnings, and the shared JSON fields.
#pragma once

#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "device/device.h"
#include "exec/profile.h"
#include "io/json.h"
#include "jobs/exit_code.h"
#include "jobs/options.h"
#include "tensor/tensor.h"

namespace fettle::tools {

/// Prints `fettle: message` to stderr and returns the exit code for it, or `code`. With
/// SetJsonFailures also {error {message, status, exit_code}} to stdout, where no document was
/// printed before.
int Fail(const Status& status);
int Fail(const Status& status, ExitCode code);
/// Of a command line that cannot be read.
int FailUsage(std::string_view message);
/// Whether failures are documents too; set once by main.
void SetJsonFailures(bool json);
/// Options that messages are to call by what the user wrote (a variable, another spelling); set
/// once by main.
void SetOtherNames(std::map<std::string, std::string> names);
/// `code` where all of standard output could be written, else a failure.
int FlushOutput(int code);
/// Of standard output that cannot be written, by errno.
int FailOutput();

/// Prints warnings to stderr, each once.
void PrintWarnings(const std::vector<std::string>& warnings);

/// Prints the document to stdout; bytes that are no UTF-8 are replaced.
void PrintJson(const Json& document);

/// high|normal|low: "normal" as soon as one value of the accelerator is stored as f16 or one kernel
/// of the CPU multiplies bf16, "low" as soon as a kernel computes in f16.
std::string_view UsedPrecision(std::span<const exec::StepProfile> steps);
/// {wanted, device, used, reason, fp32_layers[]}: what was asked for, the lowest that the device
/// can, and what the steps of a run did; why the device cannot do what was asked for, or null;
/// layers of the accelerator that stored f32 where less was asked for.
Json PrecisionJson(const CommonOptions& options, const Device* accelerator = nullptr,
                   std::span<const exec::StepProfile> steps = {});
std::string PrecisionLine(const CommonOptions& options, const Device* accelerator = nullptr,
                          std::span<const exec::StepProfile> steps = {});
/// The same of what has no layers: `used` as UsedPrecision says.
Json PrecisionJson(const CommonOptions& options, const Device* accelerator, std::string_view used);
std::string PrecisionLine(const CommonOptions& options, const Device* accelerator,
                          std::string_view used);
/// {kind, name, cores, threads}, of an accelerator {kind, name, fingerprint, threads}.
Json DeviceJson(int threads, const Device* accelerator = nullptr);
std::string DeviceLine(int threads, const Device* accelerator = nullptr);
/// Parts of a closing line, joined by dots, broken between words where the terminal is too narrow.
void PrintParts(const std::vector<std::string>& parts);

Json ShapeJson(const Shape& shape);

/// Statistics of one tensor, over its finite elements; NaN where it has none.
struct TensorStats {
  double min = std::numeric_limits<double>::quiet_NaN(), max = min, mean = min;
  int64_t nonfinite = 0;
};
TensorStats StatsOf(const Tensor& tensor);

/// A finite number, or null.
Json NumberJson(double value);
/// Microseconds as milliseconds; null where they are 0, which means that nobody knows.
Json KnownMs(double us);

}  // namespace fettle::tools
