#include "av/sound_length.h"

namespace fettle::enhance {

SoundLength::SoundLength(const AVStream& stream) : stream_(stream) {
  const AVCodecParameters& codec = *stream.codecpar;
  if (codec.codec_id != AV_CODEC_ID_OPUS && codec.codec_id != AV_CODEC_ID_VORBIS) return;
  parser_.reset(av_parser_init(codec.codec_id));
  codec_.reset(avcodec_alloc_context3(nullptr));
  if (codec_ == nullptr) throw std::bad_alloc();
  if (parser_ == nullptr || avcodec_parameters_to_context(codec_.get(), &codec) < 0)
    parser_.reset();
  else
    parser_->flags |= PARSER_FLAG_COMPLETE_FRAMES;
}

int64_t SoundLength::Counted(const AVPacket& packet) {
  int samples = av_get_audio_frame_duration2(stream_.codecpar, packet.size);
  if (parser_ != nullptr) {
    uint8_t* out = nullptr;
    int size = 0;
    av_parser_parse2(parser_.get(), codec_.get(), &out, &size, packet.data, packet.size, packet.pts,
                     packet.dts, packet.pos);
    samples = parser_->duration;
  }
  const int rate = stream_.codecpar->sample_rate;
  return samples <= 0 || rate <= 0 ? 0 : av_rescale_q(samples, {1, rate}, stream_.time_base);
}

int64_t SoundLength::Of(const AVPacket& packet) {
  // Vorbis counts a packet by the one before it, too.
  const int64_t counted = Counted(packet);
  const int64_t length = packet.duration > 0 ? packet.duration : counted > 0 ? counted : last_;
  return last_ = length;
}

}  // namespace fettle::enhance
