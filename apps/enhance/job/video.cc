#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <thread>

#include "basics/files.h"
#include "job/alerts.h"
#include "job/folder_record.h"
#include "job/job.h"
#include "job/verify.h"
#include "pipeline/pipeline.h"

namespace fettle::enhance {
namespace {

/// Calls `show` five times a second while it lives.
class Ticker {
 public:
  Ticker(const ShowProgress& show, const Counters& counters, const SceneLog& scenes,
         int64_t resumed)
      : thread_([&show, &counters, &scenes, resumed](std::stop_token stop) {
          while (!stop.stop_requested()) {
            show(counters.encoded + resumed, resumed, scenes);
            std::this_thread::sleep_for(std::chrono::milliseconds(200));
          }
        }) {}

 private:
  std::jthread thread_;
};

double MsPerFrame(int64_t nanoseconds, int64_t frames) {
  return frames == 0 ? 0 : static_cast<double>(nanoseconds) * 1e-6 / static_cast<double>(frames);
}

void AddTimes(const Plan& plan, const Counters& counters, JobResult& result) {
  result.times.push_back({"decode", MsPerFrame(counters.decode_ns, counters.decoded), ""});
  for (size_t i = 0; i < plan.chain.size(); ++i)
    result.times.push_back({std::string(plan.chain[i].row->name),
                            MsPerFrame(counters.step_ns[i], counters.encoded),
                            plan.GainOf(*plan.chain[i].row)});
  if (plan.alerts_only) return;
  result.times.push_back({"encode", MsPerFrame(counters.encode_ns, counters.encoded), ""});
}

/// What was found, beside the first step that is told of it.
void AddPeople(const Plan& plan, const Counters& counters, JobResult& result) {
  for (size_t i = 0; i < plan.chain.size(); ++i) {
    if (!NeedsPeople(*plan.chain[i].row)) continue;
    StepTime& time = result.times[i + 1];  // behind the decoder
    time.gain = fmt::format("people in {} frames, held over {}", counters.with_people.load(),
                            counters.held.load());
    return;
  }
}

[[noreturn]] void FailStopped(int64_t frames) {
  throw Failure(
      kExitFailed, FETTLE_CANCELLED,
      fmt::format("stopped; {} frames are kept, and the same command continues after them",
                  frames));
}

/// Fills the folder's segments; what was done before is decoded only.
void MakeSegments(const Plan& plan, JobFolder& folder, Counters& counters, SceneLog& scenes,
                  std::stop_token stop) {
  std::optional<Trail> trail = TrailOf(plan, folder);
  SegmentWriter writer(plan.encoder, folder, trail ? &*trail : nullptr);
  // A job that goes on goes on by the network that it had come to.
  const bool begun = !folder.segments().empty() && !folder.segments().back().next.empty();
  const std::string network = begun ? folder.segments().back().next : plan.first.network;
  if (!RunPipeline(plan, folder.frames(), network, writer, counters, scenes, stop))
    FailStopped(folder.frames());
}

/// All rows again, so that what is written does not depend on how often the job was begun.
void WriteAlerts(const Plan& plan, const JobFolder& folder, JobResult& result) {
  std::optional<Trail> trail = TrailOf(plan, folder);
  if (!trail) return;
  if (trail->frames() != result.frames_in)
    throw Failure(kExitFailed, FETTLE_INTERNAL,
                  fmt::format("{} frames were analysed instead of {}; the job's folder is kept",
                              trail->frames(), result.frames_in));
  const std::string text = AlertsText(plan, *trail, av_q2d(plan.encoder.time_base));
  WriteWhole(plan.alert_file, text);
  result.alerts = trail->alerts();
}

/// Times of steps with what came of them, and what the user is to know of the frames.
void AddCounts(const Plan& plan, const Counters& counters, JobResult& result) {
  if (counters.retimed > 0)
    result.warnings.push_back(
        fmt::format("{} frames had no time, or one out of order", counters.retimed.load()));
  AddTimes(plan, counters, result);
  for (StepTime& time : result.times)
    if (time.step == "interpolate" && time.gain.empty())
      time.gain = fmt::format("{} moved, {} cuts, {} repeated", counters.moved.load(),
                              counters.cuts.load(), counters.repeated.load());
  AddPeople(plan, counters, result);
  for (const NetworkChange& change : counters.changes)
    result.warnings.push_back(
        fmt::format("from frame {} on by {}: {}", change.frame, change.network, change.reason));
}

/// Those of the plan with what the whole output shows. Throws Failure where one is new and none is
/// wanted.
std::vector<std::string> LossesAfter(const Plan& plan, const Verified& verified) {
  std::vector<std::string> losses;
  const auto is_measured = [&](const std::string& loss) {
    return std::ranges::find(plan.moved_streams, loss) != plan.moved_streams.end();
  };
  std::ranges::remove_copy_if(plan.losses, std::back_inserter(losses), is_measured);
  losses.insert(losses.end(), verified.of_streams.begin(), verified.of_streams.end());
  if (!verified.of_frames.empty()) losses.push_back(verified.of_frames);
  if (plan.strict && !losses.empty())
    throw Failure(kExitUnsupported,
                  fmt::format("{}: {} (--strict); the same command without it ends with what is "
                              "done",
                              plan.output.string(), losses.back()));
  return losses;
}

/// The output in its place, of all segments; the folder goes.
void Finish(const Plan& plan, JobFolder& folder, std::stop_token stop, JobResult& result) {
  const auto file = folder.path("output" + plan.output.extension().string());
  const Assembled assembled = Assemble(plan, folder, file, stop);
  result.frames_out = assembled.frames;
  if (stop.stop_requested()) FailStopped(folder.frames());
  const int64_t wanted = MakesBetween(plan.chain) ? 2 * result.frames_in - 1 : result.frames_in;
  if (result.frames_out != wanted)
    throw Failure(kExitFailed, FETTLE_INTERNAL,
                  fmt::format("{} frames became {}; the job's folder is kept", result.frames_in,
                              result.frames_out));
  result.losses = LossesAfter(plan, VerifyOutput(plan, file, assembled));
  WriteAlerts(plan, folder, result);
  if (plan.record) plan.record->Note(plan.input, plan.output, file, result.damaged);
  MoveInPlace(file, plan.output);
  folder.Remove();
}

/// Frames end where their finds are noted.
class AlertSink : public FrameSink {
 public:
  explicit AlertSink(Trail& trail) : trail_(trail) {}
  int64_t Add(FramePtr frame, bool, const std::string&) override {
    trail_.Take(*frame);
    return 0;
  }
  void Finish() override {}

