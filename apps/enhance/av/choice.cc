#include "av/choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "av/alpha.h"
#include "av/carrying.h"
#include "av/encoder.h"
#include "av/pixel_loss.h"
#include "basics/nearest.h"

namespace fettle::enhance {
namespace {

/// The first that is chosen for opaque frames: those without presets make large files, and are for
/// containers that hold no other.
const EncoderRow& First(const AVOutputFormat& container, const std::string& suffix) {
  for (const EncoderRow& row : EncoderRows())
    if (!IsHardware(row) && !row.preset_option.empty() && Carries(container, row)) return row;
  for (const EncoderRow& row : EncoderRows())
    if (!IsHardware(row) && Carries(container, row)) return row;
  throw Failure(
      kExitUnsupported,
      fmt::format("{} cannot hold video of any encoder here: it is for {}; use .mkv, .mp4 "
                  "or .mov (by libx264), or .webm (by libvpx-vp9)",
                  suffix, CodecsOf(container)));
}

[[noreturn]] void RefuseEncoder(const std::string& name) {
  std::vector<std::string> names = {"auto"};
  for (const std::string_view known : EncoderNames()) names.emplace_back(known);
  throw Failure(kExitUsage,
                fmt::format("--encoder: unknown encoder '{}'{}", name, Alternatives(name, names)));
}

/// The first of those that keep alpha and lose least of the pixels; the usual one where none does.
const EncoderRow& BestWithAlpha(const AVOutputFormat& container, const std::string& suffix,
                                AVPixelFormat format) {
  const EncoderRow* best = nullptr;
  int least = 0;
  for (const EncoderRow& row : EncoderRows()) {
    if (!CarriesAlpha(container, row.name) || !Carries(container, row)) continue;
    const AVPixelFormat given = EncoderFormat(std::string(row.name), format, true);
    const int losses = PixelLossCount(format, given, true);
    if (best != nullptr && losses >= least) continue;
    best = &row;
    least = losses;
  }
  return best == nullptr ? First(container, suffix) : *best;
}

}  // namespace

std::vector<std::string> EncodersToTry(const std::string& name, const AVOutputFormat& container,
                                       const std::string& suffix, AVPixelFormat format) {
  std::vector<std::string> names = {
      std::string(ChooseEncoder(name, container, suffix, format).name)};
  if (name != "auto") return names;
  for (const bool with_presets : {true, false})
    for (const EncoderRow& row : EncoderRows())
      if (!IsHardware(row) && row.preset_option.empty() != with_presets && row.name != names[0] &&
          Carries(container, row))
        names.emplace_back(row.name);
  return names;
}

const EncoderRow& ChooseEncoder(const std::string& name, const AVOutputFormat& container,
                                const std::string& suffix, AVPixelFormat format) {
  if (name == "auto")
    return HasAlpha(format) ? BestWithAlpha(container, suffix, format) : First(container, suffix);
  const auto row = std::ranges::find(EncoderRows(), name, &EncoderRow::name);
  if (row == EncoderRows().end()) RefuseEncoder(name);
  if (!IsPresent(*row))
    throw Failure(kExitUnsupported, fmt::format("this FFmpeg has no encoder {}", name));
  CheckHardware(*row);
  if (!Carries(container, *row))
    throw Failure(
        kExitUnsupported,
        fmt::format("{} cannot hold {} of {}; it can hold {}; {} can hold this one", suffix,
                    avcodec_get_name(row->codec), name, CarriedBy(container), CarriersOf(*row)));
  return *row;
}

}  // namespace fettle::enhance
