// opencl.pool.bytes: MaxPool of bytes, in pixels of four channels.
#include <algorithm>

#include "kernels/family.h"
#include "kernels/opencl/pool/pixel_pool.h"
#include "kernels/opencl/quantised/byte_product.h"
#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"
#include "kernels/opencl/work_sizes.h"
#include "ops/pool/op.h"

namespace fettle::kernels {
namespace {

Result<ops::Window> Read(const ir::Graph& group, const Device&) {
  const ir::Node& node = group.nodes()[0];
  if (group.nodes().size() != 1 || node.op != "MaxPool"_op)
    return Unsupported("computes MaxPool only");
  const ir::Value& x = group.value(node.inputs[0]);
  if (x.dtype != DType::kU8 && x.dtype != DType::kI8) return Unsupported("expected bytes");
  if (x.shape->rank() != 4 || x.is_constant()) return Unsupported("expected a tensor of rank 4");
  if (node.outputs.size() > 1) return Unsupported("indices are left to the reference");
  ASSIGN_OR_RETURN(ops::Window window, ops::ReadPool(node, *x.shape));
  const bool gaps = std::ranges::any_of(window.dilations, [](int64_t step) { return step != 1; });
  if (gaps) return Unsupported("a window with gaps");
  RETURN_IF_ERROR(RefuseWindowsOfPadding(window, *x.shape, *group.value(node.outputs[0]).shape));
  return window;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const ops::Window&,
                                            const Device&) {
  const State state = BytePixels(group.value(group.inputs[0]).dtype);
  return std::vector<StateAssignment>{{{state}, {state}}};
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const ops::Window& window,
                                                const Params&, const Device& device) {
  const ir::Graph& group = *problem.group;
  const Shape &x = problem.shape(group.inputs[0]), &y = problem.shape(group.outputs[0]);
  BuildOptions options;
  if (group.value(group.inputs[0]).dtype == DType::kI8) options.Add("-DTYPE=char -DVECTOR=char4");
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClKernel> kernel,
                   AsOpenCl(device).BuildKernel(MakeProgram("pool/bytes.cl", options), "bytes"));
  auto made = std::make_unique<RecordedKernel>();
  made->recorded.emplace_back(std::move(kernel), PixelSizes(y))
      .Input(0, 4)
      .Output(0, 4)
      .Value(PixelDims(x))
      .Value(PixelDims(y))
      .Value(Int4(window.kernel[0], window.kernel[1], window.strides[0], window.strides[1]))
      .Value(Int2(window.pad_begin[0], window.pad_begin[1]));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<ops::Window> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClPoolBytes;
const KernelDesc kOpenClPoolBytes = {.name = "opencl.pool.bytes", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
