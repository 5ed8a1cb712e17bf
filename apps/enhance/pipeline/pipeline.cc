#include "pipeline/pipeline.h"

#include <algorithm>
#include <thread>

#include "pipeline/stages.h"

namespace fettle::enhance {
namespace {

constexpr size_t kPacketBytes = 4 << 20;
constexpr size_t kFrameBytes = 8 << 20;

/// The stages, each in a thread of its own, until all have ended.
void RunStages(StageState& state, std::stop_token stop) {
  const std::stop_callback forward(stop, [&] { state.error.stop().request_stop(); });
  std::vector<std::jthread> threads;
  const auto start = [&](void (*stage)(StageState&), int workers = 1) {
    for (int i = 0; i < workers; ++i)
      threads.emplace_back([&state, stage] {
        try {
          stage(state);
        } catch (...) {
          state.error.Set();
        }
      });
  };
  start(Demux);
  start(Decode);
  if (state.HasPeople()) start(Track);
  if (state.between) {
    start(Prepare, state.plan.threads);
    start(Pair);
  }
  start(Enhance, state.plan.threads);
  start(Encode);
}  // threads are joined

}  // namespace

StageState::StageState(const Plan& plan, int64_t skip, const std::string& network, FrameSink& sink,
                       Counters& counters, SceneLog& scenes)
    : plan(plan),
      skip(skip),
      schedule(network),
      sink(sink),
      counters(counters),
      scenes(scenes),
      input(plan.input, plan.cut),
      before(LinksBefore(plan.chain)),
      after(LinksAfter(plan.chain)),
      between(MakesBetween(plan.chain)),
      people(std::ranges::find_if(plan.chain,
                                  [](const ChainLink& link) { return NeedsPeople(*link.row); }) -
             plan.chain.begin()),
      packets(kPacketBytes),
      tracked(kFrameBytes),
      decoded(kFrameBytes),
      frames(kFrameBytes),
      prepared(kFrameBytes, 0, plan.threads),
      results(kFrameBytes, skip, plan.threads) {}

void StageState::Forward(Numbered item) {
  if (!between && item.number < skip && !scenes.Wants(*item.frame)) return;
  const size_t bytes = FrameBytes(*item.frame);
  ToSteps().Push(std::move(item), bytes, stop());
}

bool RunPipeline(const Plan& plan, int64_t skip, const std::string& network, FrameSink& sink,
                 Counters& counters, SceneLog& scenes, std::stop_token stop) {
  StageState state(plan, skip, network, sink, counters, scenes);
  RunStages(state, stop);
  state.error.RethrowIfAny();
  return !stop.stop_requested();
}

}  // namespace fettle::enhance
