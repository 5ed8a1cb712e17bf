// What a recurrent layer is to its kernels, and its weights as steps.cl reads them.
#pragma once

#include <span>

#include "kernels/match/usual_cell.h"

namespace fettle::kernels {

/// A recurrent layer as its kernels see it.
struct RecurrentCell {
  ops::RecurrentAttributes attributes;
  int64_t units() const { return (attributes.hidden + 3) / 4 * 4; }
  int64_t rows() const { return attributes.steps * attributes.batch; }
  /// Sums of one row.
  int64_t columns() const { return attributes.directions * attributes.gates * units(); }
  int64_t sequences() const { return attributes.directions * attributes.batch; }
  bool is_gru() const { return attributes.kind == ops::RecurrentKind::kGru; }
  /// CELL of steps.cl.
  int64_t number() const {
    if (is_gru()) return attributes.linear_before_reset ? 3 : 1;
    return attributes.kind == ops::RecurrentKind::kRnn ? 0 : 2;
  }
};

/// Where the parts of the weights' one blob begin, in floats.
struct WeightParts {
  explicit WeightParts(const RecurrentCell& cell)
      : input_bias(cell.attributes.input * cell.columns()),
        carried(input_bias + cell.columns()),
        state(carried + cell.attributes.directions * cell.units()),
        end(state + cell.attributes.hidden * cell.columns()) {}
  int64_t input_bias, carried, state, end;
};

/// Writes [input][columns] of W, the biases, and [direction][hidden][gates][units] of R.
void PackWeights(const RecurrentCell& cell, std::span<const Constant* const> constants, float* out);

}  // namespace fettle::kernels
