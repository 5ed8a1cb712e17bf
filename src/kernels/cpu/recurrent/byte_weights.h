// The packed weights of an LSTM whose weights are bytes.
#pragma once

#include "kernels/cpu/quantised/microkernel.h"
#include "kernels/kernel.h"
#include "kernels/match/usual_cell.h"

namespace fettle::kernels {

/// The input or state products of a direction; gates lie side by side, as columns of one product.
struct ByteSide {
  int64_t depth = 0;
  const std::byte* panels = nullptr;
  /// Of each column: what one of its weights is, what its sum has too much where rows are u8 in
  /// place of i8, and its bias, all on the side of the inputs.
  const float* steps = nullptr;
  const int32_t* excess = nullptr;
  const float* bias = nullptr;
};

class ByteWeights {
 public:
  ByteWeights(const ops::RecurrentAttributes& cell, const QuantKernels& kernels)
      : directions_(cell.directions),
        gates_(cell.gates * cell.hidden),
        input_(cell.input),
        hidden_(cell.hidden),
        kernels_(&kernels) {}

  /// W, R, their steps and, where there is one, B of `node`. Fails with kInvalidModel where a
  /// weight is no whole number of steps from -128 to 127.
  PackRequest Pack(const ir::Node& node) const;

  int64_t panels() const;
  /// Of the micro-kernels, for a row of `depth` elements.
  int64_t steps(int64_t depth) const;
  /// Of a column in one of them.
  int64_t step_bytes() const { return kernels_->narrow ? 2 : 4; }

  /// Parts of what Pack's request wrote.
  ByteSide Input(const std::byte* packed, int64_t direction) const {
    return Side(packed, input_, direction * DirectionBytes());
  }
  ByteSide State(const std::byte* packed, int64_t direction) const {
    return Side(packed, hidden_, direction * DirectionBytes() + SideBytes(input_));
  }

 private:
  int64_t Columns() const { return panels() * kernels_->nr; }
  int64_t PanelBytes(int64_t depth) const { return steps(depth) * Columns() * step_bytes(); }
  int64_t SideBytes(int64_t depth) const { return PanelBytes(depth) + 3 * Columns() * 4; }
  int64_t DirectionBytes() const { return SideBytes(input_) + SideBytes(hidden_); }
  ByteSide Side(const std::byte* packed, int64_t depth, int64_t offset) const;
  Status PackSide(const Constant& weights, const Constant& steps, const Constant* bias,
                  int64_t direction, bool is_state, std::byte* out) const;

  int64_t directions_, gates_, input_, hidden_;  // gates: of all units
  const QuantKernels* kernels_;
};

}  // namespace fettle::kernels
