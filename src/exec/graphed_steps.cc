// Programs: steps whose launches a driver replays.
#include <algorithm>
#include <cstdlib>

#include "base/clock.h"
#include "exec/program.h"

namespace fettle::exec {
namespace {

/// Those of one key space with chains, behind them.
constexpr size_t kFirstGraph = 1 << 20;
/// Building a graph takes longer than a run, and some run once: from the second run on the same
/// operands. FETTLE_LAUNCH_GRAPHS=first, for comparing values: from the first.
StepChains::Policy PolicyOfGraphs() {
  static const bool is_first = [] {
    const char* wanted = std::getenv("FETTLE_LAUNCH_GRAPHS");
    return wanted != nullptr && std::string_view(wanted) == "first";
  }();
  return {.from_run = is_first ? 1 : 2, .level = LogLevel::kInfo};
}

}  // namespace

void Program::FindGraphs() {
  const auto count = static_cast<int>(steps_.size());
  // OpenCL and CUDA have a context each, and the device takes 0.2 ms from one to the other.
  const auto stays = [](const Step& step) {
    return step.nothing_to_do || (step.device != 0 && !step.crosses_devices);
  };
  if (!std::ranges::all_of(steps_, stays)) return;
  const auto is_chained = [&](int i) {
    return std::ranges::any_of(
        plan_.chains, [&](const StepChain& chain) { return chain.begin <= i && i < chain.end; });
  };
  for (int begin = 0; begin < count;) {
    if (steps_[begin].nothing_to_do || is_chained(begin)) {
      ++begin;
      continue;
    }
    Graph graph{.steps = {.begin = begin, .end = begin}};
    int launches = 0;
    for (int i = begin; i < count && !is_chained(i); ++i) {
      if (steps_[i].nothing_to_do) continue;
      if (steps_[i].device != steps_[begin].device) break;
      ++launches;
      graph.steps.end = i + 1;
    }
    begin = graph.steps.end;
    if (launches < 2) continue;
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
    graphs_.push_back(std::move(graph));
  }
}

Result<size_t> Program::RunGraph(size_t index, const RunArgs& args) const {
  if (args.waits_for_steps) return index;
  const auto known = std::ranges::find(graphs_, static_cast<int>(index),
                                       [](const Graph& graph) { return graph.steps.begin; });
  if (known == graphs_.end()) return index;
  const Graph& graph = *known;
  Stream& stream = StreamOf(steps_[index], args);
  if (!stream.replays()) return index;
  const int64_t begin = NowNs();
  std::vector<Location> operands{args.memory.bytes(steps_[index].device, 0)};
  for (const int tensor : graph.tensors) operands.push_back(Locate(tensor, args));
  LaunchChain* launch = args.chains->Find(
      {id_, kFirstGraph + (known - graphs_.begin())}, graph.profile->node, std::move(operands),
      [&] {
        return stream.MakeGraph(
            [&] { return LaunchSteps(graph.steps.begin, graph.steps.end, args); });
      },
      PolicyOfGraphs());
  if (launch == nullptr) return index;
  RETURN_IF_ERROR(launch->Enqueue().WithContext(graph.profile->node));
  args.times->push_back({graph.profile, NowNs() - begin, nullptr});
  return graph.steps.end;
}

}  // namespace fettle::exec
