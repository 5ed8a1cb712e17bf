#include "report/report.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>

#include "analysis/scene_steps.h"
#include "basics/files.h"
#include "report/layout.h"

namespace fettle::enhance {
namespace {

int64_t PeakBytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

Json StreamsJson(const Plan& plan) {
  Json streams = Json::array();
  for (const StreamFate& fate : plan.streams)
    streams.push_back({{"index", fate.index},
                       {"type", fate.type},
                       {"codec", fate.codec},
                       {"carried", fate.carried || fate.made_anew},
                       {"reason", fate.made_anew ? "" : fate.reason}});
  return streams;
}

std::string StreamsText(const Plan& plan) {
  const auto carried = std::ranges::count_if(
      plan.streams, [](const StreamFate& fate) { return fate.carried || fate.made_anew; });
  return fmt::format("{} of {} streams carried", carried, plan.streams.size());
}

double FramesPerSecond(const JobResult& result) {
  // A job that only tells of phones makes no frames.
  const int64_t frames = result.frames_out > 0 ? result.frames_out : result.frames_in;
  const auto done = static_cast<double>(frames - result.resumed);
  return result.seconds > 0 ? done / result.seconds : 0;
}

/// "" where earlier runs did all frames.
std::string SpeedText(const JobResult& result) {
  const double speed = FramesPerSecond(result);
  return speed > 0 ? fmt::format(" · {:.1f} frames/s", speed) : "";
}

/// One line for each sample: what was measured there.
std::string SampleText(const Measures& sample) {
  return fmt::format(
      "level {:.1f}{}, blocks {:.2f}, noise {:.1f}, light {:.0f}, black {:.0f}, range {:.0f}, "
      "screen {:.0f} %{}{}{}",
      sample.level, sample.level_told ? "" : " (guessed)", sample.blockiness, sample.noise,
      sample.light, sample.black, sample.contrast, 100 * sample.screen,
      sample.cuts > 0 ? fmt::format(", {} cuts", sample.cuts) : "",
      sample.repeated > 0 ? fmt::format(", {} repeated", sample.repeated) : "",
      sample.interlaced > 0 ? fmt::format(", {} interlaced", sample.interlaced) : "");
}

Json SampleJson(const Measures& sample) {
  return {
      {"seconds", sample.seconds},       {"frames", sample.frames},         {"level", sample.level},
      {"level_told", sample.level_told}, {"blockiness", sample.blockiness}, {"noise", sample.noise},
      {"light", sample.light},           {"contrast", sample.contrast},     {"black", sample.black},
      {"white", sample.white},           {"screen", sample.screen},         {"cuts", sample.cuts},
      {"repeated", sample.repeated},     {"interlaced", sample.interlaced}};
}

Json SurveyJson(const Survey& survey) {
  Json samples = Json::array();
  for (const Measures& sample : survey.samples) samples.push_back(SampleJson(sample));
  return {{"codec", survey.codec},
          {"bits_per_pixel", survey.bits_per_pixel},
          {"all", SampleJson(survey.all)},
          {"samples", std::move(samples)}};
}

Json SceneStepsJson(const std::vector<SceneStep>& steps) {
  Json list = Json::array();
  for (const SceneStep& one : steps)
    list.push_back({{"step", one.step}, {"acts", one.acts}, {"reason", one.reason}});
  return list;
}

/// In seconds; a null duration goes to the end.
Json CutJson(const Cut& cut) {
  const auto seconds = [](int64_t time) { return static_cast<double>(time) / AV_TIME_BASE; };
  return {{"start", seconds(cut.start)},
          {"duration", cut.duration > 0 ? Json(seconds(cut.duration)) : Json()}};
}

}  // namespace

std::string PlanText(const Plan& plan, bool explain) {
  Cells rows;
  rows.push_back({"from", Broken(plan.input.string(), 60, 0)});
  rows.push_back({"to", plan.output.string()});
  rows.push_back({"size", fmt::format("{}x{} -> {}x{}", plan.first.width, plan.first.height,
                                      plan.encoder.width, plan.encoder.height)});
  if (explain && plan.survey)
    for (const Measures& sample : plan.survey->samples)
      for (const std::string& text :
           {SampleText(sample), "→ " + TextOf(StepsOf(plan.chain, plan.first, sample))})
        rows.push_back(
            {text.starts_with("→") ? "" : fmt::format("at {:.1f} s", sample.seconds), text});
  for (const Choice& choice : plan.choices)
    rows.push_back({choice.what, explain ? fmt::format("{} ({})", choice.choice, choice.reason)
                                         : choice.choice});
  if (!plan.picture && !plan.alerts_only) rows.push_back({"streams", StreamsText(plan)});
  for (const std::string& loss : plan.losses) rows.push_back({"not kept", loss});
  return TableOf(rows);
}

Json PlanJson(const Plan& plan) {
  Json steps = Json::array(), choices = Json::array();
  for (const ChainLink& link : plan.chain)
    steps.push_back({{"step", link.row->name}, {"strength", link.strength}});
  for (const Choice& choice : plan.choices)
    choices.push_back(
        {{"what", choice.what}, {"choice", choice.choice}, {"reason", choice.reason}});
  Json document = {{"input", plan.input.string()},   {"source", FingerprintOf(plan.input)},
                   {"output", plan.output.string()}, {"kind", plan.picture ? "picture" : "video"},
                   {"width", plan.encoder.width},    {"height", plan.encoder.height},
                   {"steps", std::move(steps)},      {"network", plan.first.network},
                   {"level", plan.first.level},      {"own_levels", plan.first.own_levels},
                   {"noise", plan.first.noise},      {"own_noise", plan.first.own_noise},
                   {"choices", std::move(choices)},  {"streams", StreamsJson(plan)},
                   {"losses", plan.losses}};
  if (plan.cut.any()) document["cut"] = CutJson(plan.cut);
  if (plan.processor_share) document["processor_share"] = *plan.processor_share;
  if (plan.survey) document["survey"] = SurveyJson(*plan.survey);
  return document;
}

std::string ResultText(const Plan& plan, const JobResult& result) {
  Cells rows = {{"step", "ms a frame", "gain"}};
  for (const StepTime& time : result.times)
    rows.push_back({time.step, fmt::format("{:.2f}", time.ms), time.gain});
  std::string text = TableOf(rows);
  std::string line = fmt::format("{}: {}x{}", plan.output.string(), result.width, result.height);
  if (plan.alerts_only) {
    line += fmt::format(" · {} frames in{}", result.frames_in, SpeedText(result));
  } else if (!plan.picture) {
    line += fmt::format(" · {} frames in, {} out", result.frames_in, result.frames_out);
    if (result.resumed > 0) line += fmt::format(", {} of them by earlier runs", result.resumed);
    line += fmt::format(" · {}{}", StreamsText(plan), SpeedText(result));
  }
  line += fmt::format(" · {:.1f} s", result.seconds);
  text += "\n";
  text += TableOf({{line}});
  if (plan.alerts)
    text += fmt::format("{} {} in {}\n", result.alerts, result.alerts == 1 ? "alert" : "alerts",
                        plan.alert_file.string());
  return text;
}

Json ResultJson(const Plan& plan, const JobResult& result) {
  Json document = PlanJson(plan);
  Json times = Json::array();
  for (const StepTime& time : result.times) {
    times.push_back({{"step", time.step}, {"ms", time.ms}});
    if (!time.gain.empty()) times.back()["gain"] = time.gain;
  }
  Json scenes = Json::array();
  for (const SceneRecord& scene : result.scenes)
    scenes.push_back({{"first", scene.first},
                      {"frames", scene.frames},
                      {"seconds", scene.seconds},
                      {"steps", SceneStepsJson(StepsOf(plan.chain, plan.first, scene.seen))}});
  document["frames_in"] = result.frames_in;
  document["frames_out"] = result.frames_out;
  document["resumed_frames"] = result.resumed;
  document["damaged"] = result.damaged;
  document["times"] = std::move(times);
  document["scenes"] = std::move(scenes);
  document["seconds"] = result.seconds;
  document["frames_per_second"] = FramesPerSecond(result);
  document["peak_rss_bytes"] = PeakBytes();
  if (plan.alerts)
    document["alerts"] = {{"file", plan.alert_file.string()}, {"count", result.alerts}};
  document["warnings"] = result.warnings;
  return document;
}

}  // namespace fettle::enhance
