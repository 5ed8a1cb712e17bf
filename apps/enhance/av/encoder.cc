#include "av/encoder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "av/alpha.h"
#include "av/pixel_loss.h"

namespace fettle::enhance {
namespace {

constexpr std::string_view kX264Presets =
    "ultrafast superfast veryfast faster fast medium slow slower veryslow placebo";

const std::array<EncoderRow, 9>& EncoderRows() {
  static const std::array<EncoderRow, 9> rows = {
      EncoderRow{"libx264", AV_CODEC_ID_H264, "crf", 18, "preset", "veryfast", kX264Presets, {}},
      EncoderRow{"libx265",
                 AV_CODEC_ID_HEVC,
                 "crf",
                 20,
                 "preset",
                 "superfast",
                 kX264Presets,
                 {{"x265-params", "log-level=none"}}},
      EncoderRow{"libvpx-vp9",
                 AV_CODEC_ID_VP9,
                 "crf",
                 24,
                 "cpu-used",
                 "6",
                 "",
                 {{"b", "0"}, {"deadline", "good"}, {"row-mt", "1"}}},
      EncoderRow{"libsvtav1", AV_CODEC_ID_AV1, "crf", 28, "preset", "10", "", {}},
      EncoderRow{"mpeg4", AV_CODEC_ID_MPEG4, "qmin", 3, "qmax", "5", "", {}},
      EncoderRow{"prores_ks", AV_CODEC_ID_PRORES, "", 0, "", "", "", {}},
      EncoderRow{"ffv1", AV_CODEC_ID_FFV1, "", 0, "", "", "", {{"level", "3"}}},
      EncoderRow{"qtrle", AV_CODEC_ID_QTRLE, "", 0, "", "", "", {}},
      EncoderRow{"png", AV_CODEC_ID_PNG, "", 0, "", "", "", {}},
  };
  return rows;
}

/// Containers of one codec do not list it, but refuse to begin with another.
constexpr std::array kOfOneCodec = {std::string_view("gif"), std::string_view("apng"),
                                    std::string_view("webp")};

bool Takes(const AVOutputFormat& container, AVCodecID codec) {
  if (std::ranges::find(kOfOneCodec, container.name) != kOfOneCodec.end()) return false;
  // Some containers do not know.
  return container.video_codec != AV_CODEC_ID_NONE &&
         avformat_query_codec(&container, codec, FF_COMPLIANCE_NORMAL) != 0;
}

const AVCodec& CodecOf(const std::string& name) {
  const AVCodec* codec = avcodec_find_encoder_by_name(name.c_str());
  if (codec == nullptr)
    throw Failure(kExitUnsupported, fmt::format("this FFmpeg has no encoder {}", name));
  return *codec;
}

bool IsPresent(const EncoderRow& row) {
  return avcodec_find_encoder_by_name(std::string(row.name).c_str()) != nullptr;
}

/// The first that is chosen for opaque frames: the rest makes large files.
const EncoderRow& First(const AVOutputFormat& container) {
  for (const EncoderRow& row : EncoderRows())
    if (!row.preset_option.empty() && IsPresent(row) && Takes(container, row.codec)) return row;
  throw Failure(kExitUnsupported,
                fmt::format("{} carries no video of any encoder here", container.name));
}

/// The first of those that keep alpha and lose least of the pixels; the usual one where none does.
const EncoderRow& BestWithAlpha(const AVOutputFormat& container, AVPixelFormat format) {
  const EncoderRow* best = nullptr;
  int least = 0;
  for (const EncoderRow& row : EncoderRows()) {
    if (!CarriesAlpha(container, row.name) || !IsPresent(row) || !Takes(container, row.codec))
      continue;
    const AVPixelFormat given = EncoderFormat(std::string(row.name), format, true);
    const int losses = PixelLossCount(format, given, true);
    if (best != nullptr && losses >= least) continue;
    best = &row;
    least = losses;
  }
  return best == nullptr ? First(container) : *best;
}

/// Results are YUV: RGB, which rounds once more, is for encoders that have no other colour.
void LeaveOutRgb(AVPixelFormat wanted, std::vector<AVPixelFormat>& formats) {
  const auto is_rgb = [](AVPixelFormat format) {
    return (av_pix_fmt_desc_get(format)->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL)) != 0;
  };
  const int parts = std::min<int>(3, av_pix_fmt_desc_get(wanted)->nb_components);
  const auto has_all = [&](AVPixelFormat format) {
    return !is_rgb(format) && av_pix_fmt_desc_get(format)->nb_components >= parts;
  };
  if (std::ranges::any_of(formats, has_all)) std::erase_if(formats, is_rgb);
}

}  // namespace

