// Scalar oracles of the operators that carry a state.
#include <cmath>
#include <vector>

#include "ops/op.h"
#include "ops/state/op.h"

namespace fettle::ops {
namespace {

double ElementAt(const HostView& view, std::initializer_list<int64_t> coordinate) {
  return view.GetDouble(view.Offset(std::span(coordinate.begin(), coordinate.size())));
}
void SetElement(const HostView& view, std::initializer_list<int64_t> coordinate, double value) {
  view.SetDouble(view.Offset(std::span(coordinate.begin(), coordinate.size())), value);
}

/// One head of one batch element: its state, row-major [size, v_size], and a step.
class Recurrence {
 public:
  Recurrence(const RefContext& context, const LinearAttentionAttributes& a, int64_t batch,
             int64_t head)
      : context_(context), a_(a), batch_(batch), head_(head), state_(a.size * a.v_size, 0.0) {
    if (!context.has_input(3)) return;
    for (int64_t d = 0; d < a.size; ++d)
      for (int64_t m = 0; m < a.v_size; ++m)
        At(d, m) = ElementAt(context.inputs[3], {batch, head, d, m});
  }

  void Step(int64_t t) {
    for (int64_t d = 0; a_.gated && d < a_.size; ++d) {
      const HostView& decay = context_.inputs[4];
      const bool per_head = decay.shape[2] == a_.kv_heads;
      const double gate =
          std::exp(ElementAt(decay, {batch_, t, per_head ? head_ : head_ * a_.size + d}));
      for (int64_t m = 0; m < a_.v_size; ++m) At(d, m) *= gate;
    }
    for (int64_t m = 0; m < a_.v_size; ++m) {
      double value = ElementAt(context_.inputs[2], {batch_, t, head_ * a_.v_size + m});
      if (a_.delta) {
        for (int64_t d = 0; d < a_.size; ++d) value -= At(d, m) * Key(t, d);
        const HostView& beta = context_.inputs[5];
        value *= ElementAt(beta, {batch_, t, beta.shape[2] == 1 ? 0 : head_});
      }
      for (int64_t d = 0; d < a_.size; ++d) At(d, m) += Key(t, d) * value;
    }
  }

  /// What query head `q` reads at step t.
  void Read(int64_t t, int64_t q) const {
    for (int64_t m = 0; m < a_.v_size; ++m) {
      double sum = 0;
      for (int64_t d = 0; d < a_.size; ++d)
        sum +=
            ElementAt(context_.inputs[0], {batch_, t, q * a_.size + d}) * state_[d * a_.v_size + m];
      SetElement(context_.outputs[0], {batch_, t, q * a_.v_size + m}, sum * a_.scale);
    }
  }

  void StoreState() const {
    for (int64_t d = 0; d < a_.size; ++d)
      for (int64_t m = 0; m < a_.v_size; ++m)
        SetElement(context_.outputs[1], {batch_, head_, d, m}, state_[d * a_.v_size + m]);
  }

 private:
  double& At(int64_t d, int64_t m) { return state_[d * a_.v_size + m]; }
  double Key(int64_t t, int64_t d) const {
    return ElementAt(context_.inputs[1], {batch_, t, head_ * a_.size + d});
  }

  const RefContext& context_;
  const LinearAttentionAttributes& a_;
  int64_t batch_, head_;
  std::vector<double> state_;
};

}  // namespace

Status CausalConvReference(const RefContext& context, const Region&) {
  const HostView &x = context.inputs[0], &w = context.inputs[1];
  ASSIGN_OR_RETURN(const CausalConvAttributes conv, ReadCausalConv(context.node, x.shape, w.shape));
  const int64_t past = conv.taps - 1;
  // Element i of the state followed by the input.
  const auto joined = [&](int64_t n, int64_t c, int64_t i) {
    if (i >= past) return ElementAt(x, {n, c, i - past});
    return context.has_input(3) ? ElementAt(context.inputs[3], {n, c, i}) : 0.0;
  };
  for (int64_t n = 0; n < conv.batch; ++n) {
    for (int64_t c = 0; c < conv.channels; ++c) {
      for (int64_t t = 0; context.has_output(0) && t < conv.length; ++t) {
        double sum = context.has_input(2) ? ElementAt(context.inputs[2], {c}) : 0.0;
        for (int64_t k = 0; k < conv.taps; ++k)
          sum += ElementAt(w, {c, 0, k}) * joined(n, c, t + k);
        if (conv.silu) sum /= 1 + std::exp(-sum);
        SetElement(context.outputs[0], {n, c, t}, sum);
      }
      for (int64_t i = 0; context.has_output(1) && i < past; ++i)
        SetElement(context.outputs[1], {n, c, i}, joined(n, c, conv.length + i));
    }
  }
  return OkStatus();
}

Status LinearAttentionReference(const RefContext& context, const Region&) {
  ASSIGN_OR_RETURN(const LinearAttentionAttributes a,
                   ReadLinearAttention(context.node, context.inputs[0].shape,
                                       context.inputs[1].shape, context.inputs[2].shape));
  const int64_t shared = a.q_heads / a.kv_heads;
  for (int64_t n = 0; n < a.batch; ++n) {
    for (int64_t head = 0; head < a.kv_heads; ++head) {
      Recurrence recurrence(context, a, n, head);
      for (int64_t t = 0; t < a.length; ++t) {
        recurrence.Step(t);
        for (int64_t i = 0; context.has_output(0) && i < shared; ++i)
          recurrence.Read(t, head * shared + i);
      }
      if (context.has_output(1)) recurrence.StoreState();
    }
  }
  return OkStatus();
}

}  // namespace fettle::ops
