#include "job/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <thread>

#include "av/alpha.h"
#include "av/carrying.h"
#include "av/choice.h"
#include "av/pixel_loss.h"
#include "av/pixels.h"
#include "av/suffix.h"
#include "job/alerts.h"
#include "job/beside.h"
#include "job/budget.h"
#include "job/chain.h"
#include "job/job_folder.h"
#include "job/times.h"
#include "job/trial.h"
#include "picture/file_format.h"

namespace fettle::enhance {
namespace {

/// The least rows for each of an encoder's threads: on pictures of fewer x264 gives other bytes
/// from run to run.
constexpr int kRowsOfEncoderThread = 240;

/// Of a part in which no frame is shown.
[[noreturn]] void FailWithoutFrames(const Input& input, const std::filesystem::path& path) {
  const double seconds = static_cast<double>(input.format().duration) / AV_TIME_BASE;
  throw Failure(
      kExitUsage,
      fmt::format("{}: no frame is shown {}{}", path.string(),
                  input.cut().duration > 0 ? "within --duration of --start" : "from --start on",
                  seconds > 0 ? fmt::format("; it ends at {:.6g} s", seconds) : ""));
}

/// Parts are found by times.
void CheckHasTimes(const AVPacket& packet, const Input& input, const std::filesystem::path& path) {
  if (input.cut().any() && packet.pts == AV_NOPTS_VALUE && packet.dts == AV_NOPTS_VALUE)
    throw Failure(kExitUnsupported, fmt::format("{}: its frames have no times, which --start and "
                                                "--duration need; convert it to .mkv or .mp4 first",
                                                path.string()));
}

FramePtr FirstFrame(const std::filesystem::path& path, Cut cut) {
  Input input(path, cut);
  Decoder decoder(input, 1);
  FramePtr first;
  const auto take = [&](FramePtr frame) {
    if (first == nullptr) first = std::move(frame);
  };
  while (first == nullptr) {
    const PacketPtr packet = input.Read();
    if (packet != nullptr && packet->stream_index != input.video_index()) continue;
    if (packet != nullptr) CheckHasTimes(*packet, input, path);
    decoder.Decode(packet.get(), take);
    if (packet == nullptr) break;
  }
  if (first == nullptr && cut.any() && decoder.damaged() == 0) FailWithoutFrames(input, path);
  if (first == nullptr)
    throw Failure(kExitInvalidInput,
                  path.string() + (decoder.damaged() > 0 ? ": none of its frames can be decoded"
                                                         : ": its video has no frames"));
  return first;
}

void CheckPaths(const JobOptions& options) {
  std::error_code ignored;
  if (std::filesystem::equivalent(options.input, options.output, ignored))
    throw Failure(kExitUsage, fmt::format("{}: is the input itself; name another output",
                                          options.output.string()));
  if (!options.overwrite && !options.plan_only && std::filesystem::exists(options.output) &&
      !JobFolder::WaitsComplete(options.output))
    throw Failure(
        kExitUsage,
        fmt::format("{}: already exists (--overwrite replaces it, --skip-existing leaves it)",
                    options.output.string()));
  const auto folder = std::filesystem::absolute(options.output).parent_path();
  // Those of a folder of inputs are made when work starts.
  const bool to_be_made = options.plan_only && options.record != nullptr;
  if (!to_be_made && !std::filesystem::is_directory(folder))
    throw Failure(kExitUsage, fmt::format("{}: no such folder", folder.string()));
}

Colour ResultColour(const AVFrame& frame, AVPixelFormat working) {
  Colour colour = ColourOf(frame);
  const bool rgb =
      av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format))->flags & AV_PIX_FMT_FLAG_RGB;
  if (rgb && IsPlanarYuv(working)) {
    colour.range = AVCOL_RANGE_MPEG;
    colour.matrix = frame.height >= 720 ? AVCOL_SPC_BT709 : AVCOL_SPC_SMPTE170M;
  }
  return colour;
}

