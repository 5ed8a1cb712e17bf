#include "job/assemble.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <set>
#include <utility>

#include "av/alpha_packets.h"
#include "av/decode_order.h"

namespace fettle::enhance {
namespace {

int64_t UsualDuration(const EncoderSetup& setup) {
  if (setup.frame_rate.num <= 0) return 1;
  return std::max<int64_t>(1, av_rescale_q(1, av_inv_q(setup.frame_rate), setup.time_base));
}

/// Of packets that were made; where the container moves all times by it, what the encoder may do,
/// as the sample before the job has it and the user was told.
int DelayOf(const Plan& plan, const JobFolder& folder, const AVCodecParameters& video) {
  int delay = HoldsEarlyTimes(ContainerOf(plan.output)) ? 0 : video.video_delay;
  for (const Segment& segment : folder.segments()) delay = std::max(delay, segment.delay);
  return delay;
}

/// The segments' packets one after another, in the setup's time base.
class SegmentPackets {
 public:
  SegmentPackets(const Plan& plan, const JobFolder& folder, int delay)
      : plan_(plan), folder_(folder), decoding_(delay, UsualDuration(plan.encoder)) {}

  /// Null at the end.
  PacketPtr Next() {
    while (true) {
      if (file_ == nullptr && !OpenNext()) return nullptr;
      PacketPtr packet = NewPacket();
      const int result = av_read_frame(file_.get(), packet.get());
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
      file_.reset();
    }
  }

 private:
  bool OpenNext() {
    if (opened_ == folder_.segments().size()) return false;
    const auto path = folder_.SegmentPath(opened_++);
    AVFormatContext* format = nullptr;
    CheckAv(avformat_open_input(&format, ("file:" + path.string()).c_str(), nullptr, nullptr),
            path.string());
    file_.reset(format);
    // Packets as they were written: no second guess of their times.
    format->flags |= AVFMT_FLAG_NOPARSE | AVFMT_FLAG_NOFILLIN;
    return true;
  }

  void Stamp(AVPacket& packet) {
    const Segment& segment = folder_.segments()[opened_ - 1];
    packet.pts = av_rescale_q(packet.pts, file_->streams[0]->time_base, plan_.encoder.time_base) -
                 kSegmentStart + segment.first_time;
    packet.dts = decoding_.Of(packet.pts);
    packet.pos = -1;
  }

  const Plan& plan_;
  const JobFolder& folder_;
  DecodingTimes decoding_;
  InputPtr file_;
  PacketPtr alpha_;  // of the packet to come
  size_t opened_ = 0;
};

/// The same with durations: until the next frame that is shown, of the last one its own, or that of
/// the frame before it where the input tells none: MP4 shows none that lasts no time.
class VideoPackets {
 public:
  VideoPackets(const Plan& plan, const JobFolder& folder, int delay)
      : packets_(plan, folder, delay), last_duration_(folder.segments().back().last_duration) {}

  PacketPtr Next() {
    // Packets to come are shown after the time of decoding of those that are here.
    while (!ended_ && (ahead_.empty() || ahead_.back()->dts <= ahead_.front()->pts)) {
      PacketPtr packet = packets_.Next();
      ended_ = packet == nullptr;
      if (ended_) break;
      shown_.insert(packet->pts);
      ahead_.push_back(std::move(packet));
    }
    if (ahead_.empty()) return nullptr;
    PacketPtr packet = std::move(ahead_.front());
    ahead_.pop_front();
    const auto after = shown_.upper_bound(packet->pts);
    packet->duration = after == shown_.end() ? LastDuration(packet->pts) : *after - packet->pts;
    longest_ = std::max(longest_, packet->duration);
    shown_.erase(shown_.begin(), shown_.lower_bound(packet->dts));
    ++count_;
    return packet;
  }
  int64_t count() const { return count_; }

 private:
  int64_t LastDuration(int64_t time) const {
    if (last_duration_ > 0) return last_duration_;
    const auto last = shown_.find(time);
    return last == shown_.begin() ? std::max<int64_t>(1, longest_) : time - *std::prev(last);
  }

  SegmentPackets packets_;
  const int64_t last_duration_;
  int64_t longest_ = 0;  // of those before
  std::deque<PacketPtr> ahead_;
  std::set<int64_t> shown_;  // times of packets that are here, and of some before them
  bool ended_ = false;
  int64_t count_ = 0;
};

/// The input's packets of streams that are carried, but for the video.
class OtherPackets {
 public:
  OtherPackets(Input& input, const OutputWriter& output) : input_(input), output_(output) {}
  PacketPtr Next() {
    while (PacketPtr packet = input_.Read())
      if (packet->stream_index != input_.video_index() && output_.Carries(packet->stream_index))
        return packet;
    return nullptr;
  }

 private:
  Input& input_;
  const OutputWriter& output_;
};

}  // namespace

Assembled Assemble(const Plan& plan, const JobFolder& folder, const std::filesystem::path& file,
                   std::stop_token stop) {
  Input input(plan.input, plan.cut);
  OutputPtr format = NewOutput(plan, file);
  CheckWrite(avio_open(&format->pb, ("file:" + file.string()).c_str(), AVIO_FLAG_WRITE), file);
  const ParametersPtr parameters = Encoder(plan.encoder).Parameters();
  const int delay = DelayOf(plan, folder, *parameters);
  OutputWriter output(plan, input, *parameters, delay, std::move(format));
  VideoPackets video(plan, folder, delay);
  OtherPackets others(input, output);
  WriteInterleaved(
      input, plan, [&] { return video.Next(); }, [&] { return others.Next(); }, output, stop);
  output.Finish();
  return {video.count(), output.written()};
}

}  // namespace fettle::enhance
