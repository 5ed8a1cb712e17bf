#include "av/pixels.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace fettle::enhance {
namespace {

constexpr std::array kFullRangeNames = {
    std::pair(AV_PIX_FMT_YUVJ420P, AV_PIX_FMT_YUV420P),
    std::pair(AV_PIX_FMT_YUVJ422P, AV_PIX_FMT_YUV422P),
    std::pair(AV_PIX_FMT_YUVJ444P, AV_PIX_FMT_YUV444P),
    std::pair(AV_PIX_FMT_YUVJ440P, AV_PIX_FMT_YUV440P),
    std::pair(AV_PIX_FMT_YUVJ411P, AV_PIX_FMT_YUV411P),
};

AVPixelFormat Plain(AVPixelFormat format) {
  for (const auto& [old, plain] : kFullRangeNames)
    if (old == format) return plain;
  return format;
}

bool IsFullRange(const AVFrame& frame) {
  const auto format = static_cast<AVPixelFormat>(frame.format);
  if (frame.color_range != AVCOL_RANGE_UNSPECIFIED) return frame.color_range == AVCOL_RANGE_JPEG;
  return Plain(format) != format || (av_pix_fmt_desc_get(format)->flags & AV_PIX_FMT_FLAG_RGB);
}

int MatrixOf(const AVFrame& frame) {
  switch (frame.colorspace) {
    case AVCOL_SPC_BT709: return SWS_CS_ITU709;
    case AVCOL_SPC_BT2020_NCL:
    case AVCOL_SPC_BT2020_CL: return SWS_CS_BT2020;
    case AVCOL_SPC_SMPTE240M: return SWS_CS_SMPTE240M;
    case AVCOL_SPC_FCC: return SWS_CS_FCC;
    case AVCOL_SPC_BT470BG:
    case AVCOL_SPC_SMPTE170M: return SWS_CS_ITU601;
    default: return frame.height >= 720 ? SWS_CS_ITU709 : SWS_CS_ITU601;
  }
}

/// YUV as JPEG has it: of full range, by the matrix of BT.601.
bool IsJpeg(AVPixelFormat format) { return Plain(format) != format; }

bool IsRgb(AVPixelFormat format) {
  return av_pix_fmt_desc_get(format)->flags & AV_PIX_FMT_FLAG_RGB;
}

/// The planar YUV format of these properties; `other` where FFmpeg has none.
AVPixelFormat PlanarYuv(int parts, int depth, int across, int down, AVPixelFormat other) {
  for (const AVPixFmtDescriptor* to = nullptr; (to = av_pix_fmt_desc_next(to)) != nullptr;) {
    const AVPixelFormat id = av_pix_fmt_desc_get_id(to);
    if (IsPlanarYuv(id) && to->comp[0].depth == depth && to->nb_components == parts &&
        to->log2_chroma_w == across && to->log2_chroma_h == down)
      return id;
  }
  return other;
}

}  // namespace

Colour ColourOf(const AVFrame& frame) {
  Colour colour{frame.color_range, frame.colorspace, frame.color_primaries, frame.color_trc,
                frame.chroma_location};
  const auto format = static_cast<AVPixelFormat>(frame.format);
  if (Plain(format) != format) colour.range = AVCOL_RANGE_JPEG;
  return colour;
}

bool IsPlanarYuv(AVPixelFormat format) {
  const AVPixFmtDescriptor* desc = av_pix_fmt_desc_get(format);
  constexpr uint64_t kOthers = AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_HWACCEL |
                               AV_PIX_FMT_FLAG_BITSTREAM | AV_PIX_FMT_FLAG_FLOAT |
                               AV_PIX_FMT_FLAG_BAYER | AV_PIX_FMT_FLAG_BE;
  if (desc == nullptr || (desc->flags & kOthers) || desc->nb_components == 2) return false;
  for (int i = 0; i < desc->nb_components; ++i) {
    const AVComponentDescriptor& part = desc->comp[i];
    if (part.plane != i || part.shift != 0 || part.step != (part.depth > 8 ? 2 : 1)) return false;
  }
  return Plain(format) == format;
}