/// --size, in which the picture keeps its shape: pixels get another one where the size has not.
void PlanSize(const JobOptions& options, const AVFrame& frame, Plan& plan) {
  EncoderSetup& setup = plan.encoder;
  const std::string from = fmt::format("{}x{}", setup.width, setup.height);
  setup.width = options.width;
  setup.height = options.height;
  AVRational& pixel = plan.pixel_shape;
  av_reduce(&pixel.num, &pixel.den, int64_t{frame.width} * setup.height,
            int64_t{frame.height} * setup.width, INT32_MAX);
  plan.choices.push_back(
      {"size", fmt::format("{}x{}", setup.width, setup.height),
       fmt::format("--size: by Lanczos from {}{}", from,
                   pixel.num == pixel.den ? ""
                                          : fmt::format("; shown in the input's shape, a pixel is "
                                                        "{}:{} of what it was",
                                                        pixel.num, pixel.den))});
}

/// What the chain's results are, whoever takes them.
void PlanResults(const JobOptions& options, const Input& input, const AVFrame& frame, Plan& plan) {
  EncoderSetup& setup = plan.encoder;
  setup.width = frame.width * ScaleOf(plan.chain);
  setup.height = frame.height * ScaleOf(plan.chain);
  if (options.width > 0) PlanSize(options, frame, plan);
  setup.format = FormatOf(plan.chain, plan.first.format);
  setup.time_base = input.video().time_base;
  AVFormatContext* format = &input.format();
  setup.frame_rate = av_guess_frame_rate(format, format->streams[input.video_index()], nullptr);
  if (MakesBetween(plan.chain)) {
    setup.time_base = av_mul_q(setup.time_base, {1, 2});
    setup.frame_rate = av_mul_q(setup.frame_rate, {2, 1});
  }
}

/// Containers that hold one time of a frame, by FFmpeg's muxer: it is shown as it is decoded.
constexpr auto kOneTime = std::to_array<std::string_view>({"avi", "asf", "mxf"});

/// AVI and MXF have no times but the number of a frame, from the first one on; AVI has empty
/// frames, too. `first`: the input's first frame.
void CountFrames(std::string_view container, const AVFrame& first, Plan& plan) {
  if (std::ranges::find(kOneTime, container) == kOneTime.end()) return;
  plan.encoder.options["bf"] = "0";
  if (container == "asf") return;
  plan.begin = MakesBetween(plan.chain) ? 2 * first.pts : first.pts;
  plan.one_tick_each = container == "mxf";
  plan.frame_clock = plan.one_tick_each ? av_inv_q(plan.encoder.frame_rate)
                                        : FrameClock(plan, TimesOfResult(plan));
}

void PlanEncoderOf(const std::string& name, const JobOptions& options, const Input& input,
                   const AVFrame& frame, Plan& plan) {
  const AVOutputFormat& container = ContainerOf(plan.output);
  const AVPixelFormat results = FormatOf(plan.chain, plan.first.format);
  const EncoderRow& row = ChooseEncoder(name, container, SuffixOf(plan.output), results);
  EncoderSetup& setup = plan.encoder;
  setup.name = row.name;
  setup.options = OptionsOf(row, options.crf, options.preset);
  setup.format = EncoderFormat(setup.name, results, CarriesAlpha(container, row.name));
  // The encoder makes pictures that are never shown, which alpha would have no counterpart of.
  if (row.codec == AV_CODEC_ID_VP9 && HasAlpha(setup.format)) setup.options["auto-alt-ref"] = "0";
  AVFormatContext* format = &input.format();
  setup.aspect = av_guess_sample_aspect_ratio(format, format->streams[input.video_index()],
                                              const_cast<AVFrame*>(&frame));
  if (plan.pixel_shape.num != plan.pixel_shape.den)
    setup.aspect =
        av_mul_q(setup.aspect.num > 0 ? setup.aspect : AVRational{1, 1}, plan.pixel_shape);
  setup.colour = ResultColour(frame, plan.first.format);
  setup.threads = std::clamp(setup.height / kRowsOfEncoderThread, 1, plan.threads);
  CountFrames(container.name, frame, plan);
  const Encoder takes_it(setup);  // or it fails here, before anything is written
  std::string text;
  for (const auto& [name, value] : setup.options) text += fmt::format(" {}={}", name, value);
  plan.choices.push_back(
      {"encoder", setup.name + text,
       options.encoder == "auto"
           ? fmt::format("the first of this FFmpeg that {} holds and that takes it{}",
                         SuffixOf(plan.output),
                         HasAlpha(setup.format) ? " and that keeps transparency" : "")
           : "--encoder"});
  plan.choices.push_back({"container", SuffixOf(plan.output), "by the output's name"});
}

