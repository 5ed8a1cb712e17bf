// Products of bytes with constant weights (bytes.clh): what their kernels have in common.
#pragma once

#include <vector>

#include "kernels/match/quantised_group.h"
#include "kernels/opencl/conv/tile.h"
#include "kernels/opencl/recorded.h"

namespace fettle::kernels {

/// What becomes of sums, as RESULT in bytes.clh.
enum class ByteResult : uint8_t { kFloats, kBytes, kSums };

/// A group of DequantizeLinear, product and what follows, or an integer product and what follows.
struct ByteProduct {
  QuantisedGroup q;
  ByteResult result = ByteResult::kFloats;
  /// Of a matrix product: that of pixels of one line, a row each, and weights [ic, oc] or [oc, ic].
  PixelConv conv;
  bool is_matrix = false, weights_are_transposed = false;

  bool IsDepthwise() const { return !is_matrix && conv.IsDepthwise() && conv.oc == conv.ic; }
};

/// kUnsupported with the reason: no such group, or sums that int does not hold.
Result<ByteProduct> ReadByteProduct(const ir::Graph& group);

/// Bytes, or sums of them, in NCHW4c.
State BytePixels(DType storage);
/// The states of convolutions: x in NCHW4c, bytes and sums too, floats in pixels. Of matrix
/// products: all row-major.
Result<std::vector<StateAssignment>> ByteStates(const ir::Graph& group, const ByteProduct& product,
                                                const Device& device);

/// Whether weights less their zero points are bytes, as dot products take them.
bool TakesDot(const ir::Graph& group, const ByteProduct& product);
/// Whether weights lie as dot products take them.
struct ByteDot {
  int64_t dot = 0;
};
inline constexpr Fields kByteFields("quantised/bytes.clh",
                                    Field{"dot", &ByteDot::dot, {0, 1}, "DOT"});
/// "dot", where the product takes it, and the tile. By default it is taken where the device has the
/// instruction.
ParamSpace ByteSpace(const Problem& problem, const ByteProduct& product, const Device& device);

/// The order of weights that `dot` (tunable) names.
FilterForm ByteForm(const ByteProduct& product, const QuadPlan& plan, bool dot);
/// Sums, scales and addends of `form.bias` channels each, then weights: short, or char for `dot`.
PackRequest RequestByteFilter(const ByteProduct& product, const FilterForm& form, bool dot);

/// IN_TYPE, RESULT and what else bytes.clh asks for but its parameters.
void DefineBytes(const Problem& problem, const ByteProduct& product, BuildOptions& options);

/// What a product is built and launched with.
struct ByteProgram {
  std::string path, function;
  BuildOptions options;
  WorkSizes sizes;
  FilterForm form;
  bool dot = false;
  int64_t workspace = 0;  // bytes
};
/// A kernel with one launch of BYTE_PARAMS; arguments of its own follow by `append`.
Result<std::unique_ptr<PreparedKernel>> RecordByteProduct(
    const Problem& problem, const ByteProduct& product, const ByteProgram& program,
    const OpenClDevice& device, const std::function<void(RecordedLaunch&)>& append);

}  // namespace fettle::kernels
