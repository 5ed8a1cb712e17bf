// What is read: a file's streams, its picture stream, and the frames of that.
#pragma once

#include <filesystem>
#include <functional>
#include <stop_token>

#include "av/av.h"
#include "av/cut.h"

namespace fettle::enhance {

/// An opened file. Belongs to one thread at a time.
class Input {
 public:
  /// Throws Failure (kExitInvalidInput) where it is not a video or picture.
  explicit Input(const std::filesystem::path& path, Cut cut = {});

  AVFormatContext& format() const { return *format_; }
  /// The best stream of moving pictures (or the only picture).
  AVStream& video() const { return *format_->streams[video_]; }
  int video_index() const { return video_; }
  bool is_picture() const;
  /// From the container where it says, else from the duration; 0 where neither is known.
  int64_t ExpectedFrames() const;
  /// Of the part that is read, in AV_TIME_BASE, as the container tells; 0 or less where it does
  /// not.
  int64_t Duration() const;
  const Cut& cut() const { return cut_; }
  /// Whether a frame of the video with this time is in the part.
  bool Holds(int64_t time) const { return !cutter_ || cutter_->Holds(time); }
  /// Goes to the last key frame at or before a time, from the begin of the part on. False where the
  /// file cannot be sought.
  bool SeekBefore(double seconds);
  /// The next packet; null at the end. Damaged ends are ends.
  PacketPtr Read();
  /// Whether what was read ended by an error, or long before the time that the container tells.
  bool cut_short() const;

 private:
  PacketPtr ReadNext();
  void Follow(const AVPacket& packet);
  /// Where the streams that are read end as the container tells, in AV_TIME_BASE.
  int64_t ToldEnd() const;

  std::filesystem::path path_;
  InputPtr format_;
  int video_ = -1;
  Cut cut_;
  std::optional<Cutter> cutter_;  // of a part
  bool failed_ = false;
  // In AV_TIME_BASE: where packets end, and the longest time from one picture to the next.
  int64_t end_ = AV_NOPTS_VALUE, last_video_ = AV_NOPTS_VALUE, longest_gap_ = 0;
};

/// Packets in, frames in the order of presentation out, none lost: the end is told to the codec.
class Decoder {
 public:
  /// Frames come with their quantisers (AV_FRAME_DATA_VIDEO_ENC_PARAMS) where the codec tells them;
  /// they are whole, and the same every time, with one thread alone.
  static constexpr int kWithLevels = AV_CODEC_EXPORT_DATA_VIDEO_ENC_PARAMS;

  /// Throws Failure: kExitUnsupported where there is no such decoder.
  Decoder(const Input& input, int threads, int side_data = 0);
  /// One thread, for packets that come from no file.
  Decoder(const AVCodecParameters& codec, int side_data);

  /// Gives the frames that a packet (null: the end) completes, with their time in `pts`: the best
  /// guess of the decoder, else the last one and its duration; always rising.
  void Decode(const AVPacket* packet, const std::function<void(FramePtr)>& take);
  /// Packets that no frame could be made of, or frames that are known to be wrong.
  int64_t damaged() const { return damaged_; }
  /// Frames whose own time was missing or did not rise.
  int64_t retimed() const { return retimed_; }

 private:
  /// By the codec's usual decoder unless `by` names one.
  void Open(const AVCodecParameters& codec, AVRational time_base, int threads, int side_data,
            const AVCodec* by = nullptr);
  void Stamp(AVFrame& frame);

  std::function<bool(int64_t)> holds_;  // of a part; frames at other times are not given
  CodecPtr codec_;
  int64_t usual_duration_ = 1;
  int64_t last_ = AV_NOPTS_VALUE, last_duration_ = 0;
  int64_t damaged_ = 0, retimed_ = 0;
};

/// Whether the next frame of a stream that can be read is whole and of a size; reads on to it.
bool DecodesFrame(AVFormatContext& file, const AVStream& stream, int width, int height);

}  // namespace fettle::enhance
