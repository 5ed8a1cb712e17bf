// Which tensors of a plan lie in the same bytes: windows, views, and outputs in the place of
// inputs.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "exec/choose_windows.h"

namespace fettle::exec {

/// Groups tensors that share bytes; a root owns the bytes, the others are windows of it.
class Sharing {
 public:
  /// A tensor that begins so far behind another as a window or an alias says, or where that does.
  struct Attachment {
    int tensor = 0, parent = 0;
    int window = -1;            // of the windows; -1: none
    int step = -1, alias = -1;  // of a step's aliases; -1: none
  };
  /// What a step writes in the place of what it reads.
  struct Reuse {
    int read = 0, root = 0, written = 0;  // `root` owns the bytes of `read`
  };

  /// `bytes`: of each tensor (TensorBytes).
  Sharing(const Plan& plan, std::span<const std::vector<kernels::Alias>> aliases,
          std::span<const TensorWindow> windows, std::span<const int64_t> bytes);

  int root(int tensor) const { return root_[tensor]; }
  int64_t offset(int tensor) const { return offset_[tensor]; }
  const State& StateOf(int tensor) const { return plan_.tensors[tensor].state; }
  const Interval& life(int root_tensor) const { return life_[root_tensor]; }
  /// In the order in which they follow from one another.
  const std::vector<Attachment>& attachments() const { return attachments_; }
  const std::vector<Reuse>& reuses() const { return reuses_; }
  /// By tensor: its root before anything was written in the place of something else.
  const std::vector<int>& first_roots() const { return first_roots_; }
  bool IsInput(int root_tensor) const {
    return std::find(plan_.inputs.begin(), plan_.inputs.end(), root_tensor) != plan_.inputs.end();
  }
  bool IsOutput(int root_tensor) const {
    return std::any_of(plan_.outputs.begin(), plan_.outputs.end(),
                       [&](int output) { return output >= 0 && root(output) == root_tensor; });
  }

 private:
  void Attach(const Attachment& attachment, int64_t byte_offset);
  void MergeViews(std::span<const std::vector<kernels::Alias>> aliases);
  void MergeSameBytes(int tensor);
  void MeasureLives(std::span<const int64_t> bytes);
  void MergeInPlace(std::span<const std::vector<kernels::Alias>> aliases);
  bool CanReuse(int step_index, const PlannedStep& step, const kernels::Alias& alias, int input,
                int output) const;
  void TakeOver(int input, int output);

  const Plan& plan_;
  std::vector<int> root_;
  std::vector<int64_t> offset_;
  std::vector<Interval> life_;
  std::vector<Attachment> attachments_;
  std::vector<Reuse> reuses_;
  std::vector<int> first_roots_;
};

inline bool IsImage(MemoryKind memory) {
  return memory == MemoryKind::kImage2d || memory == MemoryKind::kImage1d;
}

}  // namespace fettle::exec
