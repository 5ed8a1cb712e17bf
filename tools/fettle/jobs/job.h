// What run, bench and compare share: a model, its inputs, and a session on them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "io/inputs.h"
#include "jobs/options.h"
#include "runtime/model.h"
#include "runtime/session.h"

namespace fettle::tools {

inline double MsSince(int64_t start_ns) { return static_cast<double>(NowNs() - start_ns) * 1e-6; }

struct JobOptions {
  CommonOptions common;
  std::string model;
  std::vector<std::string> inputs;
  std::vector<std::string> asked;  // values, where no others matter; empty: all outputs
  std::string preprocess = "unit";
  bool strict = false, binary_lenient = false;
  std::string weights = "f32";
};

/// Adds MODEL, --strict, --binary-lenient, -i, --preprocess and the common options.
void AddJobOptions(CLI::App& app, JobOptions& options);

/// A loaded model with all of its inputs.
struct Job {
  std::shared_ptr<const runtime::Model> model;
  BoundInputs bound;
  std::vector<std::string> warnings;
  int threads = 1;
  /// What the options ask of a session on the model; plans are still to be chosen.
  runtime::SessionOptions session;
  std::shared_ptr<void> compilers;  // CompileAside
  double device_ms = 0;             // opening the device beside the CPU
  double load_ms = 0;
};

/// MODEL, --strict and --binary-lenient.
void AddModelOptions(CLI::App& app, std::string& model, bool& strict, bool& binary_lenient);

/// Of a file, or of standard input where `path` is "-". What cannot be read is invalid input.
Result<std::shared_ptr<const runtime::Model>> LoadModel(const std::string& path,
                                                        const runtime::LoadOptions& options = {});

/// Inputs of these shapes (--shape's), as the options ask for them.
Result<BoundInputs> BindJobInputs(const JobOptions& options, const runtime::Model& model,
                                  const std::map<std::string, Shape>& shapes,
                                  std::vector<std::string>& warnings);

/// Checks the options, loads the model, reads and seeds the inputs.
Result<Job> MakeJob(const JobOptions& options);

/// "f32 1x3x224x224"-like lines of one value for people.
std::string TypeText(DType dtype, const Shape& shape);

}  // namespace fettle::tools
