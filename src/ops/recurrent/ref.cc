// Scalar oracle of RNN, GRU and LSTM: one sequence at a time, all in double.
#include <algorithm>

#include "ops/element_access.h"
#include "ops/op.h"
#include "ops/recurrent/op.h"

namespace fettle::ops {
namespace {

/// Dense row-major copies of the operands.
struct RecurrentOperands {
  std::vector<double> x, w, r, b, h0, c0, p;
  std::vector<int64_t> lengths;
};

/// The state of one sequence in one direction, and the parameters of that direction.
class Cell {
 public:
  Cell(const RecurrentAttributes& cell, const RecurrentOperands& operands, int direction)
      : cell_(cell), hidden_(cell.hidden) {
    const size_t rows = hidden_ * cell.gates, d = direction;
    const size_t input = cell.input;
    w_ = std::span(operands.w).subspan(d * rows * input, rows * input);
    r_ = std::span(operands.r).subspan(d * rows * hidden_, rows * hidden_);
    if (!operands.b.empty()) b_ = std::span(operands.b).subspan(d * 2 * rows, 2 * rows);
    if (!operands.p.empty()) p_ = std::span(operands.p).subspan(d * 3 * hidden_, 3 * hidden_);
    const size_t count = cell.activations_per_direction();
    activations_ = std::span(cell.activations).subspan(d * count, count);
    h.assign(hidden_, 0.0);
    c.assign(hidden_, 0.0);
  }

  void Step(std::span<const double> x) {
    switch (cell_.kind) {
      case RecurrentKind::kRnn: StepRnn(x); break;
      case RecurrentKind::kGru: StepGru(x); break;
      case RecurrentKind::kLstm: StepLstm(x); break;
    }
  }

  std::vector<double> h, c;

 private:
  double Activate(size_t which, double x) const {
    if (cell_.clip > 0) x = std::clamp(x, -cell_.clip, cell_.clip);
    return ApplyActivation(activations_[which], x);
  }
  static double Dot(std::span<const double> rows, size_t row, std::span<const double> v) {
    double sum = 0;
    for (size_t k = 0; k < v.size(); ++k) sum += rows[row * v.size() + k] * v[k];
    return sum;
  }
  double InputBias(size_t row) const { return b_.empty() ? 0.0 : b_[row]; }
  double StateBias(size_t row) const { return b_.empty() ? 0.0 : b_[b_.size() / 2 + row]; }
  double Gate(size_t row, std::span<const double> x, std::span<const double> state) const {
    return Dot(w_, row, x) + Dot(r_, row, state) + InputBias(row) + StateBias(row);
  }
  double Peephole(size_t gate, size_t unit) const {
    return p_.empty() ? 0.0 : p_[gate * hidden_ + unit];
  }

  void StepRnn(std::span<const double> x) {
    std::vector<double> next(hidden_);
    for (size_t u = 0; u < hidden_; ++u) next[u] = Activate(0, Gate(u, x, h));
    h = std::move(next);
  }

  void StepGru(std::span<const double> x) {
    std::vector<double> z(hidden_), reset(hidden_), gated(hidden_), next(hidden_);
    for (size_t u = 0; u < hidden_; ++u) {
      z[u] = Activate(0, Gate(u, x, h));
      reset[u] = Activate(0, Gate(hidden_ + u, x, h));
      gated[u] = reset[u] * h[u];
    }
    for (size_t u = 0; u < hidden_; ++u) {
      const size_t row = 2 * hidden_ + u;
      const double state = cell_.linear_before_reset ? reset[u] * (Dot(r_, row, h) + StateBias(row))
                                                     : Dot(r_, row, gated) + StateBias(row);
      const double candidate = Activate(1, Dot(w_, row, x) + InputBias(row) + state);
      next[u] = (1 - z[u]) * candidate + z[u] * h[u];
    }
    h = std::move(next);
  }

