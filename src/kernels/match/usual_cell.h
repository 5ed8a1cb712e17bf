// Recurrent layers as fast kernels take them.
#pragma once

#include "base/status.h"
#include "ir/graph.h"
#include "ops/recurrent/op.h"

namespace fettle::kernels {

/// Operand positions of RNN, GRU and LSTM.
enum RecurrentOperand : size_t {
  kRecurrentX,
  kRecurrentW,
  kRecurrentR,
  kRecurrentB,
  kRecurrentLengths,
  kRecurrentH,
  kRecurrentC,
  kRecurrentPeepholes,
  kRecurrentInputSteps,
  kRecurrentStateSteps
};

/// The cell of a group of one RNN, GRU or LSTM with constant weights, sigmoid gates and tanh, whose
/// sequences are equally long unless `allow_lengths`. Fails with kUnsupported and the reason.
Result<ops::RecurrentAttributes> ReadUsualCell(const ir::Graph& group, bool allow_lengths = false);

}  // namespace fettle::kernels
