// compiled: small
#include "kernels/cpu/elementwise/program.h"

#include <algorithm>

#include "kernels/cpu/elementwise/tile_copy.h"

namespace fettle::kernels::elementwise {
namespace {

/// Where the elements at `place`, counted over `dims`, begin.
int64_t Offset(std::span<const int64_t> dims, std::span<const int64_t> strides, int64_t place) {
  int64_t offset = 0;
  for (size_t k = dims.size(); k-- > 0; place /= dims[k]) offset += place % dims[k] * strides[k];
  return offset;
}

/// Tiles of an operand side by side, copied.
class JoinedTiles {
 public:
  struct Source {
    const std::byte* first;
    int64_t bytes, step;  // of an element; from tile to tile, in elements
    std::span<const int64_t> dims, strides;

    bool IsDense(int64_t tile) const { return step == tile && IsDenseTile(dims, strides); }
  };

  /// `count` tiles of `tile` elements. One that is repeated is kept for the next call.
  const std::byte* Of(const Source& from, int64_t tile, int64_t count) {
    const bool repeats = from.step == 0;
    if (repeats && held_ == from.first && count_ >= count) return row_;
    const int64_t bytes = tile * from.bytes;
    for (int64_t t = 0; t < (repeats ? 1 : count); ++t) {
      CopyTile(from.bytes, from.dims, from.strides, from.first + t * from.step * from.bytes,
               row_ + t * bytes);
    }
    if (repeats) RepeatTile(row_, bytes, count);
    held_ = repeats ? from.first : nullptr;
    count_ = count;
    return row_;
  }

 private:
  alignas(64) std::byte row_[Program::kJoined * sizeof(double)];
  const std::byte* held_ = nullptr;
  int64_t count_ = 0;
};

}  // namespace

Binding Program::Bind(std::span<const Location> inputs, std::span<const Location> packed,
                      std::span<const Location> outputs) const {
  Binding binding;
  for (size_t i = 0; i < operands_.size(); ++i) {
    const Operand& operand = operands_[i];
    if (operand.input >= 0) binding.operands[i] = inputs[operand.input].host<std::byte>();
    if (operand.pack >= 0) binding.operands[i] = packed[operand.pack].host<std::byte>();
  }
  for (size_t i = 0; i < outputs_.size() && !outputs.empty(); ++i) {
    binding.outputs[i] = outputs[outputs_[i].index].host<std::byte>();
  }
  return binding;
}

void Program::Run(const Binding& binding, const Tile& tile) const {
  if (first_of_tile_ > 0 && tile.out == nullptr && tile.cols == cols_) {
    const int64_t rows = tile_ / cols_;
    const int64_t begin = (tile.row + rows - 1) / rows, end = (tile.row + tile.rows) / rows;
    if (begin < end) {
      RunRows(binding, {.row = tile.row, .rows = begin * rows - tile.row, .cols = cols_});
      RunTiles(binding, begin, end);
      const int64_t left = tile.row + tile.rows - end * rows;
      return RunRows(binding, {.row = end * rows, .rows = left, .cols = cols_});
    }
  }
  RunRows(binding, tile);
}

void Program::RunTiles(const Binding& binding, int64_t begin, int64_t end) const {
  std::array<JoinedTiles, kMostJoined> copies;
  std::array<Window, kMaxOperands> operands;
  std::array<Window, kMaxOutputs> outputs;
  const size_t first = first_of_tile_;
  for (int64_t at = begin; at < end;) {
    const int64_t extent = dims_[first - 1];
    const int64_t count = std::min({end - at, extent - at % extent, kJoined / tile_});
    for (size_t i = 0; i < operands_.size(); ++i) {
      const Operand& operand = operands_[i];
      const int64_t offset = Offset({dims_.data(), first}, operand.strides, at);
      const JoinedTiles::Source from{binding.operands[i] + StorageBytes(operand.storage, offset),
                                     StorageBytes(operand.storage, 1), operand.strides[first - 1],
                                     std::span(dims_).subspan(first),
                                     std::span(operand.strides).subspan(first)};
      const std::byte* data = from.IsDense(tile_) ? from.first : copies[i].Of(from, tile_, count);
      operands[i] = {data, 0, 1, operand.storage};
    }
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const DType storage = outputs_[i].storage;
      outputs[i] = {binding.outputs[i] + StorageBytes(storage, at * tile_), 0, 1, storage};
    }
    Execute(instructions_, {operands.data(), operands_.size()}, {outputs.data(), outputs_.size()},
            1, count * tile_);
    at += count;
  }
}

