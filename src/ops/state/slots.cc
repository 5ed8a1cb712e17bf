// Operators whose states lie in slots, of which each sequence of a launch reads one and writes one:
// SlotConv (x, w, past, steps, bias) and SlotScan (q, k, v, past, steps, decay, beta, rates). Their
// outputs are y and the states of all slots, which may be the memory of the past.
#include <cmath>
#include <vector>

#include "ops/infer.h"
#include "ops/op.h"
#include "ops/state/op.h"

namespace fettle::ops {
namespace {

double SlotElement(const HostView& view, std::initializer_list<int64_t> coordinate) {
  return view.GetDouble(view.Offset(std::span(coordinate.begin(), coordinate.size())));
}
void SetSlotElement(const HostView& view, std::initializer_list<int64_t> coordinate, double value) {
  view.SetDouble(view.Offset(std::span(coordinate.begin(), coordinate.size())), value);
}

SlotStep SlotStepOf(const HostView& steps, int64_t n) {
  const auto of = [&](int64_t i) { return static_cast<int64_t>(SlotElement(steps, {n, i})); };
  return {of(0), of(1), of(2)};
}

Status CheckSlotSteps(const HostView& steps, int64_t slots, int64_t length) {
  for (int64_t n = 0; n < steps.shape[0]; ++n)
    RETURN_IF_ERROR(CheckSlotStep(SlotStepOf(steps, n), slots, length));
  return OkStatus();
}

Status CheckSlotStepsShape(const InferContext& context, int i, int64_t batch) {
  RETURN_IF_ERROR(CheckType(context, i, TypeBit(DType::kI32)));
  if (context.shape(i) == Shape{batch, 3}) return OkStatus();
  return InvalidModel("input 'steps': expected {}, got {}", Shape{batch, 3}.ToString(),
                      context.shape(i).ToString());
}

Result<SlotScanShape> SlotScanOf(const RefContext& context) {
  const auto shape = [&](size_t i) {
    return context.has_input(i) ? &context.inputs[i].shape : nullptr;
  };
  return ReadSlotScan(context.node, *shape(0), *shape(1), *shape(2), shape(5), shape(6), shape(7),
                      *shape(3));
}

/// What a slot keeps: a copy of all states, of which some are written anew.
void KeepSlots(const HostView& past, const HostView& present) {
  for (int64_t i = 0; i < past.shape.elements(); ++i) {
    Dims at(past.shape.rank());
    int64_t rest = i;
    for (int axis = past.shape.rank() - 1; axis >= 0; --axis) {
      at[axis] = rest % past.shape[axis];
      rest /= past.shape[axis];
    }
    present.SetDouble(present.Offset(at), past.GetDouble(past.Offset(at)));
  }
}

/// A head of a sequence: its state, row-major [size, v_size], and a step.
class HeadScan {
 public:
  HeadScan(const RefContext& context, const SlotScanShape& s, int64_t sequence, int64_t head)
      : context_(context),
        s_(s),
        n_(sequence),
        head_(head),
        step_(SlotStepOf(context.inputs[4], sequence)),
        state_(s.size * s.v_size, 0.0) {
    for (int64_t i = 0; step_.from >= 0 && i < s.size * s.v_size; ++i)
      state_[i] = SlotElement(context.inputs[3], {step_.from, head, i / s.v_size, i % s.v_size});
  }

  void Run() {
    for (int64_t t = 0; t < s_.length; ++t) {
      if (t < step_.count) Step(t);
      for (int64_t m = 0; context_.has_output(0) && m < s_.v_size; ++m)
        SetSlotElement(context_.outputs[0], {n_, t, head_ * s_.v_size + m},
                       t < step_.count ? Read(t, m) : 0);
    }
    for (int64_t i = 0; context_.has_output(1) && i < s_.size * s_.v_size; ++i)
      SetSlotElement(context_.outputs[1], {step_.to, head_, i / s_.v_size, i % s_.v_size},
                     state_[i]);
  }

