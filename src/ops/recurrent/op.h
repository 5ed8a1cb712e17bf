// Recurrent layers: attributes, as kernels read them.
#pragma once

#include <vector>

#include "base/status.h"
#include "ir/graph.h"
#include "tensor/shape.h"

namespace fettle::ops {

enum class RecurrentKind { kRnn, kGru, kLstm };

/// An activation inside a cell, with its parameters.
struct CellActivation {
  enum class Kind {
    kAffine,
    kElu,
    kHardSigmoid,
    kLeakyRelu,
    kRelu,
    kScaledTanh,
    kSigmoid,
    kSoftplus,
    kSoftsign,
    kTanh,
    kThresholdedRelu,
  };
  Kind kind = Kind::kTanh;
  double alpha = 0, beta = 0;
};
double ApplyActivation(const CellActivation& activation, double x);

/// RNN, GRU or LSTM, resolved for its operands: x [steps, batch, input] ([batch, steps, input]
/// where `batch_first`), w [directions, gates * hidden, input], r [directions, gates * hidden,
/// hidden], b [directions, 2 * gates * hidden]. Gate order: LSTM i o f c, GRU z r h. An LSTM may
/// have two constants more, of [directions] or [directions, gates * hidden]: all elements of w, and
/// of r, are whole numbers from -128 to 127 times these steps. Kernels may then round each row of x
/// and of states to 16 bits.
struct RecurrentAttributes {
  RecurrentKind kind = RecurrentKind::kRnn;
  int gates = 1;
  int directions = 1;
  bool reverse = false;  // of a single direction; the second of two always runs backwards
  bool batch_first = false;
  bool linear_before_reset = false;  // GRU
  bool input_forget = false;         // LSTM: f = 1 - i
  double clip = 0;                   // of gate inputs; 0: none
  int64_t steps = 0, batch = 0, input = 0, hidden = 0;
  /// Per direction RNN f; GRU f, g; LSTM f, g, h.
  std::vector<CellActivation> activations;
  int activations_per_direction() const { return static_cast<int>(kind) + 1; }
};
/// Fails with kInvalidModel on attributes or shapes that disagree.
Result<RecurrentAttributes> ReadRecurrent(const ir::Node& node, const Shape& x, const Shape& w,
                                          const Shape& r);

}  // namespace fettle::ops