AVPixelFormat WorkingFormat(AVPixelFormat format, bool deep) {
  if (IsPlanarYuv(Plain(format))) return Plain(format);
  const AVPixFmtDescriptor* desc = av_pix_fmt_desc_get(format);
  const bool alpha = desc->flags & (AV_PIX_FMT_FLAG_ALPHA | AV_PIX_FMT_FLAG_PAL);
  if (deep) return alpha ? AV_PIX_FMT_YUVA444P16 : AV_PIX_FMT_YUV444P16;
  static constexpr AVPixelFormat kVideo[] = {
      AV_PIX_FMT_YUV420P,   AV_PIX_FMT_YUV422P,   AV_PIX_FMT_YUV444P,
      AV_PIX_FMT_YUV420P10, AV_PIX_FMT_YUV422P10, AV_PIX_FMT_YUV444P10,
      AV_PIX_FMT_YUV444P12, AV_PIX_FMT_YUV444P16, AV_PIX_FMT_NONE};
  static constexpr AVPixelFormat kWithAlpha[] = {AV_PIX_FMT_YUVA444P, AV_PIX_FMT_YUVA444P10,
                                                 AV_PIX_FMT_YUVA444P12, AV_PIX_FMT_YUVA444P16,
                                                 AV_PIX_FMT_NONE};
  return avcodec_find_best_pix_fmt_of_list(alpha ? kWithAlpha : kVideo, format, alpha, nullptr);
}

AVPixelFormat WithWholeChroma(AVPixelFormat format) {
  const AVPixFmtDescriptor& desc = *av_pix_fmt_desc_get(format);
  return PlanarYuv(desc.nb_components, DepthOf(format), 0, 0, format);
}

AVPixelFormat WithDepth(AVPixelFormat format, int depth) {
  if (depth <= DepthOf(format)) return format;
  const AVPixFmtDescriptor& desc = *av_pix_fmt_desc_get(format);
  return PlanarYuv(desc.nb_components, depth, desc.log2_chroma_w, desc.log2_chroma_h, format);
}

AVPixelFormat WithoutAlpha(AVPixelFormat format) {
  const AVPixFmtDescriptor& desc = *av_pix_fmt_desc_get(format);
  if (desc.nb_components != 4 || !IsPlanarYuv(format)) return format;
  return PlanarYuv(3, DepthOf(format), desc.log2_chroma_w, desc.log2_chroma_h, format);
}

int DepthOf(AVPixelFormat format) { return av_pix_fmt_desc_get(format)->comp[0].depth; }

std::string NameOf(AVPixelFormat format) {
  const char* name = av_get_pix_fmt_name(format);
  return name == nullptr ? "none" : name;
}

void Converter::Prepare(const AVFrame& from) {
  const auto format = static_cast<AVPixelFormat>(from.format);
  if (scaler_ != nullptr && format == from_format_ && from.width == from_width_ &&
      from.height == from_height_)
    return;
  from_format_ = format;
  from_width_ = from.width;
  from_height_ = from.height;
  const int flags =
      SWS_LANCZOS | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT | SWS_FULL_CHR_H_INP | SWS_BITEXACT;
  scaler_.reset(sws_getContext(from.width, from.height, Plain(format), width_, height_, format_,
                               flags, nullptr, nullptr, nullptr));
  if (scaler_ == nullptr)
    throw Failure(kExitUnsupported, fmt::format("FFmpeg cannot convert pixels of {} to {}",
                                                NameOf(format), NameOf(format_)));
  const int matrix = MatrixOf(from);
  // RGB becomes studio luma, which the networks were trained on; everything else keeps its range,
  // but in JPEG, of which viewers expect all of it.
  const bool full = IsFullRange(from);
  const bool becomes_full = IsRgb(format_) || IsJpeg(format_) || (full && !IsRgb(format));
  sws_setColorspaceDetails(scaler_.get(), sws_getCoefficients(matrix), full,
                           sws_getCoefficients(IsJpeg(format_) ? SWS_CS_ITU601 : matrix),
                           becomes_full, 0, 1 << 16, 1 << 16);
}

FramePtr Converter::Convert(FramePtr frame) {
  const auto format = static_cast<AVPixelFormat>(frame->format);
  if (format == format_ && frame->width == width_ && frame->height == height_) return frame;
  const Colour colour = ColourOf(*frame);
  if (Plain(format) == format_ && frame->width == width_ && frame->height == height_) {
    frame->format = format_;
    frame->color_range = colour.range;
    return frame;
  }
  Prepare(*frame);
  FramePtr converted = NewFrame(format_, width_, height_);
  CheckAv(av_frame_copy_props(converted.get(), frame.get()), "a frame's properties");
  converted->color_range = colour.range;
  if (IsRgb(format) != IsRgb(format_)) {
    const bool to_rgb = IsRgb(format_);
    converted->color_range = to_rgb ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
    converted->colorspace = to_rgb                              ? AVCOL_SPC_RGB
                            : MatrixOf(*frame) == SWS_CS_ITU709 ? AVCOL_SPC_BT709
                                                                : AVCOL_SPC_SMPTE170M;
  }
  if (IsJpeg(format_)) {
    converted->color_range = AVCOL_RANGE_JPEG;
    converted->colorspace = AVCOL_SPC_BT470BG;
  }
  sws_scale(scaler_.get(), frame->data, frame->linesize, 0, frame->height, converted->data,
            converted->linesize);
  return converted;
}

}  // namespace fettle::enhance
