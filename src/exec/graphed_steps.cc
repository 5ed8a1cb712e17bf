// Programs: steps whose launches a driver replays.
#include <algorithm>

#include "base/clock.h"
#include "exec/program.h"

namespace fettle::exec {
namespace {

/// Building a graph takes longer than a run, and some run once.
constexpr StepChains::Policy kFromTheSecondRun{.from_run = 2, .level = LogLevel::kInfo};

}  // namespace

Program::Graph Program::GraphOf(int begin, int end) const {
  Graph graph{.steps = {.begin = begin, .end = end}, .tensors = {}, .profile = nullptr};
  for (int i = begin; i < end; ++i) {
    for (const auto* tensors : {&plan_->steps[i].inputs, &plan_->steps[i].outputs})
      for (const int tensor : *tensors)
        if (memory_.tensors[tensor].kind != Placement::Kind::kBytes)
          graph.tensors.push_back(tensor);
  }
  StepProfile profile = DescribeChain(graph.steps, steps_);
  profile.op = "Graph";
  profile.kernel = profile.device + ".graph";
  graph.profile = std::make_shared<const StepProfile>(std::move(profile));
  return graph;
}

/// The longest rows of steps that stay on a device. Chains are OpenCL's, and its queue and that of
/// graphs take turns slowly: a plan has chains or graphs.
void Program::FindGraphs() {
  if (!plan_->chains.empty()) return;
  const auto works = [&](int i) { return !steps_[i].nothing_to_do; };
  const auto stays = [&](int i) { return steps_[i].device > 0 && !steps_[i].crosses_devices; };
  const auto count = static_cast<int>(steps_.size());
  for (int begin = 0; begin < count; ++begin) {
    if (!works(begin) || !stays(begin)) continue;
    int end = begin + 1, launches = 1;  // behind the last that works
    for (int i = end; i < count; ++i) {
      if (!works(i)) continue;
      if (!stays(i) || steps_[i].device != steps_[begin].device) break;
      end = i + 1;
      ++launches;
    }
    if (launches > 1) graphs_.push_back(GraphOf(begin, end));
    begin = end - 1;
  }
}

Result<size_t> Program::RunGraph(size_t index, const RunArgs& args) const {
  const auto known = std::ranges::find(graphs_, static_cast<int>(index),
                                       [](const Graph& graph) { return graph.steps.begin; });
  // Where one cannot be recorded, OpenCL has all of the run.
  if (known == graphs_.end() || args.waits_for_steps || args.chains->HasFailed(id_)) return index;
  Stream& stream = StreamOf(steps_[index], args);
  if (!stream.replays()) return index;
  const int64_t begin = NowNs();
  std::vector<Location> operands{args.memory.bytes(steps_[index].device, 0)};
  for (const int tensor : known->tensors) operands.push_back(Locate(tensor, args));
  const StepChain& steps = known->steps;
  LaunchChain* launch = args.chains->Find(
      {id_, index}, known->profile->node, std::move(operands),
      [&] { return stream.MakeGraph([&] { return LaunchSteps(steps.begin, steps.end, args); }); },
      kFromTheSecondRun);
  if (launch == nullptr) return index;
  RETURN_IF_ERROR(launch->Enqueue().WithContext(known->profile->node));
  args.times->push_back({known->profile, NowNs() - begin, nullptr});
  return steps.end;
}

}  // namespace fettle::exec