 private:
  void Step(int64_t t) {
    for (int64_t d = 0; d < s_.size; ++d) {
      for (int64_t m = 0; m < s_.v_size; ++m)
        state_[d * s_.v_size + m] *= std::exp(LogDecay(t, d, m));
    }
    for (int64_t m = 0; m < s_.v_size; ++m) {
      double value = SlotElement(context_.inputs[2], {n_, t, head_ * s_.v_size + m});
      for (int64_t d = 0; s_.delta && d < s_.size; ++d)
        value -= state_[d * s_.v_size + m] * Shared(1, t, d);
      if (s_.delta) value *= SlotElement(context_.inputs[6], {n_, t, head_});
      for (int64_t d = 0; d < s_.size; ++d) state_[d * s_.v_size + m] += Shared(1, t, d) * value;
    }
  }
  double Read(int64_t t, int64_t m) const {
    double sum = 0;
    for (int64_t d = 0; d < s_.size; ++d) sum += Shared(0, t, d) * state_[d * s_.v_size + m];
    return sum * s_.scale;
  }
  /// Of the query or the key.
  double Shared(size_t input, int64_t t, int64_t d) const {
    return SlotElement(context_.inputs[input], {n_, t, s_.KeyHead(head_) * s_.size + d});
  }
  double LogDecay(int64_t t, int64_t d, int64_t m) const {
    const auto of = [&](int64_t i) { return SlotElement(context_.inputs[5], {n_, t, i}); };
    switch (s_.decay) {
      case Decay::kOfHead: return of(head_);
      case Decay::kOfKey: return of(head_ * s_.size + d);
      case Decay::kOfValue: {
        const int64_t column = head_ * s_.v_size + m;
        return of(column) * SlotElement(context_.inputs[7], {d, column});
      }
      case Decay::kNone: break;
    }
    return 0;
  }

