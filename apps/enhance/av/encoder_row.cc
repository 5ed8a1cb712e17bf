#include "av/encoder_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <sstream>

#include "basics/nearest.h"

namespace fettle::enhance {
namespace {

constexpr std::string_view kX264Presets =
    "ultrafast superfast veryfast faster fast medium slow slower veryslow placebo";

/// With one quantiser for all frames.
EncoderRow Nvenc(std::string_view name, AVCodecID codec) {
  return {.name = name,
          .codec = codec,
          .quality = "qp",
          .usual_quality = 22,
          .most_quality = 51,
          .preset_option = "preset",
          .usual_preset = "p4",
          .presets = {"p1 p2 p3 p4 p5 p6 p7"},
          .fixed = {{"rc", "constqp"}}};
}

EncoderRow Vaapi(std::string_view name, AVCodecID codec) {
  return {.name = name,
          .codec = codec,
          .quality = "qp",
          .usual_quality = 22,
          .least_quality = 1,
          .most_quality = 51,
          .fixed = {{"rc_mode", "CQP"}}};
}

bool HasPreset(const PresetChoices& presets, const std::string& preset) {
  if (!presets.words.empty())
    return fmt::format(" {} ", presets.words).find(fmt::format(" {} ", preset)) !=
           std::string::npos;
  int number = 0;
  const auto [end, error] = std::from_chars(preset.data(), preset.data() + preset.size(), number);
  return error == std::errc() && end == preset.data() + preset.size() && number >= presets.least &&
         number <= presets.most;
}

void CheckPreset(const EncoderRow& row, const std::string& preset) {
  if (row.preset_option.empty())
    throw Failure(kExitUsage, fmt::format("--preset: {} has no presets", row.name));
  if (HasPreset(row.presets, preset)) return;
  if (row.presets.words.empty())
    throw Failure(kExitUsage,
                  fmt::format("--preset: {} has no '{}'; it has whole numbers from {} to {}",
                              row.name, preset, row.presets.least, row.presets.most));
  std::istringstream words{std::string(row.presets.words)};
  const std::vector<std::string> names{std::istream_iterator<std::string>(words), {}};
  throw Failure(kExitUsage, fmt::format("--preset: {} has no '{}'{}", row.name, preset,
                                        Alternatives(preset, names)));
}

void CheckQuality(const EncoderRow& row, int crf) {
  if (row.quality.empty())
    throw Failure(kExitUsage, fmt::format("--crf: {} has no quality to set", row.name));
  if (crf < row.least_quality || crf > row.most_quality)
    throw Failure(kExitUsage, fmt::format("--crf: {} has no {}; it has {} to {}", row.name, crf,
                                          row.least_quality, row.most_quality));
}

}  // namespace

std::span<const EncoderRow> EncoderRows() {
  static const std::array rows = {
      EncoderRow{.name = "libx264",
                 .codec = AV_CODEC_ID_H264,
                 .quality = "crf",
                 .usual_quality = 18,
                 .most_quality = 51,
                 .preset_option = "preset",
                 .usual_preset = "veryfast",
                 .presets = {kX264Presets}},
      EncoderRow{.name = "libx265",
                 .codec = AV_CODEC_ID_HEVC,
                 .quality = "crf",
                 .usual_quality = 20,
                 .most_quality = 51,
                 .preset_option = "preset",
                 .usual_preset = "superfast",
                 .presets = {kX264Presets},
                 // Of smaller pictures of 4:4:4 and 10 bits 3.5 reads behind its memory.
                 .least_side = 64,
                 .fixed = {{"x265-params", "log-level=none"}}},
      EncoderRow{.name = "libvpx-vp9",
                 .codec = AV_CODEC_ID_VP9,
                 .quality = "crf",
                 .usual_quality = 24,
                 .most_quality = 63,
                 .preset_option = "cpu-used",
                 .usual_preset = "6",
                 .presets = {"", -8, 8},
                 .fixed = {{"b", "0"}, {"deadline", "good"}, {"row-mt", "1"}}},
      EncoderRow{.name = "libsvtav1",
                 .codec = AV_CODEC_ID_AV1,
                 .quality = "crf",
                 .usual_quality = 28,
                 .most_quality = 63,
                 .preset_option = "preset",
                 .usual_preset = "10",
                 .presets = {"", 0, 12},
                 .least_side = 64},
      EncoderRow{.name = "mpeg4",
                 .codec = AV_CODEC_ID_MPEG4,
                 .quality = "qmin",
                 .usual_quality = 3,
                 .least_quality = 1,
                 .most_quality = 31,
                 .preset_option = "qmax",
                 .usual_preset = "5",
                 .presets = {"", 1, 31}},
      EncoderRow{.name = "prores_ks", .codec = AV_CODEC_ID_PRORES},
      EncoderRow{.name = "ffv1", .codec = AV_CODEC_ID_FFV1, .fixed = {{"level", "3"}}},
      EncoderRow{.name = "qtrle", .codec = AV_CODEC_ID_QTRLE},
      EncoderRow{.name = "png", .codec = AV_CODEC_ID_PNG},
      Nvenc("h264_nvenc", AV_CODEC_ID_H264),
      Nvenc("hevc_nvenc", AV_CODEC_ID_HEVC),
      Vaapi("h264_vaapi", AV_CODEC_ID_H264),
      Vaapi("hevc_vaapi", AV_CODEC_ID_HEVC),
  };
  return rows;
}

std::vector<std::string_view> EncoderNames() {
  std::vector<std::string_view> names;
  for (const EncoderRow& row : EncoderRows()) names.push_back(row.name);
  return names;
}

bool IsPresent(const EncoderRow& row) {
  return avcodec_find_encoder_by_name(std::string(row.name).c_str()) != nullptr;
}

std::map<std::string, std::string> OptionsOf(const EncoderRow& row, int crf,
                                             const std::string& preset) {
  std::map<std::string, std::string> options = row.fixed;
  if (!preset.empty()) CheckPreset(row, preset);
  if (crf >= 0) CheckQuality(row, crf);
  if (!row.preset_option.empty())
    options[std::string(row.preset_option)] =
        preset.empty() ? std::string(row.usual_preset) : preset;
  if (!row.quality.empty())
    options[std::string(row.quality)] = std::to_string(crf >= 0 ? crf : row.usual_quality);
  // The coarsest quantiser is none finer than the finest.
  if (row.codec == AV_CODEC_ID_MPEG4)
    options["qmax"] =
        std::to_string(std::max(std::stoi(options["qmin"]), std::stoi(options["qmax"])));
  return options;
}

}  // namespace fettle::enhance