/// Where nobody named an encoder, the next one takes what one refuses; the first one's words are
/// said where all do.
void PlanEncoder(const JobOptions& options, const Input& input, const AVFrame& frame, Plan& plan) {
  std::optional<Failure> refusal;
  for (const std::string& name :
       EncodersToTry(options.encoder, ContainerOf(plan.output), SuffixOf(plan.output),
                     FormatOf(plan.chain, plan.first.format))) {
    Plan attempt = plan;
    try {
      PlanEncoderOf(name, options, input, frame, attempt);
      plan = std::move(attempt);
      return;
    } catch (const Failure& failure) {
      if (failure.code() != kExitUnsupported) throw;
      if (!refusal) refusal = failure;
    }
  }
  throw Failure(*refusal);
}

/// What the result does not have of the input, before anything is done.
void NameLosses(const Input& input, const AVFrame& frame, Plan& plan) {
  const AVOutputFormat& container = ContainerOf(plan.output);
  plan.streams = FatesOf(input, plan.output);
  const SamplePackets sample = TryOutput(input, plan);
  const std::vector<std::string> of_trial = TrialLosses(input, sample, plan);
  plan.losses = LossesOf(input, container, SuffixOf(plan.output));
  for (const StreamFate& fate : plan.streams)
    if (!fate.carried && !fate.made_anew)
      plan.losses.push_back(fmt::format("stream {} ({} {}) is left out: {}", fate.index, fate.type,
                                        fate.codec, fate.reason));
  const std::string pixels = PixelLoss(plan.source_format, plan.encoder.format, plan.transparent);
  if (!pixels.empty()) plan.losses.push_back(pixels);
  for (const std::string& loss : FrameDataLosses(plan)) plan.losses.push_back(loss);
  plan.losses.insert(plan.losses.end(), of_trial.begin(), of_trial.end());
  plan.losses.insert(plan.losses.end(), plan.moved_streams.begin(), plan.moved_streams.end());
  if (AlphaIsUnread(input.video()))
    plan.losses.emplace_back("transparency is lost: this FFmpeg has no decoder for it");
  if (IsInterlaced(frame) && FindLink(plan.chain, MakeDeinterlace) == nullptr)
    plan.losses.emplace_back(
        "the video is interlaced and is enhanced as if it were not (--steps deinterlace,... makes "
        "whole frames first)");
}

void RefuseLosses(const JobOptions& options, const Plan& plan) {
  if (options.strict && !plan.losses.empty())
    throw Failure(kExitUnsupported,
                  fmt::format("{}: {} (--strict)", plan.output.string(), plan.losses.front()));
}

/// Of Exif: 1 is upright.
int OrientationOf(const AVFrame& picture) {
  const AVDictionaryEntry* entry = av_dict_get(picture.metadata, "Orientation", nullptr, 0);
  return entry == nullptr ? 1 : std::atoi(entry->value);
}

/// What a picture's file does not keep.
void NamePictureLosses(const AVFrame& frame, Plan& plan) {
  const AVCodec& codec = PictureCodecOf(plan.output);
  const AVPixelFormat format = PictureFormatOf(codec, plan.source_format);
  const std::string pixels = PixelLoss(plan.source_format, format, plan.transparent, false);
  if (!pixels.empty()) plan.losses.push_back(pixels);
  if (plan.orientation > 1 && codec.id != AV_CODEC_ID_MJPEG)
    plan.losses.emplace_back("the picture's Exif orientation is not carried");
  const int told = av_dict_count(frame.metadata);
  const bool turned = av_dict_get(frame.metadata, "Orientation", nullptr, 0) != nullptr;
  if (told > (turned ? 1 : 0))
    plan.losses.emplace_back("the picture's metadata (Exif, texts) is lost");
  if (av_frame_get_side_data(&frame, AV_FRAME_DATA_ICC_PROFILE) != nullptr &&
      !WritesColourProfile(codec))
    plan.losses.emplace_back("the colour profile is lost");
}

