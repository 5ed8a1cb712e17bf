#include "ops/op.h"

namespace fettle::ops {
namespace {

Status InferChannelShuffle(InferContext& context) {
  const Shape& x = context.shape(0);
  const int64_t groups = context.attributes().Int("groups", 1);
  if (x.rank() < 2) return InvalidModel("expected [n, c, ...], got {}", x.ToString());
  if (groups < 1 || x[1] % groups != 0)
    return InvalidModel("attribute 'groups': {} groups do not divide {}", groups, x.ToString());
  context.SetOutput(0, context.dtype(0), x);
  return OkStatus();
}

}  // namespace

Status ChannelShuffleReference(const RefContext& context, const Region& region);

/// ChannelShuffle: channels, as a matrix of `groups` rows, are transposed. Output channel j *
/// groups
/// + i is input channel i * (c / groups) + j. No model has it; passes make it.
std::span<const Operator> ShuffleOps() {
  static const Operator kOps[] = {
      {{.name = "ChannelShuffle", .traits = {Trait::kTakesEpilogue}},
       {.infer = InferChannelShuffle, .reference = ChannelShuffleReference, .types = "all"}},
  };
  return kOps;
}

}  // namespace fettle::ops
