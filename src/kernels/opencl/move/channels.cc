// opencl.move.channels: operators that move whole channels between pixels in buffers, out of the
// pixels that they are in together. Each output is one launch that looks up where its channels come
// from.
#include <algorithm>
#include <bit>

#include "kernels/family.h"
#include "kernels/opencl/move/torn_channels.h"
#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/tables.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

using Outputs = std::vector<std::vector<ChannelSource>>;

Result<Outputs> Read(const ir::Graph& group, const Device&) { return ReadTornChannels(group); }

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Outputs&,
                                            const Device& device) {
  std::vector<StateAssignment> states;
  for (const State& form : PixelStates(device)) {
    if (form.memory == MemoryKind::kBuffer) states.push_back(StatesBeside(group, form));
  }
  return states;
}

/// The channels in whole pixels, by the position of their inputs.
std::vector<cl_int> TableOf(const std::vector<ChannelSource>& channels,
                            const std::vector<int>& inputs) {
  std::vector<cl_int> table;
  for (const ChannelSource& from : channels) {
    const auto at = std::find(inputs.begin(), inputs.end(), from.input);
    table.push_back(from.input < 0 ? -1 : static_cast<cl_int>(at - inputs.begin()));
    table.push_back(from.channel);
  }
  while (table.size() % 8 != 0) table.insert(table.end(), {-1, 0});
  return table;
}

Status Record(const Problem& problem, size_t output, const std::vector<ChannelSource>& channels,
              const Device& device, RecordedKernel& made) {
  const ir::Graph& group = *problem.group;
  const std::vector<int> inputs = InputsOf(channels);
  const State& state = problem.states.outputs[output];
  // Few programs serve all: what is more than the inputs is the first again, and not read.
  const size_t sources = std::bit_ceil(inputs.size());
  std::string parts = "#define PARTS(f)";
  for (size_t i = 0; i < sources; ++i) parts += fmt::format(" f({})", i);
  ASSIGN_OR_RETURN(
      std::shared_ptr<OpenClKernel> kernel,
      AsOpenCl(device).BuildKernel(
          MakeProgram("move/channels.cl", AccessOptions(state), parts + "\n"), "channels"));
  const Shape& shape = problem.shape(group.outputs[output]);
  RecordedLaunch& launch = made.recorded.emplace_back(std::move(kernel), PixelSizes(shape));
  const int64_t pixel = PixelBytes(state.storage);
  launch.Output(output, pixel).Value(PixelDims(shape)).Packed(made.own_packs.size(), 0);
  made.own_packs.push_back(TablePack("move.channels", TableOf(channels, inputs)));
  for (size_t i = 0; i < sources; ++i) {
    const int input = inputs[i < inputs.size() ? i : 0];
    launch.Input(static_cast<size_t>(input), pixel)
        .Int(DivideUp(problem.shape(group.inputs[input])[1], 4));
  }
  return OkStatus();
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Outputs& outputs,
                                                const Params&, const Device& device) {
  auto made = std::make_unique<RecordedKernel>();
  for (size_t i = 0; i < outputs.size(); ++i)
    RETURN_IF_ERROR(Record(problem, i, outputs[i], device, *made));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<Outputs> kFamily{.read = Read,
                                  .states = States,
                                  .prepare = Prepare,
                                  .taste = Always<10>,
                                  .takes_no_first_output = true};

}  // namespace

extern const KernelDesc kOpenClMoveChannels;
const KernelDesc kOpenClMoveChannels = {.name = "opencl.move.channels", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
