// Straight-line programs of element-wise operators, run on small tiles: whole element-wise groups
// (chain.cc), and the epilogues of convolutions and matrix products.
//
// An epilogue in three steps (`conv` computes value c, the group's later nodes finish it):
//   Compile(group, states, Geometry::kRows, c)          once, in prepare; its packs() join the
//   kernel's Binding b = program.Bind(inputs, packed, outputs)   once per Launch program.Run(b,
//   tile)                                per finished tile of c, on any lane
// Rows are the output's outer physical dimensions taken together, columns its innermost one: in
// channels-last, row = (n * H + y) * W + x and column = output channel; in row-major [..., M, N],
// row = batch * M + m and column = n; in NCHW8c, row = ((n * C / 8 + block) * H + y) * W + x and
// column = lane. Pad lanes are computed like the others: where an output has some, zero them
// afterwards (layout/pad_lanes.h).
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "kernels/cpu/elementwise/instruction.h"
#include "kernels/kernel.h"

namespace fettle::kernels::elementwise {

inline constexpr int kMaxOperands = 16;
inline constexpr int kMaxOutputs = 4;

enum class Geometry {
  kRows,       // columns: the innermost physical dimension of the output alone
  kCollapsed,  // columns: as many inner dimensions as every operand can walk with one stride
};

/// The addresses of one launch, by operand and output of the program.
struct Binding {
  std::array<const std::byte*, kMaxOperands> operands{};
  std::array<std::byte*, kMaxOutputs> outputs{};
};

/// A rectangle of the output. `running` (fp32, at (row, col)) holds the value that the program
/// starts from, where it was compiled with one. `out` is where the rectangle of output 0 goes, in
/// its own storage type; it may equal `running`. Null: into the bound output.
struct Tile {
  int64_t row = 0, rows = 0;
  int64_t col = 0, cols = 0;
  const float* running = nullptr;
  int64_t running_stride = 0;  // elements between rows
  void* out = nullptr;
  int64_t out_stride = 0;  // elements of the storage type between rows
};

/// running = fn(running, b, c): operands of f32 by number (-1 where there is none), with the
/// strides of rows and columns; those of columns are 1.
struct ChainLink {
  Fn fn = Fn::kCopy;
  int b = -1, c = -1;
  int input = -1;  // of the group, where b is a whole tensor of the output's shape
  std::array<int64_t, 2> b_strides{}, c_strides{};
};

/// min(max(running * factor + addend, least), greatest), each step rounded: numbers, or rows of f32
/// of a value for each column. NaN passes. A product with 1 and a sum with -0 are the number
/// itself.
struct ScaledValue {
  Source factor{Source::kImmediate, 0, 1.0f}, addend{Source::kImmediate, 0, -0.0f};
  float least = -std::numeric_limits<float>::infinity();
  float greatest = std::numeric_limits<float>::infinity();
  bool IsClamped() const {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    return least != -kInfinity || greatest != kInfinity;
  }
};

/// Numbers of columns, `step` floats apart (0: one for all).
struct ColumnValues {
  const float* first;
  int64_t step;
};

/// A compiled program. Immutable; Run may be called by several threads at once, never allocates and
/// reads and writes no byte outside of the rectangle.
class Program {
 public:
  /// Compiles `expr`, which `group` was lowered to. `states` are those of the group: outputs of one
  /// shape and layout; inputs in the same layout, or, where no lane is padded, without blocks.
  /// Fails with kUnsupported and the reason.
  static Result<Program> Compile(const expr::Expr& expr, const ir::Graph& group,
                                 const StateAssignment& states, Geometry geometry);
  /// Lowers the group first (expr::Lower).
  static Result<Program> Compile(const ir::Graph& group, const StateAssignment& states,
                                 Geometry geometry, ir::ValueId running);

