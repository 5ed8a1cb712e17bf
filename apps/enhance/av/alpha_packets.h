// Alpha that an encoder gives beside a packet (VP8, VP9), through files that keep packets alone: as
// a packet of a second stream before the one that it belongs to.
#pragma once

#include "av/av.h"

namespace fettle::enhance {

/// The stream of a file of segments that such packets are in.
inline constexpr int kAlphaStream = 1;

/// Makes it, behind the only stream of video that there is.
void AddAlphaStream(AVFormatContext& output);
/// What is beside `packet` as a packet of that stream; null where there is nothing.
PacketPtr TakeAlpha(const AVPacket& packet);
/// The reverse.
void GiveAlpha(const AVPacket& alpha, AVPacket& packet);

}  // namespace fettle::enhance