  const RefContext& context_;
  const SlotScanShape& s_;
  int64_t n_, head_;
  SlotStep step_;
  std::vector<double> state_;
};

}  // namespace

Status CheckSlotStep(const SlotStep& step, int64_t slots, int64_t length) {
  if (step.from >= -1 && step.from < slots && step.to >= 0 && step.to < slots && step.count >= 0 &&
      step.count <= length)
    return OkStatus();
  return InvalidArgument("states of slot {} to {} over {} rows lie outside {} slots and {} rows",
                         step.from, step.to, step.count, slots, length);
}

Result<SlotConvShape> ReadSlotConv(const ir::Node& node, const Shape& x, const Shape& w,
                                   const Shape& past) {
  if (x.rank() != 3 || w.rank() != 2 || past.rank() != 3 || w[0] < 2 || w[1] != x[2] ||
      past[1] != w[0] - 1 || past[2] != x[2])
    return InvalidModel("weights {} and states {} do not fit the input {}", w.ToString(),
                        past.ToString(), x.ToString());
  return SlotConvShape{x[0], x[1], x[2], w[0], past[0], node.attributes.Int("silu", 0) != 0};
}

Result<SlotScanShape> ReadSlotScan(const ir::Node& node, const Shape& q, const Shape& k,
                                   const Shape& v, const Shape* decay, const Shape* beta,
                                   const Shape* rates, const Shape& past) {
  if (q.rank() != 3 || v.rank() != 3 || past.rank() != 4)
    return InvalidModel("queries {}, values {} and states {}: expected 3, 3 and 4 axes",
                        q.ToString(), v.ToString(), past.ToString());
  SlotScanShape s{.batch = q[0],
                  .length = q[1],
                  .slots = past[0],
                  .heads = past[1],
                  .size = past[2],
                  .v_size = past[3]};
  s.strided = node.attributes.Int("strided", 0) != 0;
  s.scale = node.attributes.Float("scale", 1);
  s.delta = beta != nullptr;
  s.key_heads = s.size > 0 ? q[2] / s.size : 0;
  const auto row = [&](int64_t columns) { return Shape{s.batch, s.length, columns}; };
  const int64_t columns = s.heads * s.v_size;
  if (s.key_heads < 1 || s.heads % s.key_heads != 0 || s.key_heads * s.size != q[2] || k != q ||
      v != row(columns))
    return InvalidModel("queries {}, keys {} and values {} do not fit states {}", q.ToString(),
                        k.ToString(), v.ToString(), past.ToString());
  if (beta != nullptr && *beta != row(s.heads))
    return InvalidModel("input 'beta': expected {}, got {}", row(s.heads).ToString(),
                        beta->ToString());
  if (rates != nullptr && (*rates != Shape{s.size, columns} || decay == nullptr))
    return InvalidModel("input 'rates': {} does not fit", rates->ToString());
  if (decay == nullptr) return s;
  s.decay = rates != nullptr         ? Decay::kOfValue
            : *decay == row(s.heads) ? Decay::kOfHead
                                     : Decay::kOfKey;
  if (s.decay == Decay::kOfHead || *decay == row(rates != nullptr ? columns : s.heads * s.size))
    return s;
  return InvalidModel("input 'decay': {} does not fit", decay->ToString());
}

Status InferSlotConv(InferContext& context) {
  RETURN_IF_ERROR(CheckTypes(context, 0, 3, kFloatTypes));
  ASSIGN_OR_RETURN(const SlotConvShape conv, ReadSlotConv(context.node(), context.shape(0),
                                                          context.shape(1), context.shape(2)));
  RETURN_IF_ERROR(CheckType(context, 4, kFloatTypes));
  if (context.has_input(4) && context.shape(4) != Shape{conv.channels})
    return InvalidModel("input 'bias': {} does not fit {} channels", context.shape(4).ToString(),
                        conv.channels);
  RETURN_IF_ERROR(CheckSlotStepsShape(context, 3, conv.batch));
  context.SetOutput(0, context.dtype(0), context.shape(0));
  context.SetOutput(1, context.dtype(2), context.shape(2));
  return OkStatus();
}

Status InferSlotScan(InferContext& context) {
  for (int i : {0, 1, 2, 3, 5, 6, 7}) RETURN_IF_ERROR(CheckType(context, i, kFloatTypes));
  const auto shape = [&](int i) { return context.has_input(i) ? &context.shape(i) : nullptr; };
  ASSIGN_OR_RETURN(const SlotScanShape scan,
                   ReadSlotScan(context.node(), context.shape(0), context.shape(1),
                                context.shape(2), shape(5), shape(6), shape(7), context.shape(3)));
  RETURN_IF_ERROR(CheckSlotStepsShape(context, 4, scan.batch));
  context.SetOutput(0, context.dtype(0), context.shape(2));
  context.SetOutput(1, context.dtype(3), context.shape(3));
  return OkStatus();
}

int64_t SlotConvMacs(const ir::Node&, std::span<const Shape> inputs, std::span<const Shape>) {
  return inputs[0].elements() * inputs[1][0];
}

/// As LinearAttention: what the state holds for a key, the update, the query.
int64_t SlotScanMacs(const ir::Node&, std::span<const Shape> inputs, std::span<const Shape>) {
  return 3 * inputs[2].elements() * inputs[3][2];
}

Status SlotConvReference(const RefContext& context, const Region&) {
  const HostView &x = context.inputs[0], &w = context.inputs[1], &past = context.inputs[2];
  ASSIGN_OR_RETURN(const SlotConvShape s, ReadSlotConv(context.node, x.shape, w.shape, past.shape));
  RETURN_IF_ERROR(CheckSlotSteps(context.inputs[3], s.slots, s.length));
  if (context.has_output(1)) KeepSlots(past, context.outputs[1]);
  const int64_t kept = s.taps - 1;
  for (int64_t n = 0; n < s.batch; ++n) {
    const SlotStep step = SlotStepOf(context.inputs[3], n);
    // Row i of the state followed by the input.
    const auto joined = [&](int64_t i, int64_t c) {
      if (i >= kept) return SlotElement(x, {n, i - kept, c});
      return step.from < 0 ? 0.0 : SlotElement(past, {step.from, i, c});
    };
    for (int64_t c = 0; c < s.channels; ++c) {
      for (int64_t t = 0; context.has_output(0) && t < s.length; ++t) {
        double sum = context.has_input(4) ? SlotElement(context.inputs[4], {c}) : 0.0;
        for (int64_t k = 0; k < s.taps; ++k) sum += SlotElement(w, {k, c}) * joined(t + k, c);
        if (s.silu) sum /= 1 + std::exp(-sum);
        SetSlotElement(context.outputs[0], {n, t, c}, t < step.count ? sum : 0);
      }
      for (int64_t i = 0; context.has_output(1) && i < kept; ++i)
        SetSlotElement(context.outputs[1], {step.to, i, c}, joined(step.count + i, c));
    }
  }
  return OkStatus();
}

Status SlotScanReference(const RefContext& context, const Region&) {
  ASSIGN_OR_RETURN(const SlotScanShape s, SlotScanOf(context));
  RETURN_IF_ERROR(CheckSlotSteps(context.inputs[4], s.slots, s.length));
  if (context.has_output(1)) KeepSlots(context.inputs[3], context.outputs[1]);
  for (int64_t n = 0; n < s.batch; ++n) {
    for (int64_t head = 0; head < s.heads; ++head) HeadScan(context, s, n, head).Run();
  }
  return OkStatus();
}

}  // namespace fettle::ops