void Program::RunRows(const Binding& binding, const Tile& tile) const {
  const size_t outer = dims_.size() - 1;
  const int64_t end = tile.row + tile.rows;
  std::array<Window, kMaxOperands> operands;
  std::array<Window, kMaxOutputs> outputs;
  // The innermost outer dimension is what Execute walks; the ones around it change in between.
  for (int64_t row = tile.row; row < end;) {
    const int64_t inner = outer == 0 ? end : dims_[outer - 1];
    const int64_t run = std::min(end - row, inner - row % inner);
    for (size_t i = 0; i < operands_.size(); ++i) {
      const Operand& operand = operands_[i];
      if (operand.input < 0 && operand.pack < 0) {
        operands[i] = {tile.running + (row - tile.row) * tile.running_stride, tile.running_stride,
                       1, DType::kF32};
        continue;
      }
      const int64_t offset =
          tile.col * operand.strides[outer] + Offset({dims_.data(), outer}, operand.strides, row);
      operands[i] = {
          binding.operands[i] + StorageBytes(operand.storage, offset),
          outer == 0 ? operand.strides[0] * tile.running_stride : operand.strides[outer - 1],
          operand.strides[outer], operand.storage};
    }
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const DType storage = outputs_[i].storage;
      if (i == 0 && tile.out != nullptr) {
        outputs[i] = {static_cast<std::byte*>(tile.out) +
                          StorageBytes(storage, (row - tile.row) * tile.out_stride),
                      tile.out_stride, 1, storage};
      } else {
        outputs[i] = {binding.outputs[i] + StorageBytes(storage, row * cols_ + tile.col), cols_, 1,
                      storage};
      }
    }
    Execute(instructions_, {operands.data(), operands_.size()}, {outputs.data(), outputs_.size()},
            run, tile.cols);
    row += run;
  }
}

bool Program::WalksRows(int64_t rows, int64_t cols) const {
  if (dims_.size() > 2 || cols != cols_ || (dims_.size() == 1 && rows != 1)) return false;
  return dims_.size() == 1 || std::ranges::all_of(operands_, [&](const Operand& operand) {
           if (operand.strides.empty()) return true;  // the running value
           const int64_t row = operand.strides[0], col = operand.strides[1];
           return col == 0 ? row <= 1 : col == 1 && (row == 0 || row == cols_);
         });
}

bool Program::has_numbers_alone() const {
  // An input that is one number here may be a tensor at other extents.
  return std::ranges::all_of(operands_, [](const Operand& operand) {
    return operand.input < 0 &&
           std::ranges::all_of(operand.strides, [](int64_t stride) { return stride == 0; });
  });
}

bool Program::TakeElements(int64_t rows, int64_t cols) {
  const bool is_line = dims_.size() == 1;
  const auto walks = [&](const Operand& operand) {
    if (operand.strides.empty()) return true;
    const int64_t row = is_line ? 0 : operand.strides[0], col = operand.strides.back();
    const bool is_number = row == 0 && col == 0;
    return is_number || (col == 1 && row == (is_line ? 0 : cols_) && operand.pack < 0);
  };
  if (dims_.size() > 2 || rows * cols == 0 || !std::ranges::all_of(operands_, walks)) return false;
  if (is_line) {
    dims_[0] = cols_ = rows * cols;
    return true;
  }
  for (Operand& operand : operands_)
    if (!operand.strides.empty() && operand.strides[1] == 1) operand.strides[0] = cols;
  dims_ = {rows, cols};
  rows_ = rows;
  cols_ = cols;
  return true;
}

void Program::SetRows(int64_t rows) {
  if (dims_.size() == 2) dims_[0] = rows;
  rows_ = rows;
}

std::array<int64_t, 2> Program::ExtentsOf(const Problem& problem) const {
  std::array<int64_t, 2> extents{};
  for (const Operand& operand : operands_) {
    const int64_t row = operand.strides[0], col = operand.strides[1];
    const bool is_vector = (row == 0) != (col == 0);
    if (operand.pack >= 0) {
      if (row != 0) extents[0] = dims_[0];
      if (col != 0) extents[1] = dims_[1];
    } else if (is_vector) {
      extents[row == 0 ? 1 : 0] = problem.shape(problem.group->inputs[operand.input]).elements();
    }
  }
  return extents;
}

bool Program::TakeExtents(const Problem& problem) {
  if (dims_.size() == 3) return TakeGates(problem);
  const int64_t elements = problem.shape(problem.group->outputs[0]).elements();
  const auto walks = [&](const Operand& operand) {
    if (operand.input < 0 && operand.pack < 0) return false;
    if (dims_.size() == 1)
      return operand.strides[0] == 0 || (operand.strides[0] == 1 && operand.pack < 0);
    const int64_t row = operand.strides[0], col = operand.strides[1];
    return col == 0 ? row <= 1 : col == 1 && (row == 0 || row == cols_);
  };
  if (elements == 0 || dims_.size() > 2 || !std::ranges::all_of(operands_, walks)) return false;
  if (dims_.size() == 1) {
    dims_[0] = cols_ = elements;
    return true;
  }
  auto [rows, cols] = ExtentsOf(problem);
  if (rows == 0 && cols == 0) return false;
  if (rows == 0) rows = elements / cols;
  if (cols == 0) cols = elements / rows;
  if (rows * cols != elements) return false;
  for (Operand& operand : operands_)
    if (operand.strides[0] == cols_ && operand.strides[1] == 1) operand.strides[0] = cols;
  dims_ = {rows, cols};
  rows_ = rows;
  cols_ = cols;
  return true;
}

