// What is tuned: what all parts of a tuning know.
#pragma once

#include <memory>

#include "runtime/tuning/tune_model.h"

namespace fettle::runtime {

/// References, which must outlive it.
struct TuningTask {
  const std::shared_ptr<const Model>& model;
  const TensorMap& inputs;
  const TuneModelOptions& options;
  tuner::Store& store;

  bool IsCancelled() const {
    return options.session.cancelled != nullptr && *options.session.cancelled;
  }
};

}  // namespace fettle::runtime
