// opencl.grid_sample.bilinear: GridSample of images, bilinear or nearest, with zeros or the border
// around them.
#include "kernels/family.h"
#include "kernels/opencl/grid_sample/point_map.h"
#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

Result<PointMap> Read(const ir::Graph& group, const Device&) { return ReadPointMap(group); }

Result<std::vector<StateAssignment>> States(const ir::Graph&, const PointMap&,
                                            const Device& device) {
  const State grid = RowStates()[0];
  std::vector<StateAssignment> states;
  for (const State& pixels : PixelStates(device)) states.push_back({{pixels, grid}, {pixels}});
  return states;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const PointMap& map,
                                                const Params&, const Device& device) {
  const ir::Graph& group = *problem.group;
  const Shape &x = problem.shape(group.inputs[0]), &y = problem.shape(group.outputs[0]);
  const State& state = problem.states.outputs[0];
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClKernel> kernel,
                   AsOpenCl(device).BuildKernel(
                       MakeProgram("grid_sample/bilinear.cl", AccessOptions(state)), "bilinear"));
  auto made = std::make_unique<RecordedKernel>();
  made->recorded.emplace_back(std::move(kernel), PixelSizes(y))
      .Input(0, PixelBytes(state.storage))
      .Value(PixelDims(x))
      .Input(1, sizeof(float))
      .Output(0, PixelBytes(state.storage))
      .Value(PixelDims(y))
      .Value(cl_float4{{static_cast<float>(map.scale_x), static_cast<float>(map.shift_x),
                        static_cast<float>(map.scale_y), static_cast<float>(map.shift_y)}})
      .Int(map.nearest ? 1 : 0)
      .Int(map.border ? 1 : 0);
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<PointMap> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClGridSampleBilinear;
const KernelDesc kOpenClGridSampleBilinear = {.name = "opencl.grid_sample.bilinear",
                                              .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
