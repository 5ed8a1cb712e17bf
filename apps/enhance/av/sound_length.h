// How long packets of sound last where their file does not tell it.
#pragma once

#include <memory>

#include "av/av.h"

namespace fettle::enhance {

/// Of one stream. Containers end where their last packet does, and show none that lasts no time.
class SoundLength {
 public:
  /// Throws std::bad_alloc.
  explicit SoundLength(const AVStream& stream);
  /// Of each packet in turn, in the stream's time base: what is told, else what the codec counts,
  /// else that of the packet before; 0 where nothing is known.
  int64_t Of(const AVPacket& packet);

 private:
  struct Close {
    void operator()(AVCodecParserContext* parser) const { av_parser_close(parser); }
  };

  int64_t Counted(const AVPacket& packet);

  const AVStream& stream_;
  CodecPtr codec_;  // with the parser of codecs whose packets tell their length alone
  std::unique_ptr<AVCodecParserContext, Close> parser_;
  int64_t last_ = 0;
};

}  // namespace fettle::enhance
