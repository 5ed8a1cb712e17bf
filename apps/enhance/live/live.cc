#include "live/live.h"

#include <fmt/format.h>
#include <signal.h>

#include <functional>
#include <thread>

#include "av/suffix.h"
#include "live/stages.h"
#include "report/layout.h"

namespace fettle::enhance {
namespace {

/// The stages, each in a thread of its own, until all have ended.
void RunStages(LiveState& state, std::stop_token stop) {
  std::vector<std::jthread> threads;
  const auto start = [&](const std::function<void()>& stage) {
    threads.emplace_back([&state, stage] {
      try {
        stage();
      } catch (...) {
        state.error.Set();
      }
    });
  };
  start([&] { ReadStream(state, stop); });
  start([&] { DecodeStream(state); });
  for (int i = 0; i < state.plan.threads; ++i) start([&] { EnhanceStream(state); });
  start([&] { WriteStream(state); });
}  // threads are joined

void Fill(const LiveState& state, LiveResult& result) {
  const Latencies& latencies = state.latencies;
  result.p50 = latencies.Percentile(0.5);
  result.p99 = latencies.Percentile(0.99);
  result.most = latencies.most();
  result.frames_in = state.decoded;
  result.frames_out = state.written;
  result.late = state.late;
  result.damaged = state.damaged;
  for (size_t i = 0; i < state.rungs.size(); ++i)
    result.rungs.push_back({state.rungs[i].text, state.by_rung[i], state.rungs[i].ms});
  result.warnings = state.warnings;
  result.losses = state.sink.losses();
}

/// What came so far is closed, so that it can be played; then the failure goes on.
void CloseAfterFailure(LiveState& state, LiveSink& sink, const LiveResult& result) {
  try {
    state.error.RethrowIfAny();
  } catch (const Failure& failure) {
    try {
      sink.Finish();
    } catch (const Failure&) {  // the same again
    }
    throw Failure(failure.code(), failure.status(),
                  fmt::format("{}; {} frames were written to {}", failure.what(), state.written,
                              result.output));
  }
}

}  // namespace

bool IsLive(const JobOptions& job) {
  return IsStream(job.input.string()) || IsStream(job.output.string());
}

bool WritesStandardOutput(const JobOptions& job) { return IsStandard(job.output.string()); }

LiveResult RunLive(const JobOptions& job, const LiveOptions& live, std::stop_token stop) {
  signal(SIGPIPE, SIG_IGN);  // who reads no more is told of by the write
  CheckLiveOptions(job);
  const auto begin = LiveClock::now();
  LiveSource source(job.input.string(), live.input_format, stop);
  const LivePlan plan = PlanLive(job, live, source);
  LiveResult result{.input = Spoken(job.input.string(), true),
                    .output = Spoken(job.output.string(), false)};
  result.width = plan.result.width;
  result.height = plan.result.height;
  result.from_width = plan.first.width;
  result.from_height = plan.first.height;
  result.steps = TextOf(plan.chain);
  const bool coded = plan.encoder.name != "rawvideo" && plan.encoder.name != "wrapped_avframe";
  result.encoder =
      fmt::format("{} {}", coded ? plan.encoder.name : "pixels", NameOf(plan.encoder.format));
  result.container = SuffixOf(*plan.container);
  result.bound = plan.shown_bound;
  const std::vector<Rung> rungs = PlanRungs(job, plan);
  LiveSink sink(job.output.string(), *plan.container, plan.encoder, source.format(),
                source.video().index);
  LiveState state(source, plan, rungs, sink);
  for (const std::string& loss : sink.losses()) state.Warn(loss);
  RunStages(state, stop);
  CloseAfterFailure(state, sink, result);
  sink.Finish();
  result.broken = source.broken();
  if (state.retimed > 0)
    state.Warn(fmt::format("{} frames had no time, or one out of order", state.retimed.load()));
  Fill(state, result);
  result.seconds = std::chrono::duration<double>(LiveClock::now() - begin).count();
  if (result.frames_out == 0)
    throw Failure(kExitInvalidInput,
                  fmt::format("{}: its video has no frames{}", result.input,
                              result.broken.empty() ? "" : "; " + result.broken));
  return result;
}

std::string LiveText(const LiveResult& result) {
  Cells rows = {{"frames", "by"}};
  for (size_t i = 0; i < result.rungs.size(); ++i)
    if (i == 0 || result.rungs[i].frames > 0)
      rows.push_back({std::to_string(result.rungs[i].frames),
                      result.rungs[i].text + (i == 0 ? "" : ", as they would have been late")});
  std::string text = TableOf(rows);
  text += "\n";
  text += TableOf(
      {{fmt::format("{}: {}x{} of {}x{} · {} · {} frames in, {} out · {:.1f} frames/s · "
                    "{:.1f} s",
                    result.output, result.width, result.height, result.from_width,
                    result.from_height, result.encoder, result.frames_in, result.frames_out,
                    static_cast<double>(result.frames_out) / result.seconds, result.seconds)}});
  text += TableOf({{fmt::format(
      "latency: p50 {:.1f} ms, p99 {:.1f} ms, most {:.1f} ms; {} of {} "
      "later than {:g} ms",
      result.p50, result.p99, result.most, result.late, result.frames_out, result.bound)}});
  return text;
}

nlohmann::ordered_json LiveJson(const LiveResult& result) {
  nlohmann::ordered_json rungs = nlohmann::ordered_json::array();
  for (const LiveRung& rung : result.rungs)
    rungs.push_back({{"by", rung.text}, {"frames", rung.frames}, {"ms", rung.ms}});
  nlohmann::ordered_json document = {
      {"kind", "live"},
      {"input", result.input},
      {"output", result.output},
      {"container", result.container},
      {"encoder", result.encoder},
      {"width", result.width},
      {"height", result.height},
      {"losses", result.losses},
      {"frames_in", result.frames_in},
      {"frames_out", result.frames_out},
      {"damaged", result.damaged},
      {"rungs", std::move(rungs)},
      {"latency_ms",
       {{"bound", result.bound}, {"p50", result.p50}, {"p99", result.p99}, {"most", result.most}}},
      {"late_frames", result.late},
      {"seconds", result.seconds},
      {"frames_per_second", static_cast<double>(result.frames_out) / result.seconds},
      {"warnings", result.warnings}};
  if (!result.broken.empty()) document["broken"] = result.broken;
  return document;
}

}  // namespace fettle::enhance
