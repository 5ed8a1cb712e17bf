// The table of CPU kernels: one line per kernel.
#include "kernels/cpu/simd/targets.h"
#include "kernels/kernel.h"

namespace fettle::kernels {

// keep-sorted start
extern const KernelDesc kCpuAffineGrid;
extern const KernelDesc kCpuAttentionCached;
extern const KernelDesc kCpuAttentionRotary;
extern const KernelDesc kCpuAttentionTiled;
extern const KernelDesc kCpuBf16GemmAmx;
extern const KernelDesc kCpuBf16GemmDot;
extern const KernelDesc kCpuBf16WeightsGemm;
extern const KernelDesc kCpuBinaryBytes;
extern const KernelDesc kCpuBinaryMaxPool;
extern const KernelDesc kCpuBinaryPack;
extern const KernelDesc kCpuBinaryProduct;
extern const KernelDesc kCpuBinaryTables;
extern const KernelDesc kCpuBinaryWeights;
extern const KernelDesc kCpuBlockProductRows;
extern const KernelDesc kCpuCol2Im;
extern const KernelDesc kCpuConvDeform;
extern const KernelDesc kCpuConvDepthwiseLine;
extern const KernelDesc kCpuConvDepthwiseNchwc;
extern const KernelDesc kCpuConvDepthwiseNhwc;
extern const KernelDesc kCpuConvDotNhwc;
extern const KernelDesc kCpuConvGemmNchwc;
extern const KernelDesc kCpuConvGemmNhwc;
extern const KernelDesc kCpuConvGemmRow;
extern const KernelDesc kCpuConvGroupedNhwc;
extern const KernelDesc kCpuConvLinesNhwc;
extern const KernelDesc kCpuConvStripsRow;
extern const KernelDesc kCpuConvTransposeGemmNhwc;
extern const KernelDesc kCpuConvWinograd23Any;
extern const KernelDesc kCpuConvWinograd43Any;
extern const KernelDesc kCpuConvWinograd43Nhwc;
extern const KernelDesc kCpuCumulate;
extern const KernelDesc kCpuDistanceRows;
extern const KernelDesc kCpuElementwiseChain;
extern const KernelDesc kCpuElementwiseTyped;
extern const KernelDesc kCpuF16WeightsGemm;
extern const KernelDesc kCpuFft;
extern const KernelDesc kCpuGather;
extern const KernelDesc kCpuGatherElements;
extern const KernelDesc kCpuGatherTuples;
extern const KernelDesc kCpuGenerate;
extern const KernelDesc kCpuGridSampleTaps;
extern const KernelDesc kCpuHardmaxRows;
extern const KernelDesc kCpuMatMulGemm;
extern const KernelDesc kCpuMatMulGemmNwc;
extern const KernelDesc kCpuMove;
extern const KernelDesc kCpuNormChannel;
extern const KernelDesc kCpuNormLayer;
extern const KernelDesc kCpuNormLayerBytes;
extern const KernelDesc kCpuNormLp;
extern const KernelDesc kCpuNormLrn;
extern const KernelDesc kCpuOneHot;
extern const KernelDesc kCpuPoolIndices;
extern const KernelDesc kCpuPoolRoi;
extern const KernelDesc kCpuPoolUnpool;
extern const KernelDesc kCpuPoolWindow;
extern const KernelDesc kCpuQuantisedChannels;
extern const KernelDesc kCpuQuantisedConvWinograd23;
extern const KernelDesc kCpuQuantisedDepthwiseDot;
extern const KernelDesc kCpuQuantisedDepthwiseNchwc;
extern const KernelDesc kCpuQuantisedDepthwiseNhwc;
extern const KernelDesc kCpuQuantisedDynamic;
extern const KernelDesc kCpuQuantisedGemm;
extern const KernelDesc kCpuQuantisedGemmAmx;
extern const KernelDesc kCpuQuantisedGemmNchwc;
extern const KernelDesc kCpuQuantisedGemmTerms;
extern const KernelDesc kCpuQuantisedImage;
extern const KernelDesc kCpuQuantisedInteger;
extern const KernelDesc kCpuQuantisedMatMul;
extern const KernelDesc kCpuQuantisedPair;
extern const KernelDesc kCpuRecurrentGemm;
extern const KernelDesc kCpuReduceArg;
extern const KernelDesc kCpuReduceRows;
extern const KernelDesc kCpuReduceTyped;
extern const KernelDesc kCpuReference;
extern const KernelDesc kCpuResizeSeparable;
extern const KernelDesc kCpuScatterElements;
extern const KernelDesc kCpuScatterTuples;
extern const KernelDesc kCpuSelectSlices;
extern const KernelDesc kCpuShuffleInterleave;
extern const KernelDesc kCpuSoftmaxBytes;
extern const KernelDesc kCpuSoftmaxRows;
extern const KernelDesc kCpuTableLookupMap;
extern const KernelDesc kCpuTopK;
extern const KernelDesc kCpuWeightOnlyGemm;
// keep-sorted end

std::span<const KernelDesc* const> CpuKernels() {
  ApplyIsaCap();
  static const KernelDesc* const kTable[] = {
      // clang-format off
      // keep-sorted start
      &kCpuAffineGrid,
      &kCpuAttentionCached,
      &kCpuAttentionRotary,
      &kCpuAttentionTiled,
      &kCpuBf16GemmAmx,
      &kCpuBf16GemmDot,
      &kCpuBf16WeightsGemm,
      &kCpuBinaryBytes,
      &kCpuBinaryMaxPool,
      &kCpuBinaryPack,
      &kCpuBinaryProduct,
      &kCpuBinaryTables,
      &kCpuBinaryWeights,
      &kCpuBlockProductRows,
      &kCpuCol2Im,
      &kCpuConvDeform,
      &kCpuConvDepthwiseLine,
      &kCpuConvDepthwiseNchwc,
      &kCpuConvDepthwiseNhwc,
      &kCpuConvDotNhwc,
      &kCpuConvGemmNchwc,
      &kCpuConvGemmNhwc,
      &kCpuConvGemmRow,
      &kCpuConvGroupedNhwc,
      &kCpuConvLinesNhwc,
      &kCpuConvStripsRow,
      &kCpuConvTransposeGemmNhwc,
      &kCpuConvWinograd23Any,
      &kCpuConvWinograd43Any,
      &kCpuConvWinograd43Nhwc,
      &kCpuCumulate,
      &kCpuDistanceRows,
      &kCpuElementwiseChain,
      &kCpuElementwiseTyped,
      &kCpuF16WeightsGemm,
      &kCpuFft,
      &kCpuGather,
      &kCpuGatherElements,
      &kCpuGatherTuples,
      &kCpuGenerate,
      &kCpuGridSampleTaps,
      &kCpuHardmaxRows,
      &kCpuMatMulGemm,
      &kCpuMatMulGemmNwc,
      &kCpuMove,
      &kCpuNormChannel,
      &kCpuNormLayer,
      &kCpuNormLayerBytes,
      &kCpuNormLp,
      &kCpuNormLrn,
      &kCpuOneHot,
      &kCpuPoolIndices,
      &kCpuPoolRoi,
      &kCpuPoolUnpool,
      &kCpuPoolWindow,
      &kCpuQuantisedChannels,
      &kCpuQuantisedConvWinograd23,
      &kCpuQuantisedDepthwiseDot,
      &kCpuQuantisedDepthwiseNchwc,
      &kCpuQuantisedDepthwiseNhwc,
      &kCpuQuantisedDynamic,
      &kCpuQuantisedGemm,
      &kCpuQuantisedGemmAmx,
      &kCpuQuantisedGemmNchwc,
      &kCpuQuantisedGemmTerms,
      &kCpuQuantisedImage,
      &kCpuQuantisedInteger,
      &kCpuQuantisedMatMul,
      &kCpuQuantisedPair,
      &kCpuRecurrentGemm,
      &kCpuReduceArg,
      &kCpuReduceRows,
      &kCpuReduceTyped,
      &kCpuReference,
      &kCpuResizeSeparable,
      &kCpuScatterElements,
      &kCpuScatterTuples,
      &kCpuSelectSlices,
      &kCpuShuffleInterleave,
      &kCpuSoftmaxBytes,
      &kCpuSoftmaxRows,
      &kCpuTableLookupMap,
      &kCpuTopK,
      &kCpuWeightOnlyGemm,
      // keep-sorted end
      // clang-format on
  };
  return kTable;
}

}  // namespace fettle::kernels
