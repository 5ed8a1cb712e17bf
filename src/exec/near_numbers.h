// What profiles say of programs made of others, computed when somebody asks.
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

  void Set(size_t step, StepProfile& profile) const override {
    Set(step, nullptr, nullptr, profile);
  }
  /// `other`: what computes the step; null: the plan's kernel. `match`: of the step's group at
  /// these extents; null: it is matched here.
  void Set(size_t step, const kernels::KernelDesc* other, const kernels::Match* match,
           StepProfile& profile) const;

 private:
  std::optional<kernels::Work> WorkOf(size_t step, const kernels::KernelDesc& kernel,
                                      const std::shared_ptr<const ir::Graph>& group,
                                      const kernels::Match* match) const;
  int64_t BytesOf(int tensor) const;

  std::shared_ptr<const NearPrograms> near_;
  std::shared_ptr<const Extents> extents_;
  std::vector<TensorWindow> windows_;
};

}  // namespace fettle::exec
