#include "kernels/opencl/operators.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "kernels/expr/expr.h"

namespace fettle::kernels {
namespace {

/// Those that are not lowered to expressions.
constexpr std::string_view kOthers[] = {
    // keep-sorted start
    "ArgMax",
    "ArgMin",
    "AveragePool",
    "BinaryConv",
    "BinaryMatMul",
    "BinaryMaxPool",
    "BitwiseAnd",
    "BitwiseNot",
    "BitwiseOr",
    "BitwiseXor",
    "BlockMatMul",
    "CDist",
    "CenterCropPad",
    "ChannelShuffle",
    "Col2Im",
    "Concat",
    "Conv",
    "ConvInteger",
    "ConvTranspose",
    "CumProd",
    "CumSum",
    "DFT",
    "DepthToSpace",
    "DynamicQuantizeLinear",
    "Expand",
    "ExpertMatMul",
    "Flatten",
    "GRU",
    "Gather",
    "GatherElements",
    "GatherND",
    "Gemm",
    "GlobalAveragePool",
    "GlobalMaxPool",
    "GridSample",
    "GroupNormalization",
    "GroupQueryAttention",
    "InstanceNormalization",
    "LRN",
    "LSTM",
    "LayerNormalization",
    "LogSoftmax",
    "MatMul",
    "MatMulInteger",
    "MaxPool",
    "PackBits",
    "Pad",
    "RMSNormalization",
    "RNN",
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
    "Reshape",
    "Resize",
    "RoiAlign",
    "RotaryEmbedding",
    "STFT",
    "ScatterElements",
    "ScatterND",
    "Slice",
    "Softmax",
    "SpaceToDepth",
    "Split",
    "Squeeze",
    "TableLookup",
    "Tile",
    "TopK",
    "Transpose",
    "Trilu",
    "Unsqueeze",
    // keep-sorted end
};

}  // namespace

std::span<const std::string_view> OpenClOperators() {
  static const std::vector<std::string_view> kAll = [] {
    const std::vector<std::string_view> elementwise = expr::LoweredOperators();
    std::vector<std::string_view> all;
    std::merge(std::begin(kOthers), std::end(kOthers), elementwise.begin(), elementwise.end(),
               std::back_inserter(all));
    return all;
  }();
  return kAll;
}

}  // namespace fettle::kernels
