// The kernel of a step that programs of several plans share.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "exec/packed_store.h"
#include "exec/profile.h"

namespace fettle::exec {

/// What a program makes for a step: all of it immutable.
struct MadeStep {
  std::shared_ptr<kernels::PreparedKernel> kernel;  // null: there is nothing to do
  std::vector<std::shared_ptr<const PackedBlob>> blobs;
  std::vector<Location> packed;
  std::shared_ptr<const StepProfile> profile;
};

/// The first program with the step fills it, where the result is the same in all plans.
/// Thread-safe.
class KeptKernel {
 public:
  /// Null: not made yet.
  std::shared_ptr<const MadeStep> Get() const {
    const std::lock_guard lock(mutex_);
    return made_;
  }
  void Keep(MadeStep made) {
    auto kept = std::make_shared<const MadeStep>(std::move(made));
    const std::lock_guard lock(mutex_);
    made_ = std::move(kept);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const MadeStep> made_;
};

}  // namespace fettle::exec
