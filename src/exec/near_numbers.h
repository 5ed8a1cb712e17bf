// Profile numbers of programs that NearPrograms made, computed when somebody asks.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "exec/near_programs.h"

namespace fettle::exec {

/// The numbers of the steps of one program that NearPrograms made.
class NearNumbers final : public StepNumbers {
 public:
  NearNumbers(std::shared_ptr<const NearPrograms> near, std::shared_ptr<const Extents> extents,
              std::vector<TensorWindow> windows)
      : near_(std::move(near)), extents_(std::move(extents)), windows_(std::move(windows)) {}

  /// The kernel that computes a step where it is not the plan's, and its own packed constants.
  struct Own {
    size_t step = 0;
    const kernels::KernelDesc* other = nullptr;   // null: the plan's
    std::shared_ptr<const kernels::Match> match;  // of the step's group at these extents; or null
    std::vector<std::shared_ptr<const PackedBlob>> blobs;
  };
  /// Before anybody asks; in the order of steps.
  void Keep(Own own) { own_.push_back(std::move(own)); }

  void Set(size_t step, StepProfile& profile) const override;

 private:
  /// `match`: null: it is matched here.
  std::optional<kernels::Work> WorkOf(size_t step, const kernels::KernelDesc& kernel,
                                      const std::shared_ptr<const ir::Graph>& group,
                                      const kernels::Match* match) const;
  int64_t BytesOf(int tensor) const;

  std::shared_ptr<const NearPrograms> near_;
  std::shared_ptr<const Extents> extents_;
  std::vector<TensorWindow> windows_;
  std::vector<Own> own_;
};

}  // namespace fettle::exec
