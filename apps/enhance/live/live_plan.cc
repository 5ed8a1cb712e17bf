#include "live/live_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include "live/sink.h"
#include "steps/networks.h"

namespace fettle::enhance {
namespace {

constexpr double kUsualBound = 200;  // milliseconds

std::vector<ChainLink> ChainFor(const JobOptions& job, int width, int height) {
  constexpr int kMostWidth = 3840, kMostHeight = 2160;
  if (!job.steps.empty()) return ReadChain(job.steps);
  if (2 * width <= kMostWidth && 2 * height <= kMostHeight) return ReadChain("superres");
  throw Failure(kExitUsage, fmt::format("--steps: name the steps: a stream is not surveyed, and "
                                        "superres, the default, would exceed 3840x2160 from {}x{}",
                                        width, height));
}

AVPixelFormat StepFormat(const AVCodecParameters& codec, int scale) {
  const AVPixelFormat format =
      WithoutAlpha(WorkingFormat(static_cast<AVPixelFormat>(codec.format), false));
  const AVPixFmtDescriptor& desc = *av_pix_fmt_desc_get(format);
  const bool odd = codec.width * scale % (1 << desc.log2_chroma_w) != 0 ||
                   codec.height * scale % (1 << desc.log2_chroma_h) != 0;
  return odd ? WithWholeChroma(format) : format;
}

Colour ColourOfResult(const AVCodecParameters& codec, bool from_rgb) {
  Colour colour{codec.color_range, codec.color_space, codec.color_primaries, codec.color_trc,
                codec.chroma_location};
  if (!from_rgb) return colour;
  colour.range = AVCOL_RANGE_MPEG;
  colour.matrix = codec.height >= 720 ? AVCOL_SPC_BT709 : AVCOL_SPC_SMPTE170M;
  return colour;
}

void CheckResultSize(const LivePlan& plan) {
  constexpr int64_t kMostPixels = int64_t{1} << 28;
  if (int64_t{plan.result.width} * plan.result.height > kMostPixels)
    throw Failure(kExitUnsupported, fmt::format("{}x{} are more than 2^28 pixels",
                                                plan.result.width, plan.result.height));
}

}  // namespace

void CheckLiveSteps(const std::vector<ChainLink>& chain) {
  for (const ChainLink& link : chain) {
    std::string why;
    if (link.row->make == nullptr) why = "needs the next frame";
    if (NeedsPeople(*link.row)) why = "needs later frames to hide everybody";
    if (link.row->make == MakeAlert) why = "writes its file when all frames were seen";
    if (!why.empty())
      throw Failure(kExitUnsupported,
                    fmt::format("--steps: {} is not for live streams: it {}; record the stream "
                                "(ffmpeg -i INPUT -c copy FILE.mkv) and enhance the file",
                                link.row->name, why));
  }
}

void CheckLiveOptions(const JobOptions& job) {
  const std::pair<bool, const char*> refused[] = {{job.cut.any(), "--start and --duration"},
                                                  {!job.plan_file.empty(), "--plan"},
                                                  {!job.report.empty(), "--report"},
                                                  {job.preview, "--preview"},
                                                  {job.plan_only, "--plan-only"},
                                                  {job.restart, "--restart"},
                                                  {job.strict, "--strict"},
                                                  {job.recursive, "--recursive"},
                                                  {job.skip_existing, "--skip-existing"},
                                                  {!job.alert_file.empty(), "--alert-file"},
                                                  {job.alert_score.has_value(), "--alert-score"},
                                                  {!job.alert_votes.empty(), "--alert-votes"}};
  for (const auto& [given, name] : refused)
    if (given)
      throw Failure(kExitUsage,
                    fmt::format("{}: is for files, and a stream is enhanced as it arrives; leave "
                                "the option out, or record the stream first",
                                name));
  if (job.output.empty())
    throw Failure(kExitUsage,
                  "-o: a stream has no default output; name one: a file, an address, or "
                  "- for standard output");
  const std::string output = job.output.string();
  if (IsCamera(output))
    throw Failure(kExitUsage, fmt::format("{}: a camera is read, not written", output));
  if (!IsStream(output) && !job.overwrite && std::filesystem::exists(job.output))
    throw Failure(kExitUsage, fmt::format("{}: already exists (--overwrite replaces it)", output));
}

LivePlan PlanLive(const JobOptions& job, const LiveOptions& live, const LiveSource& source) {
  const AVCodecParameters& codec = *source.video().codecpar;
  LivePlan plan;
  plan.chain = ChainFor(job, codec.width, codec.height);
  CheckLiveSteps(plan.chain);
  const int scale = ScaleOf(plan.chain);
  const auto from = static_cast<AVPixelFormat>(codec.format);
  const bool from_rgb = av_pix_fmt_desc_get(from)->flags & AV_PIX_FMT_FLAG_RGB;
  plan.first.format = StepFormat(codec, scale);
  plan.first.width = codec.width;
  plan.first.height = codec.height;
  plan.first.dither = job.dither;
  plan.first.full_range = !from_rgb && codec.color_range == AVCOL_RANGE_JPEG;
  plan.first.own_levels = FindLink(plan.chain, MakeDeblock) != nullptr;
  constexpr double kUsualLevel = 32;  // where the codec tells none
  plan.first.level = kUsualLevel;
  plan.first.own_noise = FindLink(plan.chain, MakeDenoise) != nullptr;
  plan.result = {FormatOf(plan.chain, plan.first.format),
                 job.width > 0 ? job.width : codec.width * scale,
                 job.height > 0 ? job.height : codec.height * scale};
  CheckResultSize(plan);
  plan.threads = job.threads > 0
                     ? job.threads
                     : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  plan.container = &WriterOf(job.output.string(), live.output_format, *source.format().iformat);
  EncoderSetup setup{
      .width = plan.result.width, .height = plan.result.height, .format = plan.result.format};
  setup.time_base = source.video().time_base;
  setup.frame_rate = source.rate();
  setup.aspect = source.video().sample_aspect_ratio;
  setup.colour = ColourOfResult(codec, from_rgb);
  setup.threads = plan.threads;
  plan.encoder = LiveEncoder(job.encoder, job.crf, job.preset, *plan.container, setup);
  plan.result.format = plan.encoder.format;
  plan.shown_bound = live.latency > 0 ? live.latency : kUsualBound;
  plan.bound = job.budget == "best" ? 0 : plan.shown_bound;
  return plan;
}

std::vector<Rung> PlanRungs(const JobOptions& job, const LivePlan& plan) {
  constexpr double kShareOfSteps = 0.6;  // of the time, beside decoding and encoding
  const std::vector<std::string> choices = NetworkChoices();
  const double rate = job.fps > 0 ? job.fps : av_q2d(plan.encoder.frame_rate);
  const double allowed = kShareOfSteps * 1e3 / rate * plan.threads;
  std::string network = job.network;
  if (network.empty() && job.budget == "best") network = choices.back();
  const auto measured = [&](const std::string& by) {
    std::vector<Rung> rungs = RungsOf(plan.chain, by);
    // Nothing is timed where nothing is to be removed.
    StepSetup busy = plan.first;
    busy.own_levels = busy.own_noise = false;
    busy.level = 40;
    busy.noise = 2;
    RungChains timed(rungs, busy, plan.result);
    MeasureRungs(rungs, busy, timed);
    return rungs;
  };
  if (!network.empty()) return measured(network);
  std::vector<Rung> rungs = measured(choices.front());
  for (size_t i = 1; i < choices.size(); ++i) {
    if (rungs.front().ms > allowed / 2) break;  // the next one takes at least as much again
    std::vector<Rung> wider = measured(choices[i]);
    if (wider.front().ms > std::min(allowed, plan.shown_bound / 2)) break;
    rungs = std::move(wider);
  }
  return rungs;
}

}  // namespace fettle::enhance
