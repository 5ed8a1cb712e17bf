// opencl.binary.max_pool: the maximum of bits is whether one of them is set.
#include "kernels/family.h"
#include "kernels/match/bits.h"
#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

Result<BitMaxPool> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(BitMaxPool read, ReadBitMaxPool(group));
  if (!HasPixelRank(read.x)) return Unsupported("{} axes", read.x.rank());
  return read;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const BitMaxPool&,
                                            const Device&) {
  return std::vector<StateAssignment>{StatesBeside(group, RowStates()[0])};
}

/// (words, height, width, batch)
cl_int4 WordDims(const Shape& shape) {
  const int rank = shape.rank();
  return Int4(shape[rank - 1], rank == 4 ? shape[1] : 1, shape[rank - 2], shape[0]);
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem&, const BitMaxPool& facts,
                                                const Params&, const Device& device) {
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClKernel> kernel,
                   AsOpenCl(device).BuildKernel(MakeProgram("binary/pool.cl", BuildOptions()),
                                                "binary_max_pool"));
  const cl_int4 in = WordDims(facts.x), out = WordDims(facts.y);
  const auto of = [&](const std::vector<int64_t>& numbers, int64_t missing) {
    return Int2(numbers.size() == 2 ? numbers[0] : missing, numbers.back());
  };
  const cl_int2 kernel_extent = of(facts.pool.kernel, 1), stride = of(facts.pool.strides, 1);
  const cl_int2 pad = of(facts.pool.pad_begin, 0), dilation = of(facts.pool.dilations, 1);
  auto made = std::make_unique<RecordedKernel>();
  made->recorded
      .emplace_back(std::move(kernel), PlaceSizes(int64_t{out.s[2]} * out.s[0], out.s[1], out.s[3]))
      .Input(0, 8)
      .Output(0, 8)
      .Value(in)
      .Value(out)
      .Value(Int4(kernel_extent.s[0], kernel_extent.s[1], stride.s[0], stride.s[1]))
      .Value(Int4(pad.s[0], pad.s[1], dilation.s[0], dilation.s[1]));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<BitMaxPool> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClBinaryMaxPool;
const KernelDesc kOpenClBinaryMaxPool = {
    .name = "opencl.binary.max_pool", .arithmetic = Arithmetic::kBits, .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
