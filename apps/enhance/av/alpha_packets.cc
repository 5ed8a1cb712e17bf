#include "av/alpha_packets.h"

#include <cstring>

namespace fettle::enhance {

void AddAlphaStream(AVFormatContext& output) {
  AVStream* stream = avformat_new_stream(&output, nullptr);
  if (stream == nullptr) throw std::bad_alloc();
  stream->codecpar->codec_type = AVMEDIA_TYPE_DATA;
  stream->codecpar->codec_tag = MKTAG('A', 'L', 'P', 'H');
  stream->time_base = output.streams[0]->time_base;
}

PacketPtr TakeAlpha(const AVPacket& packet) {
  size_t size = 0;
  const uint8_t* bytes =
      av_packet_get_side_data(&packet, AV_PKT_DATA_MATROSKA_BLOCKADDITIONAL, &size);
  if (bytes == nullptr) return nullptr;
  PacketPtr alpha = NewPacket();
  CheckAv(av_new_packet(alpha.get(), static_cast<int>(size)), "a packet of alpha");
  std::memcpy(alpha->data, bytes, size);
  alpha->pts = packet.pts;
  alpha->dts = packet.dts;
  alpha->flags = AV_PKT_FLAG_KEY;
  alpha->stream_index = kAlphaStream;
  return alpha;
}

void GiveAlpha(const AVPacket& alpha, AVPacket& packet) {
  const auto size = static_cast<size_t>(alpha.size);
  uint8_t* bytes = av_packet_new_side_data(&packet, AV_PKT_DATA_MATROSKA_BLOCKADDITIONAL, size);
  if (bytes == nullptr) throw std::bad_alloc();
  std::memcpy(bytes, alpha.data, size);
}

}  // namespace fettle::enhance