const EncoderRow& ChooseEncoder(const std::string& name, const AVOutputFormat& container,
                                AVPixelFormat format) {
  if (name == "auto") return HasAlpha(format) ? BestWithAlpha(container, format) : First(container);
  const auto row = std::ranges::find(EncoderRows(), name, &EncoderRow::name);
  if (row == EncoderRows().end())
    throw Failure(kExitUsage, fmt::format("--encoder: there is no '{}'; there are auto, {}", name,
                                          fmt::join(EncoderNames(), ", ")));
  CodecOf(name);
  if (!Takes(container, row->codec))
    throw Failure(kExitUnsupported, fmt::format("{} carries no video of {}", container.name, name));
  return *row;
}

std::vector<std::string_view> EncoderNames() {
  std::vector<std::string_view> names;
  for (const EncoderRow& row : EncoderRows()) names.push_back(row.name);
  return names;
}

bool TakesVideo(const AVOutputFormat& container) {
  return std::ranges::any_of(EncoderRows(),
                             [&](const EncoderRow& row) { return Takes(container, row.codec); });
}

void CheckPreset(const EncoderRow& row, const std::string& preset) {
  if (row.preset_option.empty() && !preset.empty())
    throw Failure(kExitUsage, fmt::format("--preset: {} has no presets", row.name));
  const std::string padded = fmt::format(" {} ", row.presets);
  if (!row.presets.empty() && padded.find(fmt::format(" {} ", preset)) == std::string::npos)
    throw Failure(kExitUsage,
                  fmt::format("--preset: {} has no '{}': {}", row.name, preset, row.presets));
}

AVPixelFormat EncoderFormat(const std::string& encoder, AVPixelFormat format, bool alpha) {
  const AVPixelFormat wanted = alpha ? format : WithoutAlpha(format);
  const AVPixelFormat* formats = CodecOf(encoder).pix_fmts;
  if (formats == nullptr) return wanted;
  std::vector<AVPixelFormat> fit;
  for (const AVPixelFormat* at = formats; *at != AV_PIX_FMT_NONE; ++at) {
    if (*at == wanted) return wanted;
    if (HasAlpha(*at) == (alpha && HasAlpha(wanted))) fit.push_back(*at);
  }
  LeaveOutRgb(wanted, fit);
  fit.push_back(AV_PIX_FMT_NONE);
  return avcodec_find_best_pix_fmt_of_list(fit.data(), wanted, alpha, nullptr);
}

Encoder::Encoder(const EncoderSetup& setup) {
  const AVCodec& codec = CodecOf(setup.name);
  codec_.reset(avcodec_alloc_context3(&codec));
  if (codec_ == nullptr) throw std::bad_alloc();
  codec_->width = setup.width;
  codec_->height = setup.height;
  codec_->pix_fmt = setup.format;
  codec_->time_base = setup.time_base;
  codec_->framerate = setup.frame_rate;
  codec_->sample_aspect_ratio = setup.aspect;
  codec_->color_range = setup.colour.range;
  codec_->colorspace = setup.colour.matrix;
  codec_->color_primaries = setup.colour.primaries;
  codec_->color_trc = setup.colour.transfer;
  codec_->chroma_sample_location = setup.colour.siting;
  codec_->thread_count = setup.threads;
  codec_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER | AV_CODEC_FLAG_BITEXACT;
  Options options(setup.options);
  const int opened = avcodec_open2(codec_.get(), &codec, options.get());
  if (opened == AVERROR(EINVAL) || opened == AVERROR_EXTERNAL)
    throw Failure(kExitUnsupported,
                  fmt::format("{} does not take {}x{} of {} with these options", setup.name,
                              setup.width, setup.height, NameOf(setup.format)));
  CheckAv(opened, setup.name, kExitUnsupported);
  options.CheckAllTaken(setup.name);
}

void Encoder::Encode(FramePtr frame, const std::function<void(AVPacket&)>& take) {
  if (frame != nullptr) {
    durations_[frame->pts] = DurationOf(*frame);
    // The encoder alone decides which frames are key frames.
    frame->pict_type = AV_PICTURE_TYPE_NONE;
  }
  CheckAv(avcodec_send_frame(codec_.get(), frame.get()), codec_->codec->name);
  while (true) {
    const PacketPtr packet = NewPacket();
    const int got = avcodec_receive_packet(codec_.get(), packet.get());
    if (got == AVERROR(EAGAIN) || got == AVERROR_EOF) return;
    CheckAv(got, codec_->codec->name);
    const auto known = durations_.find(packet->pts);
    if (known != durations_.end()) {
      packet->duration = known->second;
      durations_.erase(known);
    }
    take(*packet);
  }
}

ParametersPtr Encoder::Parameters() const {
  ParametersPtr parameters(avcodec_parameters_alloc());
  if (parameters == nullptr) throw std::bad_alloc();
  CheckAv(avcodec_parameters_from_context(parameters.get(), codec_.get()), codec_->codec->name);
  return parameters;
}

}  // namespace fettle::enhance