  /// Constants in the form that the program reads, to append to the kernel's own.
  const std::vector<PackRequest>& packs() const { return packs_; }
  /// `packed`: the locations that answer packs(), in order. `outputs` may be empty where every tile
  /// names its own `out`.
  Binding Bind(std::span<const Location> inputs, std::span<const Location> packed,
               std::span<const Location> outputs) const;

  /// Whether the program of `rows` rows, for a group that differs in extents above 1 alone, equals
  /// this one after SetRows: the step of each operand along rows is the same.
  bool WalksRows(int64_t rows, int64_t cols) const;
  void SetRows(int64_t rows);
  /// Whether all operands are constant numbers or the running value, so that it fits any extents.
  bool has_numbers_alone() const;
  /// Changes it to an output of that many rows, where each operand is a number or lies as the
  /// output does; says whether it could.
  bool TakeElements(int64_t rows, int64_t cols);

  /// Changes it to the program of `problem`, whose group differs in extents above 1 alone, where
  /// each operand walks all rows and columns; says whether it could.
  bool TakeExtents(const Problem& problem);

  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  /// Whether there is one row: each operand is a number or lies as the output does. Rows of a tile
  /// are then parts of it, which lie `running_stride` elements apart.
  bool is_line() const { return dims_.size() == 1; }
  /// Bytes that one element of the output costs to read and write, constants left out.
  int64_t bytes_per_element() const { return bytes_per_element_; }

  void Run(const Binding& binding, const Tile& tile) const;

  /// Elements of rows that small tiles are joined to.
  static constexpr int64_t kJoined = 2048;
  /// Operands of a program whose tiles are joined, at most.
  static constexpr size_t kMostJoined = 4;

  /// The program as steps of its running value, for kernels that have it in registers; nothing
  /// where another value is needed twice, an operand is no matrix of f32 or stays one number in a
  /// row, or there are several outputs. In Binding, operands keep their numbers.
  std::optional<std::vector<ChainLink>> Chain() const;
  /// The program where it is this.
  std::optional<ScaledValue> Scaled() const;

  /// A source of it for the columns from `first` on. `source` and what is bound outlive them.
  ColumnValues Columns(const Binding& binding, const Source& source, int64_t first) const;

 private:
  friend class Compiler;  // compile.cc

  /// Joins small tiles, that is rectangles of few elements or rows, of which each call would
  /// otherwise compute one.
  void JoinTiles();
  /// TakeExtents of channels-last images, some operands of which are a pixel for each image.
  bool TakeGates(const Problem& problem);
  void RunRows(const Binding& binding, const Tile& tile) const;
  /// Whether it is the value of the program so far, which `running` holds; -1: the first one.
  bool IsRunning(const Source& source, int running) const;
  /// The extents of rows and columns that the operands of `problem` have; 0: no operand says.
  std::array<int64_t, 2> ExtentsOf(const Problem& problem) const;
  /// Whole small tiles, from one to another.
  void RunTiles(const Binding& binding, int64_t begin, int64_t end) const;

  /// A tensor that the program reads: where it comes from and how far its elements lie apart along
  /// the program's dimensions (0: broadcast).
  struct Operand {
    int input = -1;  // index in the group's inputs, or
    int pack = -1;   // in packs_; both -1: the running value
    DType storage = DType::kF32;
    std::vector<int64_t> strides;
  };
  struct Output {
    DType storage = DType::kF32;
    int index = 0;  // in the group's outputs
  };

  std::vector<PackRequest> packs_;
  std::vector<Operand> operands_;
  std::vector<Output> outputs_;
  std::vector<Instruction> instructions_;
  std::vector<int64_t> dims_;  // outermost first; the last one is cols_
  int64_t rows_ = 1, cols_ = 1;
  int64_t bytes_per_element_ = 0;
  /// The first of the inner dimensions that small tiles have, which are joined; 0: there are none.
  size_t first_of_tile_ = 0;
  int64_t tile_ = 0;  // elements of one
};

}  // namespace fettle::kernels::elementwise
