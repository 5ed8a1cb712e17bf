#include <fmt/format.h>

#include <chrono>

#include "av/pixels.h"
#include "basics/files.h"
#include "job/alerts.h"
#include "job/job.h"
#include "picture/encoding.h"

namespace fettle::enhance {
namespace {

FramePtr ReadPicture(const Plan& plan) {
  Input input(plan.input);
  Decoder decoder(input, 1);
  FramePtr picture;
  const auto take = [&](FramePtr frame) {
    if (picture == nullptr) picture = std::move(frame);
  };
  while (const PacketPtr packet = input.Read()) decoder.Decode(packet.get(), take);
  decoder.Decode(nullptr, take);
  if (picture == nullptr || decoder.damaged() > 0)
    throw Failure(kExitInvalidInput, plan.input.string() + ": the picture is damaged");
  return picture;
}

const AVCodec& CodecFor(const std::filesystem::path& output) {
  const AVOutputFormat* format = av_guess_format("image2", nullptr, nullptr);
  const AVCodecID id = format == nullptr ? AV_CODEC_ID_NONE
                                         : av_guess_codec(format, nullptr, output.c_str(), nullptr,
                                                          AVMEDIA_TYPE_VIDEO);
  const AVCodec* codec = avcodec_find_encoder(id);
  if (codec == nullptr || !av_guess_format(nullptr, output.c_str(), nullptr))
    throw Failure(kExitUsage,
                  fmt::format("{}: no picture format is known by this name", output.string()));
  return *codec;
}

/// The format of the source where the codec has it, else the nearest.
AVPixelFormat FormatFor(const AVCodec& codec, AVPixelFormat source) {
  const AVPixFmtDescriptor* desc = av_pix_fmt_desc_get(source);
  if (source == AV_PIX_FMT_PAL8) source = AV_PIX_FMT_RGBA;
  if (codec.pix_fmts == nullptr) return source;
  // libwebp makes YUV of RGB by WebP's own matrix and range, but takes YUV of any as if it were so.
  if (codec.id == AV_CODEC_ID_WEBP && source != AV_PIX_FMT_YUV420P && source != AV_PIX_FMT_YUVA420P)
    return AV_PIX_FMT_BGRA;
  return avcodec_find_best_pix_fmt_of_list(codec.pix_fmts, source,
                                           (desc->flags & AV_PIX_FMT_FLAG_ALPHA) != 0, nullptr);
}

}  // namespace

JobResult RunPicture(const Plan& plan) {
  const auto start = std::chrono::steady_clock::now();
  const AVCodec& codec = CodecFor(plan.output);
  FramePtr frame = ReadPicture(plan);
  const AVPixelFormat format = FormatFor(codec, plan.source_format);
  JobResult result{.frames_in = 1};
  frame =
      Converter(plan.first.format, plan.first.width, plan.first.height).Convert(std::move(frame));
  std::vector<std::atomic<int64_t>> nanoseconds(plan.chain.size());
  SceneLog scenes({.previews = plan.previews, .pictures = plan.pictures});
  SceneTracker().Add(*frame);
  const FramePtr before(av_frame_clone(frame.get()));
  if (before == nullptr) throw std::bad_alloc();
  frame = Chain(plan.chain, plan.first, nanoseconds).Apply(std::move(frame));
  std::optional<Trail> trail = TrailOf(plan);
  frame->pts = 0;
  if (trail) trail->Take(*frame);
  if (scenes.Wants(*before)) scenes.Compare(*before, *frame);
  scenes.Add(*frame);
  result.scenes = scenes.records();
  for (size_t i = 0; i < plan.chain.size(); ++i)
    result.times.push_back({std::string(plan.chain[i].row->name),
                            static_cast<double>(nanoseconds[i]) * 1e-6,
                            plan.GainOf(*plan.chain[i].row)});
  frame = Converter(format, frame->width, frame->height).Convert(std::move(frame));
  if (trail) {
    WriteWhole(plan.alert_file, AlertsText(plan, *trail, 0));
    result.alerts = trail->alerts();
  }
  std::string file = EncodedPicture(codec, *frame);
  if (plan.orientation > 1 && codec.id == AV_CODEC_ID_MJPEG)
    SetJpegOrientation(plan.orientation, file);
  WriteWhole(plan.output, file);
  result.frames_out = 1;
  result.width = frame->width;
  result.height = frame->height;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace fettle::enhance
