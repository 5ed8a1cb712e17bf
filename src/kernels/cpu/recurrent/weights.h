// The packed weights of a recurrent cell: input products, state products, and their biases.
#pragma once

#include "kernels/cpu/gemm/pack.h"
#include "kernels/kernel.h"
#include "kernels/match/usual_cell.h"

namespace fettle::kernels {

/// Gates lie side by side, as columns of one product: in panels of their own few units would leave
/// most of each empty. The state products of a GRU that resets its state before them are one for
/// each gate. Where `packed` is asked for, it is the start of what Pack's request wrote.
class RecurrentWeights {
 public:
  RecurrentWeights(const ops::RecurrentAttributes& cell, int nr);

  /// W, R and, where there is one, B of `node`.
  PackRequest Pack(const ir::Node& node) const;

  /// The gates of one state product.
  int64_t gates_together() const { return together_; }
  /// The columns of one, and of an input product.
  int64_t state_columns() const { return state_.oc; }
  int64_t input_columns() const { return input_.oc; }

  /// The panels of a direction, and of the state product that begins with a gate.
  const float* Input(const float* packed, int64_t direction) const;
  const float* State(const float* packed, int64_t direction, int64_t gate) const;
  /// Their biases, padded to whole panels. All of B join the input products, but for that of a
  /// GRU's candidate state, which the reset gate may scale.
  const float* InputBias(const float* packed, int64_t direction) const;
  const float* StateBias(const float* packed, int64_t direction, int64_t gate) const;

 private:
  int64_t InputElements() const { return input_.groups * input_.group_elements(nr_); }
  int64_t StateElements() const { return state_.groups * state_.group_elements(nr_); }
  int64_t InputPadded() const { return RoundUp(input_.oc, nr_); }
  int64_t StatePadded() const { return RoundUp(state_.oc, nr_); }
  int64_t BiasElements() const {
    return input_.groups * InputPadded() + state_.groups * StatePadded();
  }
  void PackBiases(const Constant* bias, float* out) const;

  ops::RecurrentAttributes cell_;
  int nr_;
  int64_t together_;
  WeightShape input_, state_;
};

}  // namespace fettle::kernels
