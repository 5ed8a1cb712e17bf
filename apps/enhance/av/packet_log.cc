#include "av/packet_log.h"

#include <algorithm>
#include <cmath>
#include <numeric>

extern "C" {
#include <libavutil/adler32.h>
}

namespace fettle::enhance {
namespace {

using Packets = std::vector<PacketSeen>;

Packets ShownOf(std::span<const PacketSeen> packets) {
  Packets shown;
  std::ranges::copy_if(packets, std::back_inserter(shown),
                       [](const PacketSeen& one) { return !one.hidden; });
  return shown;
}

/// The last of the packets before those that are shown; null where none is hidden there.
const PacketSeen* LastHidden(std::span<const PacketSeen> packets) {
  const auto first = std::ranges::find(packets, false, &PacketSeen::hidden);
  return first == packets.begin() ? nullptr : &*(first - 1);
}

bool IsLonger(const Packets& longer, const Packets& shorter) {
  return longer.size() == shorter.size() + 1;
}

/// Where one of two files hides the packet that sound is decoded from first and the other one shows
/// it, it is left out of both.
void LeaveOutFirst(std::span<const PacketSeen> before, std::span<const PacketSeen> after,
                   Packets& wanted, Packets& got) {
  if (IsLonger(got, wanted) && LastHidden(before) != nullptr)
    got.erase(got.begin());
  else if (IsLonger(wanted, got) && LastHidden(after) != nullptr)
    wanted.erase(wanted.begin());
}

void AddMove(double before, double after, PacketChange& change) {
  if (!std::isnan(before) && !std::isnan(after)) change.moves.push_back(after - before);
}

int64_t BytesOf(const Packets& packets) {
  return std::accumulate(packets.begin(), packets.end(), int64_t{0},
                         [](int64_t sum, const PacketSeen& one) { return sum + one.size; });
}

/// Of packets that were cut again: when a byte of the old ones is shown, as they last until the
/// next.
class TimesOfBytes {
 public:
  explicit TimesOfBytes(const Packets& packets) : packets_(packets) {}

  /// `place` never falls; it is within the packets.
  double Of(int64_t place) {
    while (place >= begin_ + packets_[at_].size) begin_ += packets_[at_++].size;
    const PacketSeen& one = packets_[at_];
    const size_t from = at_ + 1 < packets_.size() || at_ == 0 ? at_ : at_ - 1;
    const double length = from + 1 < packets_.size()
                              ? (packets_[from + 1].time - packets_[from].time) /
                                    static_cast<double>(packets_[from].size)
                              : 0;
    return one.time + static_cast<double>(place - begin_) * length;
  }

 private:
  const Packets& packets_;
  size_t at_ = 0;
  int64_t begin_ = 0;  // of that packet
};

/// Into other packets with all of their bytes; containers may fill up the last one.
bool AreCutAnew(const Packets& wanted, const Packets& got) {
  const int64_t before = BytesOf(wanted), after = BytesOf(got);
  if (before == after)
    return !std::ranges::equal(wanted, got, {}, &PacketSeen::size, &PacketSeen::size);
  return got.size() < wanted.size() && after > before;
}

void MeetByBytes(const Packets& wanted, const Packets& got, PacketChange& change) {
  TimesOfBytes times(wanted);
  const int64_t end = BytesOf(wanted);
  int64_t place = 0;
  for (const PacketSeen& one : got) {
    if (place >= end) return;
    AddMove(times.Of(place), one.time, change);
    place += one.size;
  }
}

/// From the end on where there are more of one.
void MeetInOrder(const Packets& wanted, const Packets& got, PacketChange& change) {
  const size_t count = std::min(wanted.size(), got.size());
  const PacketSeen* before = wanted.data() + wanted.size() - count;
  const PacketSeen* after = got.data() + got.size() - count;
  for (size_t i = 0; i < count; ++i) {
    AddMove(before[i].time, after[i].time, change);
    // Another size is a header's, which containers put before each packet or leave out.
    if (wanted.size() == got.size() && before[i].size == after[i].size &&
        before[i].sum != after[i].sum)
      ++change.others;
  }
}

}  // namespace

void PacketLog::Add(const AVPacket& packet, int stream, AVRational base) {
  if (packet.size <= 0) return;
  const int64_t time = packet.pts != AV_NOPTS_VALUE ? packet.pts : packet.dts;
  packets_[stream].push_back(
      {.time =
           time == AV_NOPTS_VALUE ? PacketSeen::kNoTime : static_cast<double>(time) * av_q2d(base),
       .size = packet.size,
       .sum = av_adler32_update(1, packet.data, static_cast<unsigned>(packet.size)),
       .hidden = (packet.flags & AV_PKT_FLAG_DISCARD) != 0});
}

std::span<const PacketSeen> PacketLog::Of(int stream) const {
  const auto found = packets_.find(stream);
  return found == packets_.end() ? std::span<const PacketSeen>() : found->second;
}

PacketChange ChangeOf(std::span<const PacketSeen> before, std::span<const PacketSeen> after) {
  Packets wanted = ShownOf(before), got = ShownOf(after);
  LeaveOutFirst(before, after, wanted, got);
  PacketChange change{.packets = wanted.size()};
  if (AreCutAnew(wanted, got)) {
    MeetByBytes(wanted, got, change);
    return change;
  }
  if (wanted.size() > got.size()) change.lost = wanted.size() - got.size();
  MeetInOrder(wanted, got, change);
  return change;
}

}  // namespace fettle::enhance
