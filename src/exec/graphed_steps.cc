// Programs: steps whose launches a driver replays.
#include <algorithm>

#include "base/clock.h"
#include "exec/program.h"

namespace fettle::exec {
namespace {

/// Building a graph takes longer than a run, and some run once.
constexpr StepChains::Policy kFromTheSecondRun{.from_run = 2, .level = LogLevel::kInfo};

}  // namespace

void Program::FindGraph() {
  // OpenCL and CUDA have a context each, and the device takes 0.2 ms from one to the other: all of
  // a run is replayed, or nothing. Chains are OpenCL's.
  if (!plan_.chains.empty()) return;
  const auto works = [](const Step& step) { return !step.nothing_to_do; };
  const auto first = std::ranges::find_if(steps_, works);
  if (std::ranges::count_if(steps_, works) < 2 || first->device == 0) return;
  const auto stays = [&](const Step& step) {
    return !works(step) || (step.device == first->device && !step.crosses_devices);
  };
  if (!std::ranges::all_of(steps_, stays)) return;
  Graph graph{.steps = {.begin = static_cast<int>(first - steps_.begin()),
                        .end = static_cast<int>(steps_.size())}};
  while (!works(steps_[graph.steps.end - 1])) --graph.steps.end;
  for (int i = graph.steps.begin; i < graph.steps.end; ++i) {
    for (const auto* tensors : {&plan_.steps[i].inputs, &plan_.steps[i].outputs})
      for (const int tensor : *tensors)
        if (memory_.tensors[tensor].kind != Placement::Kind::kBytes)
          graph.tensors.push_back(tensor);
  }
  StepProfile profile = DescribeChain(graph.steps, steps_);
  profile.op = "Graph";
  profile.kernel = profile.device + ".graph";
  graph.profile = std::make_shared<const StepProfile>(std::move(profile));
  graph_ = std::move(graph);
}

Result<size_t> Program::RunGraph(size_t index, const RunArgs& args) const {
  if (!graph_ || static_cast<int>(index) != graph_->steps.begin || args.waits_for_steps)
    return index;
  Stream& stream = StreamOf(steps_[index], args);
  if (!stream.replays()) return index;
  const int64_t begin = NowNs();
  std::vector<Location> operands{args.memory.bytes(steps_[index].device, 0)};
  for (const int tensor : graph_->tensors) operands.push_back(Locate(tensor, args));
  const StepChain& steps = graph_->steps;
  LaunchChain* launch = args.chains->Find(
      {id_, 0}, graph_->profile->node, std::move(operands),
      [&] { return stream.MakeGraph([&] { return LaunchSteps(steps.begin, steps.end, args); }); },
      kFromTheSecondRun);
  if (launch == nullptr) return index;
  RETURN_IF_ERROR(launch->Enqueue().WithContext(graph_->profile->node));
  args.times->push_back({graph_->profile, NowNs() - begin, nullptr});
  return steps.end;
}

}  // namespace fettle::exec
