// Rows times the matrices of the experts that they choose: what kernels of all kinds of weights
// share.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/cpu_kernel.h"
#include "kernels/kernel.h"
#include "kernels/match/expert_product.h"

namespace fettle::kernels {

/// Family::work: all choices may be of one expert.
Work WorkOfExperts(const Problem& problem, const ExpertGroup& group, const Params& params,
                   const Device& device);

/// Sorts choices by their experts, so that each expert's weights are read once, for all rows that
/// chose it, and hands out its columns to the lanes. A row's results are added in the order of the
/// experts, whatever rows are beside it.
class ExpertRows : public CpuKernel {
 protected:
  /// Tasks take columns in pieces of `width`.
  ExpertRows(const Problem& problem, const ExpertGroup& group, int64_t width);

  /// Which bytes each row becomes; once, by the constructor.
  void KeepRows(int64_t bytes);
  int64_t row_bytes() const { return row_bytes_; }
  const ops::ExpertProduct& product() const { return p_; }
  /// The most rows that Multiply gets at once, and for how many more there is room behind `c`.
  static constexpr int64_t kMostRows = 64, kSpareRows = 4;

  /// k floats as a row that Multiply reads.
  virtual void TakeRow(const float* a, std::byte* row) const = 0;
  /// c [count][width] = `count` rows, row_bytes() apart, times the columns of piece `piece` of an
  /// expert, which are the first `columns` of `width`.
  virtual void Multiply(const CpuLaunch& args, int64_t expert, int64_t piece, int64_t columns,
                        const std::byte* rows, int64_t count, float* c, int lane) const = 0;

  Status Run(const CpuLaunch& args) const final;

 private:
  Status Sort(const CpuLaunch& args) const;
  void TakeRows(const CpuLaunch& args) const;
  void RunPieces(const CpuLaunch& args, int64_t begin, int64_t end, int lane) const;
  void Put(const CpuLaunch& args, int64_t slot, int64_t column, int64_t columns,
           const float* c) const;
  int64_t pieces() const { return (p_.n + width_ - 1) / width_; }

  ops::ExpertProduct p_;
  DType index_type_ = DType::kI64;
  size_t a_ = 0, chosen_ = 0, counts_ = 0;  // among the group's inputs
  int64_t width_, row_bytes_ = 0, task_pieces_ = 1;
  RunScratch<int32_t> ends_;     // of each expert's slots
  RunScratch<int32_t> slots_;    // of each choice
  RunScratch<int32_t> choices_;  // of each slot
  RunScratch<std::byte> rows_;   // of each slot
  LaneScratch<float> piece_;     // kMostRows + kSpareRows of a piece
};

}  // namespace fettle::kernels