  void StepLstm(std::span<const double> x) {
    std::vector<double> next(hidden_);
    for (size_t u = 0; u < hidden_; ++u) {
      const double i = Activate(0, Gate(u, x, h) + Peephole(0, u) * c[u]);
      const double f = cell_.input_forget
                           ? 1 - i
                           : Activate(0, Gate(2 * hidden_ + u, x, h) + Peephole(2, u) * c[u]);
      const double g = Activate(1, Gate(3 * hidden_ + u, x, h));
      c[u] = f * c[u] + i * g;
      const double o = Activate(0, Gate(hidden_ + u, x, h) + Peephole(1, u) * c[u]);
      // The gates are clipped, the cell state is not: what existing engines make of the
      // specification's "input of activations".
      next[u] = o * ApplyActivation(activations_[2], c[u]);
    }
    h = std::move(next);
  }

  const RecurrentAttributes& cell_;
  size_t hidden_;
  std::span<const double> w_, r_, b_, p_;
  std::span<const CellActivation> activations_;
};

/// Writes one row of `hidden` values at output `i`, if that is wanted.
void WriteRow(const RefContext& context, size_t i, std::span<const int64_t> prefix,
              std::span<const double> row) {
  if (!context.has_output(i)) return;
  const HostView& view = context.outputs[i];
  int64_t offset = 0;
  for (size_t k = 0; k < prefix.size(); ++k) offset += prefix[k] * view.strides[k];
  for (size_t u = 0; u < row.size(); ++u)
    view.SetDouble(offset + static_cast<int64_t>(u) * view.strides.back(), row[u]);
}

void RunSequence(const RecurrentAttributes& cell, const RecurrentOperands& operands,
                 const RefContext& context, int direction, int64_t b) {
  Cell state(cell, operands, direction);
  const size_t hidden = cell.hidden, input = cell.input;
  const int64_t row =
      cell.batch_first ? b * cell.directions + direction : direction * cell.batch + b;
  const size_t at = row * hidden;
  const auto load = [&](const std::vector<double>& from, std::vector<double>& to) {
    if (!from.empty()) std::copy_n(from.begin() + static_cast<ptrdiff_t>(at), hidden, to.begin());
  };
  load(operands.h0, state.h);
  load(operands.c0, state.c);
  const int64_t length = operands.lengths.empty() ? cell.steps : operands.lengths[b];
  const bool backwards = direction == 1 || cell.reverse;
  const std::vector<double> zeros(hidden);
  for (int64_t step = 0; step < cell.steps; ++step) {
    const int64_t t = backwards && step < length ? length - 1 - step : step;
    if (step < length) {
      const int64_t x_row = cell.batch_first ? b * cell.steps + t : t * cell.batch + b;
      state.Step(std::span(operands.x).subspan(x_row * input, input));
    }
    const int64_t batch_major[] = {b, t, direction}, time_major[] = {t, direction, b};
    WriteRow(context, 0, cell.batch_first ? batch_major : time_major,
             step < length ? state.h : zeros);
  }
  const int64_t batch_major[] = {b, direction}, time_major[] = {direction, b};
  WriteRow(context, 1, cell.batch_first ? batch_major : time_major, state.h);
  WriteRow(context, 2, cell.batch_first ? batch_major : time_major, state.c);
}

}  // namespace

Status RecurrentReference(const RefContext& context, const Region&) {
  const auto doubles = [&](size_t i) {
    return context.has_input(i) ? DoublesOf(context.inputs[i]) : std::vector<double>();
  };
  ASSIGN_OR_RETURN(const RecurrentAttributes cell,
                   ReadRecurrent(context.node, context.inputs[0].shape, context.inputs[1].shape,
                                 context.inputs[2].shape));
  RecurrentOperands operands = {doubles(0), doubles(1), doubles(2), doubles(3),
                                doubles(5), doubles(6), doubles(7), {}};
  if (context.has_input(4)) operands.lengths = IntsOf(context.inputs[4]);
  for (int64_t length : operands.lengths) {
    if (length < 0 || length > cell.steps)
      return InvalidArgument("sequence_lens: {} is not in [0, {}]", length, cell.steps);
  }
  for (int direction = 0; direction < cell.directions; ++direction) {
    for (int64_t b = 0; b < cell.batch; ++b) RunSequence(cell, operands, context, direction, b);
  }
  return OkStatus();
}

}  // namespace fettle::ops
