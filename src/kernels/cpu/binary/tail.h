// What follows a product of bits in its group: element-wise operators and, at the end, PackBits.
#pragma once

#include <optional>
#include <vector>

#include "kernels/cpu/binary/pack_row.h"
#include "kernels/cpu/elementwise/program.h"
#include "kernels/kernel.h"

namespace fettle::kernels {

/// Where the floats of a group's tail end: in its output, in its bits, or in both (the sum of a
/// residual block and the signs that the next one reads). Read once per group.
struct TailFacts {
  ir::ValueId anchor = ir::kAbsent;        // the product's own result
  ir::ValueId floats = ir::kAbsent;        // a chain behind it
  ir::ValueId packed = ir::kAbsent;        // what PackBits reads: `floats`, or a chain behind that
  int float_output = -1, bit_output = -1;  // of the group
  ops::BitPacking packing;
};
/// Fails with kUnsupported where the nodes after node 0 are something else, or where bits would not
/// lie in whole words beside those of other tasks.
Result<TailFacts> ReadTail(const ir::Graph& group);

/// The tail compiled for a state. Immutable; any thread may run it on blocks of its own.
class ProductTail {
 public:
  static Result<ProductTail> Compile(const ir::Graph& group, const TailFacts& facts,
                                     const StateAssignment& states);

  bool packs_bits() const { return facts_.bit_output >= 0; }
  /// Whether the floats of a block lie in scratch, not in an output.
  bool needs_floats() const { return facts_.float_output < 0; }
  int float_output() const { return facts_.float_output; }
  void AppendPacks(std::vector<PackRequest>& packs) const;

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
  TailFacts facts_;
  std::optional<elementwise::Program> to_floats_, to_packed_;
};

}  // namespace fettle::kernels
