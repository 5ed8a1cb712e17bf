#include "av/encoder.h"

#include <fmt/format.h>

#include <algorithm>

#include "av/alpha.h"

namespace fettle::enhance {
namespace {

constexpr int kMostMpeg4Ticks = 65535;  // a second

const AVCodec& CodecOf(const std::string& name) {
  const AVCodec* codec = avcodec_find_encoder_by_name(name.c_str());
  if (codec == nullptr)
    throw Failure(kExitUnsupported, fmt::format("this FFmpeg has no encoder {}", name));
  return *codec;
}

const EncoderRow* RowOf(const std::string& name) {
  const auto row = std::ranges::find(EncoderRows(), name, &EncoderRow::name);
  return row == EncoderRows().end() ? nullptr : &*row;
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

AVPixelFormat EncoderFormat(const std::string& encoder, AVPixelFormat format, bool alpha) {
  const AVPixelFormat wanted = alpha ? format : WithoutAlpha(format);
  if (const EncoderRow* row = RowOf(encoder))
    if (const AVPixelFormat given = UploadFormat(*row, DepthOf(wanted)); given != AV_PIX_FMT_NONE)
      return given;
  const AVPixelFormat* formats = CodecOf(encoder).pix_fmts;
  if (formats == nullptr) return wanted;
  std::vector<AVPixelFormat> fit;
  for (const AVPixelFormat* at = formats; *at != AV_PIX_FMT_NONE; ++at) {
    if (*at == wanted) return wanted;
    const bool on_host = !(av_pix_fmt_desc_get(*at)->flags & AV_PIX_FMT_FLAG_HWACCEL);
    if (on_host && HasAlpha(*at) == (alpha && HasAlpha(wanted))) fit.push_back(*at);
  }
  LeaveOutRgb(wanted, fit);
  fit.push_back(AV_PIX_FMT_NONE);
  return avcodec_find_best_pix_fmt_of_list(fit.data(), wanted, alpha, nullptr);
}

Encoder::Encoder(const EncoderSetup& setup) {
  const AVCodec& codec = CodecOf(setup.name);
  const EncoderRow* row = RowOf(setup.name);
  if (row != nullptr && std::min(setup.width, setup.height) < row->least_side)
    throw Failure(
        kExitUnsupported,
        fmt::format("{} takes pictures of {}x{} and more, and these are {}x{}", setup.name,
                    row->least_side, row->least_side, setup.width, setup.height));
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
  OpenWith(setup, row);
}

void Encoder::OpenWith(const EncoderSetup& setup, const EncoderRow* row) {
  // MPEG-4 has no finer times within it; those of its container are as fine as ever.
  counts_ = codec_->codec_id == AV_CODEC_ID_MPEG4 && setup.time_base.den > kMostMpeg4Ticks;
  if (counts_) {
    const AVRational rate = setup.frame_rate.num > 0 ? setup.frame_rate : AVRational{25, 1};
    av_reduce(&codec_->time_base.num, &codec_->time_base.den, rate.den, rate.num, kMostMpeg4Ticks);
  }
  Options options(setup.options);
  uploads_.emplace(row, *codec_);
  const int opened = avcodec_open2(codec_.get(), codec_->codec, options.get());
  if (opened < 0 && row != nullptr && IsHardware(*row))
    throw Failure(kExitUnsupported,
                  fmt::format("{}: this machine has no such encoder, or it does not take {}x{} of "
                              "{} ({})",
                              setup.name, setup.width, setup.height, NameOf(setup.format),
                              AvErrorText(opened)));
  if (opened == AVERROR(EINVAL) || opened == AVERROR_EXTERNAL)
    throw Failure(kExitUnsupported, fmt::format("{} does not take {}x{} of {}", setup.name,
                                                setup.width, setup.height, NameOf(setup.format)));
  CheckAv(opened, setup.name, kExitUnsupported);
  options.CheckAllTaken(setup.name);
}

Encoder::~Encoder() {
  // SVT-AV1 waits for ever where it is closed before its end, or without a frame.
  if (codec_ == nullptr || codec_->codec_id != AV_CODEC_ID_AV1 || ended_) return;
  try {
    if (frames_ == 0)
      Encode(ZeroFrame(codec_->pix_fmt, codec_->width, codec_->height), [](AVPacket&) {});
    Encode(nullptr, [](AVPacket&) {});
  } catch (...) {  // nobody wants its packets
  }
}

void Encoder::Encode(FramePtr frame, const std::function<void(AVPacket&)>& take) {
  ended_ = frame == nullptr;
  if (frame != nullptr) {
    const int64_t told = counts_ ? frames_ : frame->pts;
    on_their_way_[told] = {frame->pts, DurationOf(*frame)};
    frame->pts = told;
    ++frames_;
    // The encoder alone decides which frames are key frames.
    frame->pict_type = AV_PICTURE_TYPE_NONE;
  }
  frame = uploads_->Take(std::move(frame));
  CheckAv(avcodec_send_frame(codec_.get(), frame.get()), codec_->codec->name);
  while (true) {
    const PacketPtr packet = NewPacket();
    const int got = avcodec_receive_packet(codec_.get(), packet.get());
    if (got == AVERROR(EAGAIN) || got == AVERROR_EOF) return;
    CheckAv(got, codec_->codec->name);
    const auto known = on_their_way_.find(packet->pts);
    if (known != on_their_way_.end()) {
      packet->pts = known->second.time;
      packet->duration = known->second.duration;
      on_their_way_.erase(known);
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
