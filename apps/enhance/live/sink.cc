#include "live/sink.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "av/carrying.h"
#include "av/choice.h"
#include "av/suffix.h"
#include "live/stream_name.h"

namespace fettle::enhance {
namespace {

bool IsOf(const AVOutputFormat& container, std::string_view name) { return container.name == name; }

bool HoldsPixels(const AVOutputFormat& container) {
  return IsOf(container, "yuv4mpegpipe") || IsOf(container, "rawvideo");
}

/// Pixels that players of .y4m know.
AVPixelFormat PixelFormat(const AVOutputFormat& container, AVPixelFormat wanted) {
  static constexpr AVPixelFormat kY4m[] = {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV422P,
                                           AV_PIX_FMT_YUV444P, AV_PIX_FMT_GRAY8, AV_PIX_FMT_NONE};
  if (!IsOf(container, "yuv4mpegpipe")) return wanted;
  return avcodec_find_best_pix_fmt_of_list(kY4m, wanted, 0, nullptr);
}

/// What keeps each encoder from looking ahead.
std::map<std::string, std::string> AtOnce(std::string_view encoder) {
  if (encoder == "libx264" || encoder == "libx265") return {{"tune", "zerolatency"}};
  if (encoder == "libvpx-vp9") return {{"deadline", "realtime"}, {"lag-in-frames", "0"}};
  if (encoder == "libsvtav1") return {{"la_depth", "0"}};
  if (encoder == "mpeg4" || encoder.ends_with("_vaapi")) return {{"bf", "0"}};
  if (encoder.ends_with("_nvenc")) return {{"bf", "0"}, {"delay", "0"}, {"zerolatency", "1"}};
  return {};
}

}  // namespace

EncoderSetup LiveEncoder(const std::string& name, int crf, const std::string& preset,
                         const AVOutputFormat& container, EncoderSetup setup) {
  if (HoldsPixels(container)) {
    if (name != "auto" || crf >= 0 || !preset.empty())
      throw Failure(kExitUsage,
                    fmt::format("{} holds plain pixels: leave out --encoder, --crf and --preset",
                                SuffixOf(container)));
    setup.name = IsOf(container, "rawvideo") ? "rawvideo" : "wrapped_avframe";
    setup.format = PixelFormat(container, setup.format);
    return setup;
  }
  const EncoderRow& row =
      ChooseEncoder(name, container, SuffixOf(container), WithoutAlpha(setup.format));
  setup.name = row.name;
  setup.options = OptionsOf(row, crf, preset);
  for (const auto& [option, value] : AtOnce(row.name)) setup.options[option] = value;
  // Whoever joins late waits for a key frame: one in two seconds.
  setup.options["g"] =
      std::to_string(std::clamp(static_cast<int>(2 * av_q2d(setup.frame_rate) + 0.5), 1, 600));
  setup.format = EncoderFormat(setup.name, setup.format, false);
  return setup;
}

LiveSink::LiveSink(const std::string& name, const AVOutputFormat& container,
                   const EncoderSetup& setup, const AVFormatContext& input, int video)
    : name_(Spoken(name, false)), base_(setup.time_base), encoder_(setup) {
  const std::string address = IsStandard(name) ? "pipe:1" : IsStream(name) ? name : "file:" + name;
  AVFormatContext* format = nullptr;
  CheckWrite(avformat_alloc_output_context2(&format, const_cast<AVOutputFormat*>(&container),
                                            nullptr, address.c_str()),
             name_);
  format_.reset(format);
  format->flags |= AVFMT_FLAG_FLUSH_PACKETS | AVFMT_FLAG_BITEXACT;
  format->max_interleave_delta = AV_TIME_BASE / 5;
  AVStream* stream = avformat_new_stream(format, nullptr);
  if (stream == nullptr) throw std::bad_alloc();
  CheckAv(avcodec_parameters_copy(stream->codecpar, encoder_.Parameters().get()), name_);
  // y4m has no times: what counts its frames is told as their rate.
  stream->time_base =
      IsOf(container, "yuv4mpegpipe") ? av_inv_q(setup.frame_rate) : setup.time_base;
  stream->avg_frame_rate = stream->r_frame_rate = setup.frame_rate;
  stream->sample_aspect_ratio = setup.aspect;
  AddOthers(input, video);
  if (!(container.flags & AVFMT_NOFILE))
    CheckWrite(avio_open(&format->pb, address.c_str(), AVIO_FLAG_WRITE), name_);
  // A file whose end is never written can be played up to its last key frame.
  const bool fragments = IsOf(container, "mp4") || IsOf(container, "mov");
  Options options(fragments ? std::map<std::string, std::string>{{"movflags",
                                                                  "frag_keyframe+"
                                                                  "empty_moov+"
                                                                  "default_base_moof"}}
                            : std::map<std::string, std::string>{});
  CheckWrite(avformat_write_header(format, options.get()), name_);
  last_.assign(format->nb_streams, AV_NOPTS_VALUE);
}

LiveSink::~LiveSink() {
  try {
    if (last_.empty()) return;  // no header
    Finish();
  } catch (...) {  // it was told already
  }
}

void LiveSink::AddOthers(const AVFormatContext& input, int video) {
  for (unsigned i = 0; i < input.nb_streams; ++i) {
    places_.push_back(-1);
    const AVCodecParameters& codec = *input.streams[i]->codecpar;
    if (static_cast<int>(i) == video) continue;
    const bool is_sound = codec.codec_type == AVMEDIA_TYPE_AUDIO;
    const char* const type = av_get_media_type_string(codec.codec_type);
    // Only sound goes on without gaps, as interleaving needs it.
    if (!is_sound || avformat_query_codec(format_->oformat, codec.codec_id, 0) != 1) {
      losses_.push_back(fmt::format("stream {} ({} {}) is left out: {}", i,
                                    type != nullptr ? type : "data",
                                    avcodec_get_name(codec.codec_id),
                                    is_sound ? SuffixOf(*format_->oformat) + " does not hold it"
                                             : "live streams carry sound beside the video"));
      continue;
    }
    AVStream* stream = avformat_new_stream(format_.get(), nullptr);
    if (stream == nullptr) throw std::bad_alloc();
    CheckAv(avcodec_parameters_copy(stream->codecpar, &codec), name_);
    stream->codecpar->codec_tag = 0;
    stream->time_base = input.streams[i]->time_base;
    av_dict_copy(&stream->metadata, input.streams[i]->metadata, 0);
    places_.back() = stream->index;
  }
}

void LiveSink::Send(AVPacket& packet, int stream, AVRational base) {
  AVStream& to = *format_->streams[stream];
  av_packet_rescale_ts(&packet, base, to.time_base);
  packet.stream_index = stream;
  packet.pos = -1;
  // A coarser clock may make two times one.
  int64_t& last = last_[static_cast<size_t>(stream)];
  if (packet.dts == AV_NOPTS_VALUE) packet.dts = packet.pts;
  if (packet.dts != AV_NOPTS_VALUE) {
    if (last != AV_NOPTS_VALUE) packet.dts = std::max(packet.dts, last + 1);
    packet.pts = std::max(packet.pts, packet.dts);
    last = packet.dts;
  }
  CheckWrite(format_->nb_streams == 1 ? av_write_frame(format_.get(), &packet)
                                      : av_interleaved_write_frame(format_.get(), &packet),
             name_);
}

void LiveSink::Write(FramePtr frame) {
  encoder_.Encode(std::move(frame), [&](AVPacket& packet) { Send(packet, 0, base_); });
}

void LiveSink::WriteOther(PacketPtr packet, AVRational base) {
  const auto index = static_cast<size_t>(packet->stream_index);
  if (index >= places_.size() || places_[index] < 0) return;
  Send(*packet, places_[index], base);
}

void LiveSink::Finish() {
  if (finished_) return;
  finished_ = true;
  encoder_.Encode(nullptr, [&](AVPacket& packet) { Send(packet, 0, base_); });
  CheckWrite(av_write_trailer(format_.get()), name_);
  if (format_->pb != nullptr && !(format_->oformat->flags & AVFMT_NOFILE))
    CheckWrite(avio_closep(&format_->pb), name_);
}

}  // namespace fettle::enhance
