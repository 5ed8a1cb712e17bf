#include "av/alpha.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

namespace fettle::enhance {
namespace {

bool TellsAlphaBeside(const AVStream& stream) {
  const AVCodecID codec = stream.codecpar->codec_id;
  if (codec != AV_CODEC_ID_VP8 && codec != AV_CODEC_ID_VP9) return false;
  const AVDictionaryEntry* mode = av_dict_get(stream.metadata, "alpha_mode", nullptr, 0);
  return mode != nullptr && std::strcmp(mode->value, "1") == 0;
}

/// Encoders with alpha, and the containers in which it is found again.
struct CarrierRow {
  std::string_view encoder, containers;
};
constexpr std::array kCarriers = {
    CarrierRow{"libvpx-vp9", " webm matroska "}, CarrierRow{"prores_ks", " mov matroska "},
    CarrierRow{"ffv1", " matroska avi nut "},    CarrierRow{"qtrle", " mov "},
    CarrierRow{"png", " mov avi nut "},
};

}  // namespace

bool HasAlpha(AVPixelFormat format) {
  const AVPixFmtDescriptor* desc = av_pix_fmt_desc_get(format);
  return desc != nullptr && (desc->flags & (AV_PIX_FMT_FLAG_ALPHA | AV_PIX_FMT_FLAG_PAL)) != 0;
}

const AVCodec* AlphaDecoderOf(const AVStream& stream) {
  if (!TellsAlphaBeside(stream)) return nullptr;
  const bool vp8 = stream.codecpar->codec_id == AV_CODEC_ID_VP8;
  return avcodec_find_decoder_by_name(vp8 ? "libvpx" : "libvpx-vp9");
}

bool AlphaIsUnread(const AVStream& stream) {
  return TellsAlphaBeside(stream) && AlphaDecoderOf(stream) == nullptr;
}

bool CarriesAlpha(const AVOutputFormat& container, std::string_view encoder) {
  const std::string name = fmt::format(" {} ", container.name);
  return std::ranges::any_of(kCarriers, [&](const CarrierRow& row) {
    return row.encoder == encoder && row.containers.find(name) != std::string_view::npos;
  });
}

}  // namespace fettle::enhance
