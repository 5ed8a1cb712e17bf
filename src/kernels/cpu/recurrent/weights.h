// The packed weights of a recurrent cell: input products, state products, and their biases.
#pragma once

#include "kernels/cpu/gemm/pack.h"
#include "kernels/kernel.h"
#include "kernels/match/usual_cell.h"

namespace fettle::kernels {

/// Every gate is a group of its own, so that panels start at gates. Where `packed` is asked for, it
/// is the start of what Pack's request wrote.
class RecurrentWeights {
 public:
  RecurrentWeights(const ops::RecurrentAttributes& cell, int nr);

  /// W, R and, where there is one, B of `node`.
  PackRequest Pack(const ir::Node& node) const;

  /// The panels of a gate.
  const float* Input(const float* packed, int64_t direction, int64_t gate) const;
  const float* State(const float* packed, int64_t direction, int64_t gate) const;
  /// Its biases, padded to whole panels. All of B join the input products, but for that of a GRU's
  /// candidate state, which the reset gate may scale.
  const float* InputBias(const float* packed, int64_t direction, int64_t gate) const;
  const float* StateBias(const float* packed, int64_t direction, int64_t gate) const;

 private:
  int64_t InputElements() const { return input_.groups * input_.group_elements(nr_); }
  int64_t StateElements() const { return state_.groups * state_.group_elements(nr_); }
  int64_t BiasElements() const { return input_.groups * padded_; }
  void PackBiases(const Constant* bias, float* out) const;

  ops::RecurrentAttributes cell_;
  int nr_;
  WeightShape input_, state_;
  int64_t padded_;
};

}  // namespace fettle::kernels
