#include "job/assemble.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "av/alpha_packets.h"

namespace fettle::enhance {
namespace {

/// The segments' packets one after another, in the setup's time base.
class VideoPackets {
 public:
  VideoPackets(const Plan& plan, const JobFolder& folder, int delay)
      : plan_(plan), folder_(folder), delay_(delay) {
    const EncoderSetup& setup = plan.encoder;
    if (setup.frame_rate.num > 0)
      usual_duration_ =
          std::max<int64_t>(1, av_rescale_q(1, av_inv_q(setup.frame_rate), setup.time_base));
  }

  PacketPtr Next() {
    while (true) {
      if (segment_ == nullptr && !OpenNext()) return nullptr;
      PacketPtr packet = NewPacket();
      const int result = av_read_frame(segment_.get(), packet.get());
      if (result >= 0 && packet->stream_index == kAlphaStream) {
        alpha_ = std::move(packet);
        continue;
      }
      if (result >= 0) {
        Stamp(*packet);
        if (alpha_ != nullptr) GiveAlpha(*std::exchange(alpha_, nullptr), *packet);
        return packet;
      }
      if (result != AVERROR_EOF) CheckAv(result, folder_.SegmentPath(opened_ - 1).string());
      segment_.reset();
    }
  }
  int64_t count() const { return count_; }

 private:
  bool OpenNext() {
    if (opened_ == folder_.segments().size()) return false;
    const auto path = folder_.SegmentPath(opened_++);
    AVFormatContext* format = nullptr;
    CheckAv(avformat_open_input(&format, ("file:" + path.string()).c_str(), nullptr, nullptr),
            path.string());
    segment_.reset(format);
    // Packets as they were written: no second guess of their times.
    format->flags |= AVFMT_FLAG_NOPARSE | AVFMT_FLAG_NOFILLIN;
    return true;
  }

  /// Frames are decoded `delay_` before they are shown: with that many on hold, the earliest of
  /// them is the time of decoding.
  void Stamp(AVPacket& packet) {
    const AVRational base = plan_.encoder.time_base;
    packet.pts = av_rescale_q(packet.pts, segment_->streams[0]->time_base, base);
    if (count_ == 0) first_ = packet.pts;
    waiting_.push(packet.pts);
    if (count_ < delay_) {
      packet.dts = first_ - (delay_ - count_) * usual_duration_;
    } else {
      packet.dts = waiting_.top();
      waiting_.pop();
    }
    ++count_;
    packet.duration = count_ == folder_.frames() ? folder_.segments().back().last_duration : 0;
    packet.pos = -1;
  }

  const Plan& plan_;
  const JobFolder& folder_;
  const int64_t delay_;
  InputPtr segment_;
  PacketPtr alpha_;  // of the packet to come
  size_t opened_ = 0;
  int64_t count_ = 0, first_ = 0, usual_duration_ = 1;
  std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>> waiting_;
};

/// The input's packets of streams that are carried, but for the video.
class OtherPackets {
 public:
  OtherPackets(Input& input, const std::vector<int>& places) : input_(input), places_(places) {}
  PacketPtr Next() {
    while (PacketPtr packet = input_.Read()) {
      const auto stream = static_cast<size_t>(packet->stream_index);
      if (packet->stream_index == input_.video_index() || stream >= places_.size()) continue;
      if (places_[stream] >= 0) return packet;
    }
    return nullptr;
  }

 private:
  Input& input_;
  const std::vector<int>& places_;
};

OutputPtr OpenOutput(const Plan& plan, const std::filesystem::path& file) {
  AVFormatContext* made = nullptr;
  CheckAv(avformat_alloc_output_context2(&made, &ContainerOf(plan.output), nullptr, file.c_str()),
          file.string());
  OutputPtr output(made);
  // No random numbers and no dates: equal inputs give equal files.
  output->flags |= AVFMT_FLAG_BITEXACT;
  // How views are packed and projected, which MP4 tells so alone.
  output->strict_std_compliance = FF_COMPLIANCE_UNOFFICIAL;
  return output;
}

void WritePacket(AVFormatContext& output, PacketPtr packet, AVRational base, int place,
                 const std::filesystem::path& file) {
  av_packet_rescale_ts(packet.get(), base, output.streams[place]->time_base);
  packet->stream_index = place;
  packet->pos = -1;
  CheckAv(av_interleaved_write_frame(&output, packet.get()), file.string());
}

AVRational BaseOf(Input& input, const AVPacket& packet) {
  return input.format().streams[packet.stream_index]->time_base;
}

int64_t TimeOf(const AVPacket& packet, AVRational base) {
  const int64_t time = packet.dts != AV_NOPTS_VALUE ? packet.dts : packet.pts;
  return time == AV_NOPTS_VALUE ? INT64_MIN : av_rescale_q(time, base, {1, AV_TIME_BASE});
}

}  // namespace

int64_t Assemble(const Plan& plan, const JobFolder& folder, const std::filesystem::path& file,
                 std::stop_token stop) {
  Input input(plan.input);
  const Encoder encoder(plan.encoder);
  const OutputPtr output = OpenOutput(plan, file);
  const std::vector<int> places =
      CopyStructure(input, plan.streams, *encoder.Parameters(), plan.light, *output);
  const int video_place = places[static_cast<size_t>(input.video_index())];
  if (MakesBetween(plan.chain)) {
    AVStream& stream = *output->streams[video_place];
    stream.time_base = plan.encoder.time_base;
    stream.avg_frame_rate = stream.r_frame_rate = plan.encoder.frame_rate;
  }
  CheckAv(avio_open(&output->pb, ("file:" + file.string()).c_str(), AVIO_FLAG_WRITE),
          file.string());
  Options options(plan.muxer_options);
  CheckAv(avformat_write_header(output.get(), options.get()), plan.output.string());

  VideoPackets video(plan, folder, encoder.delay());
  OtherPackets others(input, places);
  const AVRational video_base = plan.encoder.time_base;
  PacketPtr frame = video.Next(), other = others.Next();
  while ((frame != nullptr || other != nullptr) && !stop.stop_requested()) {
    const AVRational base = other == nullptr ? AVRational{} : BaseOf(input, *other);
    if (frame == nullptr ||
        (other != nullptr && TimeOf(*other, base) <= TimeOf(*frame, video_base))) {
      const int place = places[static_cast<size_t>(other->stream_index)];
      WritePacket(*output, std::move(other), base, place, file);
      other = others.Next();
    } else {
      WritePacket(*output, std::move(frame), video_base, video_place, file);
      frame = video.Next();
    }
  }
  CheckAv(av_write_trailer(output.get()), file.string());
  CheckAv(avio_closep(&output->pb), file.string());
  return video.count();
}

}  // namespace fettle::enhance
