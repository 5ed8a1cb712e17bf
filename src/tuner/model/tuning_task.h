// The task of a tuning, as all of its parts need it.
#pragma once

#include <memory>

#include "tuner/model/tune_model.h"

namespace fettle::tuner {

/// References, which must outlive it.
struct TuningTask {
  const std::shared_ptr<const runtime::Model>& model;
  const runtime::TensorMap& inputs;
  const TuneModelOptions& options;
  Store& store;

  bool IsCancelled() const {
    return options.session.cancelled != nullptr && *options.session.cancelled;
  }
};

}  // namespace fettle::tuner