bool Program::IsRunning(const Source& source, int running) const {
  if (running >= 0) return source.kind == Source::kRegister && source.index == running;
  return source.kind == Source::kOperand && operands_[source.index].input < 0 &&
         operands_[source.index].pack < 0;
}

ColumnValues Program::Columns(const Binding& binding, const Source& source, int64_t first) const {
  if (source.kind == Source::kImmediate) return {&source.value, 0};
  const int64_t step = operands_[source.index].strides.back();
  return {reinterpret_cast<const float*>(binding.operands[source.index]) + step * first, step};
}

std::optional<std::vector<ChainLink>> Program::Chain() const {
  if (outputs_.size() != 1 || outputs_[0].storage != DType::kF32 || dims_.size() > 2)
    return std::nullopt;
  std::vector<ChainLink> chain;
  int running = -1;  // register; -1: the operand without a place
  const auto is_running = [&](const Source& source) { return IsRunning(source, running); };
  const auto take = [&](const Source& source, int& operand, std::array<int64_t, 2>& strides) {
    if (source.kind != Source::kOperand) return false;
    const Operand& from = operands_[source.index];
    if ((from.input < 0 && from.pack < 0) || from.storage != DType::kF32 ||
        from.strides.back() != 1)
      return false;
    operand = source.index;
    strides = {dims_.size() == 2 ? from.strides[0] : 0, 1};
    return true;
  };
  for (const Instruction& code : instructions_) {
    ChainLink link{.fn = code.fn};
    Source other = code.b;
    if (!is_running(code.a)) {
      const bool commutes = code.fn == Fn::kAdd || code.fn == Fn::kMul || code.fn == Fn::kMulAdd;
      if (!commutes || !is_running(code.b)) return std::nullopt;
      other = code.a;
    }
    if (other.kind != Source::kNone && !take(other, link.b, link.b_strides)) return std::nullopt;
    if (link.b >= 0 && dims_.size() == 2 && link.b_strides[0] == cols_)
      link.input = operands_[link.b].input;
    if (code.c.kind != Source::kNone && !take(code.c, link.c, link.c_strides)) return std::nullopt;
    if (code.output >= 0 && &code != &instructions_.back()) return std::nullopt;
    running = code.dst;
    chain.push_back(link);
  }
  return chain;
}

std::optional<ScaledValue> Program::Scaled() const {
  if (outputs_.size() != 1 || outputs_[0].storage != DType::kF32) return std::nullopt;
  ScaledValue value;
  int running = -1;     // register; -1: the operand without a place
  Fn last = Fn::kCopy;  // steps stand in the order of the formula
  const auto is_running = [&](const Source& source) { return IsRunning(source, running); };
  const auto take = [&](const Instruction& code, Source& other) {
    other = is_running(code.a) ? code.b : code.a;
    if (other.kind == Source::kImmediate) return true;
    if (other.kind != Source::kOperand || operands_[other.index].strides.empty()) return false;
    const Operand& from = operands_[other.index];
    const int64_t step = from.strides.back();
    return step <= 1 && from.storage == DType::kF32 &&
           std::ranges::count(from.strides, 0) >= std::ssize(from.strides) - step;
  };
  for (const Instruction& code : instructions_) {
    const bool commutes = code.fn == Fn::kMul || code.fn == Fn::kAdd;
    const bool follows = is_running(code.a) || (commutes && is_running(code.b));
    if (!follows || (code.output >= 0 && &code != &instructions_.back())) return std::nullopt;
    if (code.fn == Fn::kMul && last == Fn::kCopy) {
      if (!take(code, value.factor)) return std::nullopt;
    } else if (code.fn == Fn::kAdd && (last == Fn::kCopy || last == Fn::kMul)) {
      if (!take(code, value.addend)) return std::nullopt;
    } else if (code.fn == Fn::kRelu && last != Fn::kRelu) {
      value.least = 0;
    } else if (code.fn == Fn::kClip && last != Fn::kRelu && code.b.kind == Source::kImmediate &&
               code.c.kind == Source::kImmediate) {
      value.least = code.b.value;
      value.greatest = code.c.value;
    } else {
      return std::nullopt;
    }
    last = code.fn == Fn::kClip ? Fn::kRelu : code.fn;
    running = code.dst;
  }
  return value;
}

}  // namespace fettle::kernels::elementwise
