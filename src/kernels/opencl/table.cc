// The kernels of OpenCL devices. A line here is all that a kernel needs to be found.
#include <vector>

#include "kernels/opencl/opencl_backend.h"

namespace fettle::kernels {

extern const KernelDesc kOpenClAttentionCached;
extern const KernelDesc kOpenClAttentionRotary;
extern const KernelDesc kOpenClAttentionRows;
extern const KernelDesc kOpenClBinaryMaxPool;
extern const KernelDesc kOpenClBinaryMma;
extern const KernelDesc kOpenClBinaryPack;
extern const KernelDesc kOpenClBinaryProduct;
extern const KernelDesc kOpenClBlockProductRows;
extern const KernelDesc kOpenClBlockProductSiblings;
extern const KernelDesc kOpenClBlockProductTiles;
extern const KernelDesc kOpenClCol2Im;
extern const KernelDesc kOpenClConvDepthwise;
extern const KernelDesc kOpenClConvDepthwiseF16;
extern const KernelDesc kOpenClConvDirect;
extern const KernelDesc kOpenClConvDirectF16;
extern const KernelDesc kOpenClConvFirstLayer;
extern const KernelDesc kOpenClConvGiven;
extern const KernelDesc kOpenClConvLocal;
extern const KernelDesc kOpenClConvMma;
extern const KernelDesc kOpenClConvMmaBlocks;
extern const KernelDesc kOpenClConvMmaBlocksF32;
extern const KernelDesc kOpenClConvMmaF32;
extern const KernelDesc kOpenClConvMmaTf32;
extern const KernelDesc kOpenClConvMmaWindow;
extern const KernelDesc kOpenClConvMmaWindowF32;
extern const KernelDesc kOpenClConvPointwise;
extern const KernelDesc kOpenClConvPointwiseF16;
extern const KernelDesc kOpenClConvSeparable;
extern const KernelDesc kOpenClConvTransposeGather;
extern const KernelDesc kOpenClConvTransposeShuffle;
extern const KernelDesc kOpenClConvVolume;
extern const KernelDesc kOpenClConvWinograd;
extern const KernelDesc kOpenClConvWinogradMma;
extern const KernelDesc kOpenClConvWinogradMmaF32;
extern const KernelDesc kOpenClDistancePairs;
extern const KernelDesc kOpenClElementwiseChain;
extern const KernelDesc kOpenClElementwiseChainF16;
extern const KernelDesc kOpenClElementwiseTyped;
extern const KernelDesc kOpenClElementwiseViews;
extern const KernelDesc kOpenClFft;
extern const KernelDesc kOpenClGatherElements;
extern const KernelDesc kOpenClGatherSlices;
extern const KernelDesc kOpenClGatherTuples;
extern const KernelDesc kOpenClGridSampleBilinear;
extern const KernelDesc kOpenClHalfWeightsRows;
extern const KernelDesc kOpenClMatMulBatched;
extern const KernelDesc kOpenClMatMulBufferImage;
extern const KernelDesc kOpenClMatMulColumns;
extern const KernelDesc kOpenClMatMulImages;
extern const KernelDesc kOpenClMatMulLocal;
extern const KernelDesc kOpenClMatMulLocalF16;
extern const KernelDesc kOpenClMatMulMma;
extern const KernelDesc kOpenClMatMulMmaBFloat;
extern const KernelDesc kOpenClMatMulMmaF32;
extern const KernelDesc kOpenClMatMulMmaNormed;
extern const KernelDesc kOpenClMatMulMmaTf32;
extern const KernelDesc kOpenClMatMulNaive;
extern const KernelDesc kOpenClMatMulRegisters;
extern const KernelDesc kOpenClMatMulRegistersF16;
extern const KernelDesc kOpenClMatMulShared;
extern const KernelDesc kOpenClMatMulSplitK;
extern const KernelDesc kOpenClMatMulSubGroups;
extern const KernelDesc kOpenClMatMulVector;
extern const KernelDesc kOpenClMoveConcat;
extern const KernelDesc kOpenClMoveCopy;
extern const KernelDesc kOpenClMoveGather;
extern const KernelDesc kOpenClMoveUnits;
extern const KernelDesc kOpenClNormChained;
extern const KernelDesc kOpenClNormInstance;
extern const KernelDesc kOpenClNormLrn;
extern const KernelDesc kOpenClNormRows;
extern const KernelDesc kOpenClPadLookup;
extern const KernelDesc kOpenClPoolBytes;
extern const KernelDesc kOpenClPoolPlane;
extern const KernelDesc kOpenClPoolWindow;
extern const KernelDesc kOpenClQuantisedConv;
extern const KernelDesc kOpenClQuantisedConvMma;
extern const KernelDesc kOpenClQuantisedDepthwise;
extern const KernelDesc kOpenClQuantisedDynamic;
extern const KernelDesc kOpenClQuantisedMatMul;
extern const KernelDesc kOpenClQuantisedMatMulMma;
extern const KernelDesc kOpenClRecurrentSteps;
extern const KernelDesc kOpenClReduceArg;
extern const KernelDesc kOpenClReduceRows;
extern const KernelDesc kOpenClReduceScan;
extern const KernelDesc kOpenClResizeTaps;
extern const KernelDesc kOpenClScatterElements;
extern const KernelDesc kOpenClScatterTuples;
extern const KernelDesc kOpenClSoftmaxRows;
extern const KernelDesc kOpenClTableLookupBytes;
extern const KernelDesc kOpenClTopK;
extern const KernelDesc kOpenClWeightOnlyMatMul;

std::span<const KernelDesc* const> OpenClKernels() {
  static const std::vector<const KernelDesc*> kKernels = {
      // clang-format off
      // keep-sorted start
      &kOpenClAttentionCached,
      &kOpenClAttentionRotary,
      &kOpenClAttentionRows,
      &kOpenClBinaryMaxPool,
      &kOpenClBinaryMma,
      &kOpenClBinaryPack,
      &kOpenClBinaryProduct,
      &kOpenClBlockProductRows,
      &kOpenClBlockProductSiblings,
      &kOpenClBlockProductTiles,
      &kOpenClCol2Im,
      &kOpenClConvDepthwise,
      &kOpenClConvDirect,
      &kOpenClConvFirstLayer,
      &kOpenClConvGiven,
      &kOpenClConvLocal,
      &kOpenClConvMma,
      &kOpenClConvMmaBlocks,
      &kOpenClConvMmaBlocksF32,
      &kOpenClConvMmaF32,
      &kOpenClConvMmaTf32,
      &kOpenClConvMmaWindow,
      &kOpenClConvMmaWindowF32,
      &kOpenClConvPointwise,
      &kOpenClConvSeparable,
      &kOpenClConvTransposeGather,
      &kOpenClConvTransposeShuffle,
      &kOpenClConvVolume,
      &kOpenClConvWinograd,
      &kOpenClConvWinogradMma,
      &kOpenClConvWinogradMmaF32,
      &kOpenClDistancePairs,
      &kOpenClElementwiseChain,
      &kOpenClElementwiseTyped,
      &kOpenClElementwiseViews,
      &kOpenClFft,
      &kOpenClGatherElements,
      &kOpenClGatherSlices,
      &kOpenClGatherTuples,
      &kOpenClGridSampleBilinear,
      &kOpenClHalfWeightsRows,
      &kOpenClMatMulBatched,
      &kOpenClMatMulBufferImage,
      &kOpenClMatMulColumns,
      &kOpenClMatMulImages,
      &kOpenClMatMulLocal,
      &kOpenClMatMulMma,
      &kOpenClMatMulMmaBFloat,
      &kOpenClMatMulMmaF32,
      &kOpenClMatMulMmaNormed,
      &kOpenClMatMulMmaTf32,
      &kOpenClMatMulNaive,
      &kOpenClMatMulRegisters,
      &kOpenClMatMulShared,
      &kOpenClMatMulSplitK,
      &kOpenClMatMulSubGroups,
      &kOpenClMatMulVector,
      &kOpenClMoveConcat,
      &kOpenClMoveCopy,
      &kOpenClMoveGather,
      &kOpenClMoveUnits,
      &kOpenClNormChained,
      &kOpenClNormInstance,
      &kOpenClNormLrn,
      &kOpenClNormRows,
      &kOpenClPadLookup,
      &kOpenClPoolBytes,
      &kOpenClPoolPlane,
      &kOpenClPoolWindow,
      &kOpenClQuantisedConv,
      &kOpenClQuantisedConvMma,
      &kOpenClQuantisedDepthwise,
      &kOpenClQuantisedDynamic,
      &kOpenClQuantisedMatMul,
      &kOpenClQuantisedMatMulMma,
      &kOpenClRecurrentSteps,
      &kOpenClReduceArg,
      &kOpenClReduceRows,
      &kOpenClReduceScan,
      &kOpenClResizeTaps,
      &kOpenClScatterElements,
      &kOpenClScatterTuples,
      &kOpenClSoftmaxRows,
      &kOpenClTableLookupBytes,
      &kOpenClTopK,
      &kOpenClWeightOnlyMatMul,
      // keep-sorted end
      // In f16 (Arithmetic::kF16).
      // keep-sorted start
      &kOpenClConvDepthwiseF16,
      &kOpenClConvDirectF16,
      &kOpenClConvPointwiseF16,
      &kOpenClElementwiseChainF16,
      &kOpenClMatMulLocalF16,
      &kOpenClMatMulRegistersF16,
      // keep-sorted end
      // clang-format on
  };
  return kKernels;
}

}  // namespace fettle::kernels
