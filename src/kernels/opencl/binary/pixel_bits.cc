#include "kernels/opencl/binary/pixel_bits.h"

#include <algorithm>

namespace fettle::kernels {
namespace {

Result<PixelConv> GeometryOf(const ops::BinaryProduct& product) {
  PixelConv conv;
  conv.ic = product.groups * product.channels;
  conv.oc = product.outputs;
  conv.groups = product.groups;
  if (!product.is_conv) {
    conv.in[2] = conv.out[2] = product.images;
    return conv;
  }
  conv.batch = product.images;
  const auto rank = static_cast<size_t>(product.spatial_rank());
  if (rank > 2) return Unsupported("{} spatial axes", rank);
  for (size_t i = 0; i < rank; ++i) {
    const size_t to = 3 - rank + i;
    conv.in[to] = product.in[static_cast<int>(i)];
    conv.out[to] = product.out[static_cast<int>(i)];
    conv.kernel[to] = product.kernel[i];
    conv.stride[to] = product.strides[i];
    conv.dilation[to] = product.dilations[i];
    conv.pad[to] = product.pad_begin[i];
  }
  return conv;
}

}  // namespace

Result<PixelBits> ReadPixelBits(const ir::Graph& group, const Device& device) {
  ASSIGN_OR_RETURN(BitProduct read, ReadBitProduct(group));
  PixelBits facts{std::move(read), {}, {}};
  ASSIGN_OR_RETURN(facts.conv, GeometryOf(facts.product));
  RETURN_IF_ERROR(CheckCounts(*group.value(facts.x).shape, *group.value(facts.w).shape,
                              *group.value(facts.tail.anchor).shape));
  if (!facts.TakesQuads(facts.leaves_bits() ? 2 : 1))
    return Unsupported("{} outputs of a group do not fill blocks", facts.group_outputs());
  facts.result = BitResultOf(facts, facts.numbers(group));
  if (facts.result == BitResult::kDoubles && !AsOpenCl(device).facts().HasExtension("cl_khr_fp64"))
    return Unsupported("sums that need double, which the device lacks");
  return facts;
}

Result<std::vector<StateAssignment>> PixelBitStates(const ir::Graph& group, const PixelBits& facts,
                                                    const Device& device) {
  std::vector<StateAssignment> all;
  for (const State& form : facts.product.is_conv ? PixelStates(device) : RowStates()) {
    StateAssignment states = StatesBeside(group, form);
    if (all.empty() && !facts.to_bits)
      RETURN_IF_ERROR(CompileBitTail(group, facts.tail, states, form).status());
    if (std::find(all.begin(), all.end(), states) == all.end()) all.push_back(std::move(states));
  }
  return all;
}

void DefineBitResults(const PixelBits& facts, const BitCounts& counts, BuildOptions& options) {
  options.Define("RESULT", static_cast<int64_t>(facts.result));
  options.Define("ROWS", facts.product.is_conv ? 0 : 1);
  options.Define("FLOATS", !facts.to_bits && facts.tail.stores_floats() ? 1 : 0);
  options.Define("BITS", facts.leaves_bits() ? 1 : 0);
  options.Define("AND", counts.ands ? 1 : 0);
  options.Define("X_ONES", counts.x_ones ? 1 : 0).Define("W_ONES", counts.w_ones ? 1 : 0);
}

void AppendBitOperands(const Problem& problem, const PixelBits& facts, const State& like,
                       int64_t lanes, RecordedLaunch& launch) {
  launch.Input(InputIndex(*problem.group, facts.x), 8);
  if (!facts.to_bits && facts.tail.stores_floats())
    launch.Output(facts.tail.float_output,
                  StorageBytes(like.storage, facts.product.is_conv ? 4 : 1));
  if (facts.leaves_bits()) launch.Output(facts.to_bits ? 0 : facts.tail.bit_output, lanes / 8);
}

}  // namespace fettle::kernels
