// Runs networks over calibration data, and measures how much their outputs lose.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quantise/value_statistics.h"
#include "runtime/model.h"
#include "runtime/session.h"

namespace fettle::quantise {

/// One inference's inputs, by name.
using Samples = std::vector<runtime::TensorMap>;

/// Called with the stage and how much of it is done, 0 to 1.
using Report = std::function<void(std::string_view stage, double share)>;

/// How networks are run.
struct Runs {
  const Samples& samples;
  /// Its `cancelled` ends a run with kCancelled.
  runtime::SessionOptions session;
  Report report;
};

/// Statistics of the network's values over all samples.
struct Observed {
  Statistics values;
  std::vector<runtime::TensorMap> outputs;  // one per sample
};

/// Runs all samples twice: for the ranges of `values`, and for histograms within these. Values that
/// are no f32 are left out.
Result<Observed> Observe(const std::shared_ptr<const runtime::Model>& model,
                         const std::vector<std::string>& values, const Runs& runs);

/// How far outputs are from the fp32 network's, over all samples.
struct Loss {
  /// Of the worst output: signal to noise; infinite where nothing differs.
  double sqnr_db = 0;
  double max_abs = 0;
  /// The share of samples whose largest element of the first output is at the same place; nothing
  /// where that is not a row of scores (one axis beside the batch, others of extent 1).
  std::optional<double> top1;
};

/// Of the first `count` samples. Outputs that are not finite where the fp32 network's are have no
/// signal left: -infinity.
Result<Loss> LossOf(const std::shared_ptr<const runtime::Model>& model,
                    const std::vector<runtime::TensorMap>& wanted, size_t count, const Runs& runs,
                    std::string_view stage);

}  // namespace fettle::quantise
