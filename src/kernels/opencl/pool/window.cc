// opencl.pool.window: pooling by one work-item for each pixel, with an epilogue.
#include "kernels/family.h"
#include "kernels/opencl/pixels.h"
#include "kernels/opencl/pool/pixel_pool.h"

namespace fettle::kernels {
namespace {

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const PixelPool&,
                                            const Device& device) {
  return PixelCandidates(group, group.nodes()[0].output(0), device);
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const PixelPool& plan,
                                                const Params&, const Device& device) {
  const ir::Graph& group = *problem.group;
  const ir::Node& node = problem.node();
  ASSIGN_OR_RETURN(std::unique_ptr<RecordedKernel> made,
                   RecordPixels(problem, node.input(0), node.output(0),
                                {.path = "pool/window.cl",
                                 .function = "window",
                                 .options = AccessOptions(problem.states.outputs[0]),
                                 .sizes = PixelSizes(problem.shape(group.outputs[0]))},
                                device));
  const ops::Window& w = plan.window;
  const Shape &x = problem.shape(node.input(0)), &y = problem.shape(node.output(0));
  const int64_t depth = x.rank() == 5 ? x[2] : 1, out_depth = y.rank() == 5 ? y[2] : 1;
  const auto [rows, width] = PlaneOf(x);
  made->recorded[0]
      .Value(static_cast<cl_int>(plan.kind))
      .Value(Int4(depth, w.kernel[0], w.strides[0], w.dilations[0]))
      .Value(Int4(out_depth, w.pad_begin[0], depth + w.pad_end[0], 0))
      .Value(Int4(w.kernel[1], w.kernel[2], w.strides[1], w.strides[2]))
      .Value(Int4(w.dilations[1], w.dilations[2], w.pad_begin[1], w.pad_begin[2]))
      .Value(Int2(rows / depth + w.pad_end[1], width + w.pad_end[2]));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<PixelPool> kFamily{
    .read = ReadPixelPool, .states = States, .prepare = Prepare, .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClPoolWindow;
const KernelDesc kOpenClPoolWindow = {.name = "opencl.pool.window", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