 private:
  Trail& trail_;
};

}  // namespace

JobResult RunAlerts(const Plan& plan, const ShowProgress& show, std::stop_token stop) {
  const auto start = std::chrono::steady_clock::now();
  JobResult result{.width = plan.first.width, .height = plan.first.height};
  Counters counters(plan.chain.size());
  SceneLog scenes({});
  std::optional<Trail> trail = TrailOf(plan);
  AlertSink sink(*trail);
  bool done = false;
  {
    const Ticker ticker(show, counters, scenes, 0);
    done = RunPipeline(plan, 0, plan.first.network, sink, counters, scenes, stop);
  }
  if (!done)
    throw Failure(kExitFailed, FETTLE_CANCELLED,
                  "stopped; no video is written, so nothing is kept");
  AddTimes(plan, counters, result);
  result.frames_in = counters.decoded;
  result.damaged = counters.damaged;
  WriteWhole(plan.alert_file, AlertsText(plan, *trail, av_q2d(plan.encoder.time_base)));
  result.alerts = trail->alerts();
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

JobResult RunVideo(const Plan& plan, bool restart, const ShowProgress& show, std::stop_token stop) {
  const auto start = std::chrono::steady_clock::now();
  JobFolder folder(plan, restart);
  JobResult result{
      .resumed = folder.frames(), .width = plan.encoder.width, .height = plan.encoder.height};
  Counters counters(plan.chain.size());
  SceneLog scenes({.previews = plan.previews, .pictures = plan.pictures});
  if (folder.complete()) {
    result.frames_in = MakesBetween(plan.chain) ? (folder.frames() + 1) / 2 : folder.frames();
  } else {
    {
      const Ticker ticker(show, counters, scenes, result.resumed);
      MakeSegments(plan, folder, counters, scenes, stop);
    }
    result.frames_in = counters.decoded;
    result.damaged = counters.damaged;
  }
  AddCounts(plan, counters, result);
  result.scenes = scenes.records();
  if (folder.frames() == 0)
    throw Failure(kExitInvalidInput, plan.input.string() + ": its video has no frames");
  Finish(plan, folder, stop, result);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace fettle::enhance
