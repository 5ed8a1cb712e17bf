// The case table: one line per family, beside the one in table.cc.
#include "ops/cases.h"

namespace fettle::ops {

// keep-sorted start
std::span<const Case> AttentionCases();
std::span<const Case> BinaryCases();
std::span<const Case> BlockProductCases();
std::span<const Case> ConcatCases();
std::span<const Case> ConvCases();
std::span<const Case> ConvTransposeCases();
std::span<const Case> DetectionCases();
std::span<const Case> DistanceCases();
std::span<const Case> ElementwiseCases();
std::span<const Case> ElementwiseChainCases();
std::span<const Case> ExpertCases();
std::span<const Case> GatherCases();
std::span<const Case> GenerateCases();
std::span<const Case> LossCases();
std::span<const Case> MatMulCases();
std::span<const Case> NormCases();
std::span<const Case> PadCases();
std::span<const Case> PoolCases();
std::span<const Case> QuantiseCases();
std::span<const Case> QuantiseNothingCases();
std::span<const Case> RecurrentCases();
std::span<const Case> ReduceCases();
std::span<const Case> ReshapeCases();
std::span<const Case> ResizeCases();
std::span<const Case> SelectCases();
std::span<const Case> ShuffleCases();
std::span<const Case> SignalCases();
std::span<const Case> SliceCases();
std::span<const Case> SoftmaxCases();
std::span<const Case> StateCases();
std::span<const Case> TransposeCases();
// keep-sorted end

std::vector<Case> AllCases() {
  const std::span<const Case> families[] = {
      // clang-format off
      // keep-sorted start
      AttentionCases(),
      BinaryCases(),
      BlockProductCases(),
      ConcatCases(),
      ConvCases(),
      ConvTransposeCases(),
      DetectionCases(),
      DistanceCases(),
      ElementwiseCases(),
      ElementwiseChainCases(),
      ExpertCases(),
      GatherCases(),
      GenerateCases(),
      LossCases(),
      MatMulCases(),
      NormCases(),
      PadCases(),
      PoolCases(),
      QuantiseCases(),
      QuantiseNothingCases(),
      RecurrentCases(),
      ReduceCases(),
      ReshapeCases(),
      ResizeCases(),
      SelectCases(),
      ShuffleCases(),
      SignalCases(),
      SliceCases(),
      SoftmaxCases(),
      StateCases(),
      TransposeCases(),
      // keep-sorted end
      // clang-format on
  };
  std::vector<Case> all;
  for (std::span<const Case> family : families) all.insert(all.end(), family.begin(), family.end());
  return all;
}

}  // namespace fettle::ops
