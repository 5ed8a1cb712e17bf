// The operators behind a product of bits in its group: element-wise ones and, at the end, PackBits.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "kernels/cpu/binary/pack_row.h"
#include "kernels/cpu/binary/results.h"
#include "kernels/cpu/binary/row_tail.h"
#include "kernels/cpu/elementwise/program.h"
#include "kernels/kernel.h"
#include "kernels/match/bits.h"

namespace fettle::kernels {

class RowTail;

/// The tail compiled for a state. Immutable; any thread may run it on blocks of its own.
class ProductTail {
 public:
  static Result<ProductTail> Compile(const ir::Graph& group, const BitTail& facts,
                                     const StateAssignment& states);

  bool packs_bits() const { return facts_.packs_bits(); }
  /// Whether the floats of a block lie in scratch, not in an output.
  bool needs_floats() const { return !facts_.stores_floats(); }
  int float_output() const { return facts_.float_output; }
  void AppendPacks(std::vector<PackRequest>& packs) const;
  /// The same for RunRowTail, where it can; it must not outlive the tail. `outputs` of a group.
  std::optional<RowTail> ForRows(FloatForm form, int64_t outputs) const;

  /// A block of results: rows of the output's pixels, channels [column, column + columns), of which
  /// `column` begins a word.
  struct Block {
    int64_t row = 0, rows = 0, column = 0, columns = 0;
    float* floats = nullptr;  // `stride` between rows
    int64_t stride = 0;
    float* scratch = nullptr;  // rows * columns, of the caller's lane
  };
  /// `args.packed` holds the tail's constants from `first_pack` on.
  void Run(const LaunchArgs& args, size_t first_pack, const Block& block) const;

 private:
  friend class RowTail;
  uint64_t* BitsAt(const LaunchArgs& args, const Block& block) const;

  BitTail facts_;
  std::optional<elementwise::Program> to_floats_, to_packed_;
};

/// A tail whose operators run on rows in registers, from counts on.
class RowTail {
 public:
  static constexpr int kMaxSteps = 12;
  RowTail(const ProductTail& tail, RowSteps to_floats, RowSteps to_packed)
      : tail_(tail), to_floats_(std::move(to_floats)), to_packed_(std::move(to_packed)) {}

  /// Whether a block of so many outputs is whole words, or ends in half of one.
  static bool Takes(int64_t columns) { return columns % 32 == 0; }
  /// Inputs that the floats may be written over: each element is read before that.
  std::vector<Alias> aliases() const;
  /// The first of those inputs where the block begins, and floats between its rows; null: none.
  std::pair<const float*, int64_t> Beside(const LaunchArgs& args,
                                          const ProductTail::Block& block) const;
  /// What the operators read in a launch. `args.packed` holds the tail's constants from
  /// `first_pack` on.
  using Steps = std::array<RowStep, kMaxSteps>;
  Steps Bind(const LaunchArgs& args, size_t first_pack) const;
  /// `sums` begin with the block's first column.
  void Run(const LaunchArgs& args, const Steps& steps, const RowCounts& sums,
           const ProductTail::Block& block) const;

 private:
  const ProductTail& tail_;
  RowSteps to_floats_, to_packed_;
};

}  // namespace fettle::kernels
