#include "picture/file_format.h"

#include <fmt/format.h>

namespace fettle::enhance {

const AVCodec& PictureCodecOf(const std::filesystem::path& output) {
  const AVOutputFormat* format = av_guess_format("image2", nullptr, nullptr);
  const AVCodecID id = format == nullptr ? AV_CODEC_ID_NONE
                                         : av_guess_codec(format, nullptr, output.c_str(), nullptr,
                                                          AVMEDIA_TYPE_VIDEO);
  const AVCodec* codec = avcodec_find_encoder(id);
  if (codec == nullptr || !av_guess_format(nullptr, output.c_str(), nullptr))
    throw Failure(kExitUsage, fmt::format("{}: not the ending of a picture file", output.string()));
  return *codec;
}

AVPixelFormat PictureFormatOf(const AVCodec& codec, AVPixelFormat source) {
  const AVPixFmtDescriptor* desc = av_pix_fmt_desc_get(source);
  if (source == AV_PIX_FMT_PAL8) source = AV_PIX_FMT_RGBA;
  if (codec.pix_fmts == nullptr) return source;
  // libwebp makes YUV of RGB by WebP's own matrix and range, but takes YUV of any as if it were so.
  if (codec.id == AV_CODEC_ID_WEBP && source != AV_PIX_FMT_YUV420P && source != AV_PIX_FMT_YUVA420P)
    return AV_PIX_FMT_BGRA;
  return avcodec_find_best_pix_fmt_of_list(codec.pix_fmts, source,
                                           (desc->flags & AV_PIX_FMT_FLAG_ALPHA) != 0, nullptr);
}

bool WritesColourProfile(const AVCodec& codec) {
  // Others never do; these since libavcodec 59.24 and 59.25 of 2022.
  const bool known = codec.id == AV_CODEC_ID_PNG || codec.id == AV_CODEC_ID_MJPEG;
  return known && avcodec_version() >= AV_VERSION_INT(59, 25, 100);
}

}  // namespace fettle::enhance
