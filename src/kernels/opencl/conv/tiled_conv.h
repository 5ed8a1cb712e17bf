// Convolutions of which a work-item computes a tile of columns and channel quads (tile.clh), in f32
// and in f16: what two such kernels share.
#pragma once

#include "kernels/opencl/conv/tile.h"
#include "kernels/opencl/states.h"

namespace fettle::kernels {

/// What sets one apart from another.
struct TiledConv {
  std::string_view path, function;  // of the program, below kernels/opencl
  Result<PixelConv> (*read)(const ir::Graph& group, const Device& device);
  WorkSizes (*sizes)(const PixelConv& conv, const TileShape& tile);
  /// Arguments behind those of RecordConv; null: none.
  void (*append)(const PixelConv& conv, const QuadPlan& plan, RecordedLaunch& launch);
};

template <const TiledConv& kConv, Arithmetic arithmetic>
Result<std::unique_ptr<PreparedKernel>> PrepareTiled(const Problem& problem, const PixelConv& conv,
                                                     const Params& params, const Device& device) {
  const TileShape tile = kTileFields.Read(params);
  const WeightsPlace weights = kWeightsFields.Read(params);
  const QuadPlan plan = PlanQuads(conv, tile);
  BuildOptions options = TileOptions(tile, problem.states.outputs[0]);
  kWeightsFields.Define(weights, options);
  DefineArithmetic(arithmetic, device, options);
  PixelProgram program{.path = kConv.path,
                       .function = kConv.function,
                       .options = options,
                       .sizes = kConv.sizes(conv, tile)};
  ASSIGN_OR_RETURN(
      std::unique_ptr<RecordedKernel> made,
      weights.image != 0
          ? RecordInImage(problem, conv, plan, std::move(program), device)
          : RecordConv(problem, conv, QuadForm(conv, plan), std::move(program), device));
  if (kConv.append != nullptr) kConv.append(conv, plan, made->recorded[0]);
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

template <const TiledConv& kConv, Arithmetic arithmetic>
constexpr Family<PixelConv> TiledFamily(int (*taste)(const PixelConv& conv, const Device& device)) {
  return {.read = kConv.read,
          .states = arithmetic == Arithmetic::kF32 ? PixelConvStates : HalfConvStates,
          .prepare = PrepareTiled<kConv, arithmetic>,
          .params = TiledSpace,
          .taste = taste};
}

}  // namespace fettle::kernels
