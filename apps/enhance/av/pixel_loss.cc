#include "av/pixel_loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "av/alpha.h"

namespace fettle::enhance {
namespace {

const AVPixFmtDescriptor& Described(AVPixelFormat format) { return *av_pix_fmt_desc_get(format); }

bool IsColourOf(const AVPixFmtDescriptor& desc, uint64_t flags) {
  return (desc.flags & flags) != 0;
}

/// RGB, or a palette of it.
bool IsRgb(const AVPixFmtDescriptor& desc) {
  return IsColourOf(desc, AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL);
}

int MostBits(const AVPixFmtDescriptor& desc) {
  const std::span parts(desc.comp, desc.nb_components);
  return std::ranges::max(parts, {}, &AVComponentDescriptor::depth).depth;
}

/// "4:2:0"; "" where there is no chroma.
std::string SamplingOf(const AVPixFmtDescriptor& desc) {
  if (IsRgb(desc)) return "4:4:4";
  if (desc.nb_components < 3) return "";
  const int across = 4 >> desc.log2_chroma_w;
  return fmt::format("4:{}:{}", across, desc.log2_chroma_h == 0 ? across : 0);
}

std::vector<std::string> Parts(AVPixelFormat from_format, AVPixelFormat to_format, bool transparent,
                               bool rounded) {
  const AVPixFmtDescriptor &from = Described(from_format), &to = Described(to_format);
  std::vector<std::string> parts;
  if (transparent && !HasAlpha(to_format)) parts.emplace_back("transparency is lost");
  if (MostBits(to) < MostBits(from))
    parts.push_back(fmt::format("{} bits become {}", MostBits(from), MostBits(to)));
  if (rounded && IsRgb(from)) parts.emplace_back("RGB becomes YUV and its colours are rounded");
  if (rounded && !IsRgb(from) && IsRgb(to))
    parts.emplace_back("YUV becomes RGB and its colours are rounded");
  const bool fewer = (to.log2_chroma_w > from.log2_chroma_w && !IsRgb(to)) ||
                     (to.log2_chroma_h > from.log2_chroma_h && !IsRgb(to)) ||
                     SamplingOf(to).empty();
  if (fewer && !SamplingOf(from).empty())
    parts.push_back(SamplingOf(to).empty()
                        ? "colour is lost"
                        : fmt::format("{} colour becomes {}", SamplingOf(from), SamplingOf(to)));
  return parts;
}

}  // namespace

std::string PixelLoss(AVPixelFormat from, AVPixelFormat to, bool transparent, bool rounded) {
  const std::vector<std::string> parts = Parts(from, to, transparent, rounded);
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i)
    text += fmt::format("{}{}{}", i == 0 ? "" : ", ", i > 0 && i + 1 == parts.size() ? "and " : "",
                        parts[i]);
  return text;
}

int PixelLossCount(AVPixelFormat from, AVPixelFormat to, bool transparent) {
  return static_cast<int>(Parts(from, to, transparent, true).size());
}

}  // namespace fettle::enhance
