#include "kernels/opencl/pixels.h"

namespace fettle::kernels {

Result<std::vector<StateAssignment>> PixelCandidates(const ir::Graph& group, ir::ValueId running,
                                                     const Device& device) {
  std::vector<StateAssignment> all;
  for (const State& state : PixelStates(device)) {
    StateAssignment states = StatesBeside(group, state);
    if (states.outputs.size() != 1 || !IsPixels(states.outputs[0])) continue;
    // What refuses a group is the same in each form.
    if (all.empty()) RETURN_IF_ERROR(Expression::Compile(group, states, running).status());
    all.push_back(std::move(states));
  }
  if (all.empty()) return Unsupported("expected one float output in pixels");
  return all;
}

Result<std::unique_ptr<RecordedKernel>> RecordPixels(const Problem& problem, ir::ValueId x,
                                                     ir::ValueId running,
                                                     const PixelProgram& program,
                                                     const Device& device) {
  const ir::Graph& group = *problem.group;
  auto made = std::make_unique<RecordedKernel>();
  if (running != ir::kAbsent) {
    ASSIGN_OR_RETURN(made->expression, Expression::Compile(group, problem.states, running));
  }
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClKernel> kernel,
                   AsOpenCl(device).BuildKernel(
                       MakeProgram(program.path, program.options, made->expression.text()),
                       std::string(program.function)));
  const size_t input = InputIndex(group, x);
  const State& from = problem.states.inputs[input];
  const Shape& shape = problem.shape(x);
  RecordedLaunch& launch = made->recorded.emplace_back(std::move(kernel), program.sizes);
  if (IsPixels(from)) {
    launch.Input(input, PixelBytes(from.storage)).Value(PixelDims(shape));
  } else {
    launch.Input(input, StorageBytes(from.storage, 1));
    const auto [height, width] = PlaneOf(shape);
    launch.Value(Int4(shape[1], height, width, shape[0]));
  }
  launch.Output(0, PixelBytes(problem.states.outputs[0].storage));
  launch.Value(PixelDims(problem.shape(group.outputs[0])));
  return made;
}

}  // namespace fettle::kernels
