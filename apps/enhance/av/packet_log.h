// What is written, packet by packet, and how much of it is there again.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <vector>

#include "av/av.h"

namespace fettle::enhance {

struct PacketSeen {
  static constexpr double kNoTime = std::numeric_limits<double>::quiet_NaN();
  double time = kNoTime;  // of presentation, else of decoding, in seconds
  int64_t size = 0;       // in bytes
  uint32_t sum = 0;       // of its bytes, Adler-32
  bool hidden = false;    // decoders begin with it, and players do not show it
};

/// Of the streams of one file, by their numbers. Packets of no bytes are none.
class PacketLog {
 public:
  void Add(const AVPacket& packet, int stream, AVRational base);
  /// In the order of the file.
  std::span<const PacketSeen> Of(int stream) const;

 private:
  std::map<int, std::vector<PacketSeen>> packets_;
};

/// What became of a stream that was copied.
struct PacketChange {
  std::vector<double> moves;  // in seconds, of all times that both files tell
  size_t packets = 0;         // that were to be shown
  size_t lost = 0;            // of these: are not there again
  size_t others = 0;          // of these: have other bytes
};

/// `before` as it was written, `after` as it was read. Packets meet in their order; where a
/// container cuts a stream into packets of its own, as some do with PCM, by their first bytes.
/// Containers may hide the packet that sound is decoded from first, and may put a header before
/// each packet.
PacketChange ChangeOf(std::span<const PacketSeen> before, std::span<const PacketSeen> after);

}  // namespace fettle::enhance
