// What `fettle quantise` does: reads model and data, quantises, and measures before and after.
#pragma once

#include <string>
#include <vector>

#include "jobs/options.h"
#include "quantise/quantise.h"

namespace fettle::tools {

struct QuantisationOptions {
  CommonOptions common;
  std::string model, output;
  std::vector<std::string> data;
  std::string preprocess = "unit";
  size_t samples = 64;
  std::string activations = "u8";
  std::string ranges = "mse";
  double percentile = 99.99;
  int weight_bits = 8;
  std::string equalisation = "auto", bias_correction = "auto";
  double min_sqnr_db = 20;
  double min_top1 = 0;
  size_t sensitivity = 4;
  /// Keeps layers in integers that are slower so.
  bool for_size = false;
};

/// Size and time of a model; the time is the median of inferences of the first sample, taken in
/// turns with the other model.
struct ModelFigures {
  int64_t bytes = 0;
  double ms = 0;
};

struct Quantisation {
  quantise::QuantiseResult result;
  ModelFigures before, after;
  /// With all layers in integers that hold the budget; `after` where speed keeps none in fp32.
  ModelFigures within_budget;
  double ratio = 1;  // of after over before, the median of neighbouring runs
  size_t samples = 0;
  int threads = 1;
  double seconds = 0;
  std::vector<std::string> warnings;
};

/// Writes options.output, whole or not at all. Prints no warnings. The output is not written where
/// no layer holds the budget. Fails with kInvalidArgument on bad data and models, and where the
/// output is the model itself; kCancelled after Ctrl-C.
Result<Quantisation> QuantiseFile(const QuantisationOptions& options);

}  // namespace fettle::tools
