// Scalar oracle of the negative log likelihood.
#include "ops/loss/op.h"
#include "ops/op.h"
#include "ops/walk.h"

namespace fettle::ops {
namespace {

struct Term {
  double loss = 0;
  double weight = 0;
};

/// One position: `walk` holds the offsets of log_prob (class 0) and of the target.
Result<Term> TermAt(const RefContext& context, const LossAttributes& loss, const Walker& walk) {
  const HostView& log_prob = context.inputs[0];
  const int64_t target = context.inputs[1].GetInt(walk[1]);
  if (loss.ignore_index && target == *loss.ignore_index) return Term();
  if (target < 0 || target >= log_prob.shape[1])
    return InvalidArgument("target {} is not one of {} classes", target, log_prob.shape[1]);
  Term term;
  term.weight =
      context.has_input(2) ? context.inputs[2].GetDouble(target * context.inputs[2].strides[0]) : 1;
  term.loss = -term.weight * log_prob.GetDouble(walk[0] + target * log_prob.strides[1]);
  return term;
}

}  // namespace

Status LossReference(const RefContext& context, const Region& region) {
  const HostView &target = context.inputs[1], &y = context.outputs[0];
  ASSIGN_OR_RETURN(const LossAttributes loss, ReadLoss(context.node));
  Dims positions = context.inputs[0].strides;
  positions.erase(positions.begin() + 1);
  if (loss.reduction == LossAttributes::Reduction::kNone) {
    Walker walk(y.shape, {positions, target.strides, y.strides}, region.begin);
    for (int64_t i = region.begin; i < region.end; ++i, walk.Next()) {
      ASSIGN_OR_RETURN(const Term term, TermAt(context, loss, walk));
      y.SetDouble(walk[2], term.loss);
    }
    return OkStatus();
  }
  if (region.begin == region.end) return OkStatus();
  Term sum;
  Walker walk(target.shape, {positions, target.strides}, 0);
  const int64_t count = target.shape.elements();
  for (int64_t i = 0; i < count; ++i, walk.Next()) {
    ASSIGN_OR_RETURN(const Term term, TermAt(context, loss, walk));
    sum.loss += term.loss;
    sum.weight += term.weight;
  }
  const bool mean = loss.reduction == LossAttributes::Reduction::kMean;
  y.SetDouble(0, mean ? sum.loss / sum.weight : sum.loss);
  return OkStatus();
}

}  // namespace fettle::ops