/// Quarters clockwise that a picture is to be shown turned by; mirrored ones as those that are not.
int TurnsOf(int orientation) {
  constexpr std::array kTurns = {0, 0, 0, 2, 2, 1, 1, 3, 3};
  return orientation > 0 && orientation < std::ssize(kTurns) ? kTurns[orientation] : 0;
}

/// Pictures of frames as they were would show whom the steps hide.
void CheckPictures(const JobOptions& options, const Plan& plan) {
  if (!options.report.empty()) CheckBeside(options, plan, options.report, "the report");
  if (!options.preview && options.report.empty()) return;
  for (const ChainLink& link : plan.chain)
    if (HidesPeople(*link.row))
      throw Failure(kExitUsage,
                    fmt::format("{}: it shows frames as they were, and {} hides people",
                                options.preview ? "--preview" : "--report", link.row->name));
}

/// What the input and the options tell without a decision.
Plan BeginPlan(const JobOptions& options, const Input& input) {
  Plan plan{.input = options.input,
            .output = options.output,
            .cut = options.cut,
            .picture = input.is_picture()};
  plan.record = options.record;
  plan.strict = options.strict;
  plan.threads = options.threads > 0
                     ? options.threads
                     : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  plan.expected_frames = input.ExpectedFrames();
  plan.seconds = std::max(0.0, static_cast<double>(input.Duration()) / AV_TIME_BASE);
  return plan;
}

}  // namespace

std::filesystem::path UsualOutput(const std::filesystem::path& input) {
  std::filesystem::path output = input;
  std::string extension = input.extension().string();
  const AVOutputFormat* format = av_guess_format(nullptr, input.c_str(), nullptr);
  const bool picture = format != nullptr && format->flags & AVFMT_NOFILE;
  if (!picture && (format == nullptr || format->flags & AVFMT_NOTIMESTAMPS || !TakesVideo(*format)))
    extension = ".mkv";
  return output.replace_filename(input.stem().string() + "_enhanced" + extension);
}

Plan MakePlan(const JobOptions& options) {
  if (!options.steps.empty()) ReadChain(options.steps);  // or it fails here, before all else
  CheckPaths(options);
  const Input input(options.input, options.cut);
  if (input.is_picture() && options.cut.any())
    throw Failure(kExitUsage,
                  fmt::format("{}: --start and --duration are for videos", options.input.string()));
  const FramePtr frame = FirstFrame(options.input, options.cut);
  Plan plan = BeginPlan(options, input);
  Reasons reasons = PlanChain(options, *frame, plan);
  if (plan.picture) plan.orientation = OrientationOf(*frame);
  plan.first.turns = plan.picture ? TurnsOf(plan.orientation) : TurnsOf(input.video());
  CheckPictures(options, plan);
  if (MakesBetween(plan.chain)) {
    if (plan.picture) throw Failure(kExitUsage, "--steps: interpolate is for videos");
    if (plan.expected_frames > 0) plan.expected_frames = 2 * plan.expected_frames - 1;
  }
  PlanAlerts(options, plan);
  if (options.steps.empty()) LeaveOutUseless(reasons, plan);
  PlanResults(options, input, *frame, plan);
  if (!plan.picture && !plan.alerts_only) PlanEncoder(options, input, *frame, plan);
  ChooseNetwork(options, *frame, plan);
  MeasureGains(plan);
  DescribeChain(reasons, plan);
  if (plan.alerts_only) return plan;
  if (plan.picture) {
    NamePictureLosses(*frame, plan);
    RefuseLosses(options, plan);
    return plan;
  }
  plan.light = LightOf(*frame);
  NameLosses(input, *frame, plan);
  RefuseLosses(options, plan);
  return plan;
}

}  // namespace fettle::enhance
