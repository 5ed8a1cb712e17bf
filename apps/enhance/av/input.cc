#include "av/input.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "av/alpha.h"

namespace fettle::enhance {

Input::Input(const std::filesystem::path& path, Cut cut) : path_(path), cut_(cut) {
  if (!std::filesystem::exists(path))
    throw Failure(kExitInvalidInput, FETTLE_NOT_FOUND, path.string() + ": no such file");
  AVFormatContext* format = nullptr;
  // "file:" so that no name is taken for a protocol or a pattern.
  const int opened =
      avformat_open_input(&format, ("file:" + path.string()).c_str(), nullptr, nullptr);
  if (opened == AVERROR_INVALIDDATA)
    throw Failure(kExitInvalidInput, path.string() + ": not a video or picture");
  CheckAv(opened, path.string() + ": no video or picture", kExitInvalidInput);
  format_.reset(format);
  CheckAv(avformat_find_stream_info(format, nullptr), path.string() + ": no video or picture",
          kExitInvalidInput);
  video_ = av_find_best_stream(format, AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0);
  if (video_ < 0 || (video().disposition & AV_DISPOSITION_ATTACHED_PIC))
    throw Failure(kExitInvalidInput, path.string() + ": has no video");
  const AVCodecParameters& codec = *video().codecpar;
  if (codec.width <= 0 || codec.height <= 0)
    throw Failure(kExitInvalidInput, path.string() + ": its video has no frames");
  if (cut.any()) cutter_.emplace(*format_, video_, cut);
}

int64_t Input::Duration() const {
  if (format_->duration <= 0) return 0;
  const int64_t rest = format_->duration - cut_.start;
  return cut_.duration > 0 ? std::min(rest, cut_.duration) : rest;
}

bool Input::is_picture() const {
  const std::string_view name = format_->iformat->name;
  return name == "image2" || name.ends_with("_pipe");
}

int64_t Input::ExpectedFrames() const {
  if (is_picture()) return 1;
  if (!cutter_ && video().nb_frames > 0) return video().nb_frames;
  const AVRational rate = av_guess_frame_rate(format_.get(), &video(), nullptr);
  if (Duration() <= 0 || rate.num <= 0) return 0;
  return std::max<int64_t>(1, av_rescale_q(Duration(), {1, AV_TIME_BASE}, av_inv_q(rate)));
}

bool Input::SeekBefore(double seconds) {
  const int64_t time =
      BeginOf(*format_) + cut_.start + static_cast<int64_t>(seconds * AV_TIME_BASE);
  if (cutter_) cutter_->Forget();
  return avformat_seek_file(format_.get(), -1, INT64_MIN, time, time, 0) >= 0;
}

PacketPtr Input::Read() {
  if (!cutter_) return ReadNext();
  while (true) {
    if (PacketPtr packet = cutter_->Give()) return packet;
    if (cutter_->ended()) return nullptr;
    cutter_->Take(ReadNext());
  }
}

PacketPtr Input::ReadNext() {
  PacketPtr packet = NewPacket();
  const int result = av_read_frame(format_.get(), packet.get());
  if (result == AVERROR(ENOMEM)) throw std::bad_alloc();
  if (result < 0) {
    failed_ = result != AVERROR_EOF;
    return nullptr;
  }
  Follow(*packet);
  if (packet->stream_index == video_ &&
      av_packet_get_side_data(packet.get(), AV_PKT_DATA_ENCRYPTION_INFO, nullptr) != nullptr)
    throw Failure(kExitInvalidInput, FETTLE_UNSUPPORTED,
                  path_.string() + ": its video is encrypted");
  return packet;
}

void Input::Follow(const AVPacket& packet) {
  const AVRational base = format_->streams[packet.stream_index]->time_base;
  const auto in_common = [&](int64_t time) { return av_rescale_q(time, base, AV_TIME_BASE_Q); };
  // Where a file has no times of decoding, FFmpeg may guess one of 0 for a frame that is late.
  if (const int64_t last = std::max(packet.pts, packet.dts); last != AV_NOPTS_VALUE)
    end_ = std::max(end_, in_common(last) + in_common(packet.duration));
  const int64_t time = packet.dts == AV_NOPTS_VALUE ? packet.pts : packet.dts;
  if (time == AV_NOPTS_VALUE || packet.stream_index != video_) return;
  const int64_t begin = in_common(time);
  if (last_video_ != AV_NOPTS_VALUE) longest_gap_ = std::max(longest_gap_, begin - last_video_);
  last_video_ = begin;
}

int64_t Input::ToldEnd() const {
  // From 0 or from the first packet on, as containers differ.
  const int64_t begin = format_->start_time == AV_NOPTS_VALUE ? 0 : format_->start_time;
  const int64_t told = std::min<int64_t>(begin, 0) + format_->duration;
  int64_t end = INT64_MIN;
  bool reads_all = true;
  for (unsigned i = 0; i < format_->nb_streams; ++i) {
    const AVStream& stream = *format_->streams[i];
    if (stream.discard >= AVDISCARD_ALL) {
      reads_all = false;  // chapters, which may last longer than what they divide
      continue;
    }
    if (stream.duration == AV_NOPTS_VALUE) return told;
    const int64_t start = stream.start_time == AV_NOPTS_VALUE ? 0 : stream.start_time;
    end = std::max(end, av_rescale_q(start + stream.duration, stream.time_base, AV_TIME_BASE_Q));
  }
  return reads_all ? told : std::min(told, end);
}

bool Input::cut_short() const {
  if (failed_) return true;
  if (cut_.duration > 0) return false;
  if (end_ == AV_NOPTS_VALUE || format_->duration <= 0 ||
      format_->duration_estimation_method != AVFMT_DURATION_FROM_STREAM)
    return false;
  // A last picture may be shown for as long as any other, and not tell it.
  return end_ + longest_gap_ + AV_TIME_BASE / 4 < ToldEnd();
}

void Decoder::Open(const AVCodecParameters& parameters, AVRational time_base, int threads,
                   int side_data, const AVCodec* by) {
  const char* name = avcodec_get_name(parameters.codec_id);
  const AVCodec* codec = by != nullptr ? by : avcodec_find_decoder(parameters.codec_id);
  if (codec == nullptr) {
    char tag[AV_FOURCC_MAX_STRING_SIZE];
    throw Failure(kExitUnsupported, fmt::format("no decoder for its video ({}, '{}')", name,
                                                av_fourcc_make_string(tag, parameters.codec_tag)));
  }
  codec_.reset(avcodec_alloc_context3(codec));
  if (codec_ == nullptr) throw std::bad_alloc();
  CheckAv(avcodec_parameters_to_context(codec_.get(), &parameters), name, kExitInvalidInput);
  codec_->pkt_timebase = time_base;
  codec_->thread_count = threads;
  codec_->export_side_data |= side_data;
  CheckAv(avcodec_open2(codec_.get(), codec, nullptr), name, kExitInvalidInput);
}

Decoder::Decoder(const AVCodecParameters& codec, int side_data) {
  Open(codec, {1, 25}, 1, side_data);
}

Decoder::Decoder(const Input& input, int threads, int side_data) {
  const AVStream& stream = input.video();
  if (input.cut().any()) holds_ = [&input](int64_t time) { return input.Holds(time); };
  Open(*stream.codecpar, stream.time_base, threads, side_data, AlphaDecoderOf(stream));
  const AVRational rate =
      av_guess_frame_rate(&input.format(), input.format().streams[input.video_index()], nullptr);
  if (rate.num > 0)
    usual_duration_ = std::max<int64_t>(1, av_rescale_q(1, av_inv_q(rate), stream.time_base));
}

void Decoder::Stamp(AVFrame& frame) {
  const int64_t duration = DurationOf(frame) > 0 ? DurationOf(frame) : usual_duration_;
  int64_t pts = frame.best_effort_timestamp;
  if (last_ == AV_NOPTS_VALUE ? pts == AV_NOPTS_VALUE : pts <= last_) {
    pts = last_ == AV_NOPTS_VALUE ? 0 : last_ + last_duration_;
    ++retimed_;
  }
  frame.pts = last_ = pts;
  last_duration_ = duration;
}

void Decoder::Decode(const AVPacket* packet, const std::function<void(FramePtr)>& take) {
  const int sent = avcodec_send_packet(codec_.get(), packet);
  if (sent == AVERROR(ENOMEM)) throw std::bad_alloc();
  if (sent < 0 && sent != AVERROR_EOF) ++damaged_;
  while (true) {
    FramePtr frame(av_frame_alloc());
    if (frame == nullptr) throw std::bad_alloc();
    const int got = avcodec_receive_frame(codec_.get(), frame.get());
    if (got == AVERROR(EAGAIN) || got == AVERROR_EOF) return;
    if (got == AVERROR(ENOMEM)) throw std::bad_alloc();
    if (got < 0) {
      ++damaged_;
      continue;
    }
    const int64_t retimed = retimed_;
    Stamp(*frame);
    if (holds_ && !holds_(frame->pts)) {
      retimed_ = retimed;  // nobody sees it
      continue;
    }
    if (frame->flags & AV_FRAME_FLAG_CORRUPT || frame->decode_error_flags != 0) ++damaged_;
    take(std::move(frame));
  }
}

bool DecodesFrame(AVFormatContext& file, const AVStream& stream, int width, int height) {
  Decoder decoder(*stream.codecpar, 0);
  bool decoded = false, right = true;
  const auto take = [&](FramePtr frame) {
    decoded = true;
    right = right && frame->width == width && frame->height == height;
  };
  while (!decoded) {
    const PacketPtr packet = NewPacket();
    const bool ends = av_read_frame(&file, packet.get()) < 0;
    if (!ends && packet->stream_index != stream.index) continue;
    decoder.Decode(ends ? nullptr : packet.get(), take);
    if (ends) break;
  }
  return decoded && right && decoder.damaged() == 0;
}

}  // namespace fettle::enhance
