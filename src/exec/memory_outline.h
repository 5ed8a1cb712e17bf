// What memory plans of one plan at several extents have in common.
#pragma once

#include <span>
#include <vector>

#include "exec/memory_plan.h"
#include "exec/sharing.h"

namespace fettle::exec {

/// How memory was laid out for one set of extents: which tensors share bytes, and which block lies
/// above which of those that live at the same time. Blocks keep that order at other extents, so one
/// walk lays them out. For the CPU alone. Belongs to one thread.
class MemoryOutline {
 public:
  /// Takes that of `memory`, which PlanMemory made of `needs`.
  void Keep(const Plan& plan, const Sharing& sharing, const MemoryNeeds& needs,
            const MemoryPlan& memory);
  /// Lays out memory for other `needs` of the same plan. False where the tensors share their bytes
  /// in another way there or the order wastes memory; `memory` is then unspecified.
  bool LayOut(const Plan& plan, const MemoryNeeds& needs, MemoryPlan& memory);

 private:
  /// Bytes of a tensor that owns them, or the workspace of a step.
  struct Block {
    int tensor = -1, step = -1;  // the other is -1
    int first = 0, last = 0;     // the steps that it lives in
    size_t below_end = 0;        // behind those of below_ that are below it
    bool is_beside(const Block& other) const { return first <= other.last && other.first <= last; }
  };

  void KeepBlocks(const Plan& plan, const Sharing& sharing, const MemoryNeeds& needs,
                  const MemoryPlan& memory);
  /// For each block the blocks directly below it: those that lie below no other block below it.
  void FindBelow(std::span<const int64_t> begins);
  bool HasAliases(std::span<const std::vector<kernels::Alias>> aliases) const;
  bool HasWindows(std::span<const TensorWindow> windows) const;
  /// Where tensors begin in what they share, and how many bytes each needs for all in it; whether
  /// they may share them.
  bool SetShares(const Plan& plan, const MemoryNeeds& needs);
  int64_t BytesOf(const Block& block, const MemoryNeeds& needs) const {
    return block.step >= 0 ? needs.workspaces[block.step] : owned_[block.tensor];
  }
  /// Sets begins_; says how many bytes that takes.
  int64_t Place(const MemoryNeeds& needs);
  int64_t LiveBytes(const MemoryNeeds& needs);

  bool holds_ = false;
  std::vector<std::vector<kernels::Alias>> aliases_;
  std::vector<TensorWindow> windows_;
  std::vector<Sharing::Attachment> attachments_;
  std::vector<Sharing::Reuse> reuses_;
  std::vector<int> roots_, first_roots_;  // by tensor
  std::vector<bool> whole_;               // by output of the plan: it owns all bytes of its root
  std::vector<Block> blocks_;             // by where they begin
  std::vector<Block> empty_;
  std::vector<int> below_;
  MemoryPlan memory_;
  double gaps_ = 1;  // bytes by those of what lives at a time
  // Of the last call:
  std::vector<int64_t> offsets_, owned_;  // by tensor
  std::vector<int64_t> ends_;             // by block
  std::vector<int64_t> starts_;           // by tensor that owns bytes
  std::vector<int64_t> change_;           // by step
};

}  // namespace fettle::exec
