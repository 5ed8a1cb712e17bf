#include "kernels/opencl/operators.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "kernels/expr/expr.h"

namespace fettle::kernels {
namespace {

/// Those that are not element-wise.
constexpr std::string_view kOthers[] = {
    // keep-sorted start
    "AveragePool",
    "BinaryConv",
    "BinaryMatMul",
    "BinaryMaxPool",
    "CDist",
    "CenterCropPad",
    "ChannelShuffle",
    "Concat",
    "Conv",
    "ConvInteger",
    "ConvTranspose",
    "DepthToSpace",
    "DynamicQuantizeLinear",
    "Expand",
    "Flatten",
    "GRU",
    "Gather",
    "Gemm",
    "GlobalAveragePool",
    "GlobalMaxPool",
    "GridSample",
    "GroupNormalization",
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
    "Slice",
    "Softmax",
    "SpaceToDepth",
    "Split",
    "Squeeze",
    "TableLookup",
    "Tile",
    "Transpose",
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
