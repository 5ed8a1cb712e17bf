#include "picture/encoding.h"

#include <array>

namespace fettle::enhance {
namespace {

/// Of MPEG's scale, 1 to 31, the less the better; WebP has 0 to 100.
constexpr int kJpegQuantiser = 2, kWebpQuality = 95;

}  // namespace

void SetJpegOrientation(int orientation, std::string& jpeg) {
  constexpr size_t kStart = 2, kOrientation = 28;  // after the start of image; in the segment
  // APP1 of 34 bytes: Exif, little endian, one directory of one entry, the orientation.
  std::array<char, 36> segment = {'\xFF', '\xE1', 0,  34, 'E', 'x', 'i', 'f', 0, 0,
                                  'I',    'I',    42, 0,  8,   0,   0,   0,   1, 0,
                                  0x12,   1,      3,  0,  1,   0,   0,   0};
  segment[kOrientation] = static_cast<char>(orientation);
  jpeg.insert(kStart, segment.data(), segment.size());
}

std::string EncodedPicture(const AVCodec& codec, const AVFrame& frame) {
  const CodecPtr context(avcodec_alloc_context3(&codec));
  if (context == nullptr) throw std::bad_alloc();
  context->width = frame.width;
  context->height = frame.height;
  context->pix_fmt = static_cast<AVPixelFormat>(frame.format);
  context->time_base = {1, 25};
  context->color_range = frame.color_range;
  context->sample_aspect_ratio = frame.sample_aspect_ratio;
  context->strict_std_compliance = FF_COMPLIANCE_UNOFFICIAL;  // JPEG of any range
  context->flags |= AV_CODEC_FLAG_QSCALE | AV_CODEC_FLAG_BITEXACT;
  const bool webp = codec.id == AV_CODEC_ID_WEBP;
  context->global_quality = (webp ? kWebpQuality : kJpegQuantiser) * FF_QP2LAMBDA;
  CheckAv(avcodec_open2(context.get(), &codec, nullptr), codec.name, kExitUnsupported);
  CheckAv(avcodec_send_frame(context.get(), &frame), codec.name);
  CheckAv(avcodec_send_frame(context.get(), nullptr), codec.name);
  const PacketPtr packet = NewPacket();
  CheckAv(avcodec_receive_packet(context.get(), packet.get()), codec.name);
  return {reinterpret_cast<const char*>(packet->data), static_cast<size_t>(packet->size)};
}

std::string EncodedPicture(AVCodecID id, const AVFrame& frame) {
  const AVCodec* codec = avcodec_find_encoder(id);
  if (codec == nullptr)
    throw Failure(kExitUnsupported, std::string("no encoder for ") + avcodec_get_name(id));
  return EncodedPicture(*codec, frame);
}

}  // namespace fettle::enhance
