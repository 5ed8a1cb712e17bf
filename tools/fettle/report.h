// What every command says in the same words: failures, warnings, and the shared JSON fields.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/status.h"
#include "exit_code.h"
#include "options.h"
#include "tensor/tensor.h"

namespace fettle::tools {

using Json = nlohmann::ordered_json;

/// Prints `fettle: message` to stderr and returns the exit code for it.
int Fail(const Status& status);

/// Prints warnings to stderr, each once.
void PrintWarnings(const std::vector<std::string>& warnings);

/// Prints the document to stdout; bytes that are no UTF-8 are replaced.
void PrintJson(const Json& document);

/// {wanted, device, used, fp32_layers[]}.
Json PrecisionJson(const CommonOptions& options);
/// "precision: high (wanted normal, this device: high)".
std::string PrecisionLine(const CommonOptions& options);
/// {kind, name, threads, cores, fingerprint}.
Json DeviceJson(int threads);
std::string DeviceLine(int threads);

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
