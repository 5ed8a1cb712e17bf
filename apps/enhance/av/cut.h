// A part of a video by time: --start and --duration.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "av/av.h"

namespace fettle::enhance {

/// In AV_TIME_BASE, from the input's own begin on.
struct Cut {
  int64_t start = 0, duration = 0;  // a duration of 0: to the end

  bool any() const { return start > 0 || duration > 0; }
};

/// "83.5", "1:23.5" or "0:01:23.5" in AV_TIME_BASE; none where it is no time.
std::optional<int64_t> ReadTime(const std::string& text);

/// Packets of a file in, those that the part needs out, with times from the part's start on: of the
/// video from the last key frame on, so that its frames can be decoded; of sound those that begin
/// in it; of subtitles also what is shown at its start. Belongs to one thread.
class Cutter {
 public:
  /// `format` must live as long.
  Cutter(const AVFormatContext& format, int video, Cut cut);

  /// As it was read; null at the end of the file.
  void Take(PacketPtr packet);
  /// The next one that is ready; null: more are to be taken.
  PacketPtr Give();
  /// Nothing more comes but by Give.
  bool ended() const { return ended_; }
  /// After a seek.
  void Forget();
  /// Whether a frame with a time of a packet that was given is shown in the part.
  bool Holds(int64_t time) const;
  const Cut& cut() const { return cut_; }

 private:
  void TakeVideo(PacketPtr packet);
  bool KeepsOther(AVPacket& packet) const;
  void Hold(PacketPtr packet);
  void DropVideo();
  AVRational BaseOf(int stream) const { return format_.streams[stream]->time_base; }

  const AVFormatContext& format_;
  const int video_;
  const Cut cut_;
  int64_t begin_ = 0, end_ = INT64_MAX;  // in AV_TIME_BASE, as the file counts
  std::deque<PacketPtr> held_;
  int64_t held_bytes_ = 0;
  bool begun_ = false;        // what is held can go
  bool video_ended_ = false;  // all of its packets that are needed were taken
  bool ended_ = false;
};

/// Where what a file shows begins, in AV_TIME_BASE: what decoders of sound begin with may be
/// earlier.
int64_t BeginOf(const AVFormatContext& format);

/// Those of `to`, which are of all of `from`, in the part alone, from its start on.
void CutChapters(const Cut& cut, const AVFormatContext& from, AVFormatContext& to);

}  // namespace fettle::enhance
