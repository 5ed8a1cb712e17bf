#include "av/tag_losses.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <set>

namespace fettle::enhance {
namespace {

/// What programs write of their own file, and what is told in another way.
constexpr auto kOfTheFile = std::to_array<std::string_view>(
    {"major_brand", "minor_version", "compatible_brands", "encoder", "software", "vendor_id",
     "duration", "alpha_mode", "creation_time", "bps", "number_of_frames", "number_of_bytes",
     "_statistics_writing_app", "_statistics_writing_date_utc", "_statistics_tags", "rotate"});
/// What writers put where nobody says anything.
constexpr auto kUsualValues = std::to_array<std::string_view>(
    {"und", "VideoHandler", "SoundHandler", "SubtitleHandler", "DataHandler", "DataHandle"});

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

/// "location-eng" is "location" in another language of the file.
std::string BaseOf(std::string_view name) {
  std::string base = Lower(name);
  const size_t dash = base.rfind('-');
  if (dash != std::string::npos && base.size() == dash + 4) base.resize(dash);
  return base;
}

template <typename Names>
bool Has(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

void AddLost(const AVDictionary* from, const AVDictionary* to, std::set<std::string>& lost) {
  std::set<std::string> there;
  const AVDictionaryEntry* entry = nullptr;
  while ((entry = av_dict_get(to, "", entry, AV_DICT_IGNORE_SUFFIX)) != nullptr)
    there.insert(BaseOf(entry->key));
  while ((entry = av_dict_get(from, "", entry, AV_DICT_IGNORE_SUFFIX)) != nullptr) {
    const std::string name = BaseOf(entry->key);
    if (!Has(kOfTheFile, name) && !Has(kUsualValues, entry->value) && *entry->value != '\0' &&
        !there.contains(name))
      lost.insert(name);
  }
}

std::vector<std::string> LostColours(const Colour& wanted, const AVCodecParameters& got) {
  std::vector<std::string> lost;
  const auto compare = [&](int told, int unsaid, int found, const char* name) {
    if (told != unsaid && told != found) lost.emplace_back(name);
  };
  compare(wanted.primaries, AVCOL_PRI_UNSPECIFIED, got.color_primaries, "primaries");
  compare(wanted.transfer, AVCOL_TRC_UNSPECIFIED, got.color_trc, "transfer");
  const bool rgb = got.color_space == AVCOL_SPC_RGB;  // as the encoder makes it
  compare(rgb ? AVCOL_SPC_UNSPECIFIED : wanted.matrix, AVCOL_SPC_UNSPECIFIED, got.color_space,
          "matrix");
  // Studio range is what it is where nobody says.
  compare(wanted.range == AVCOL_RANGE_MPEG || rgb ? AVCOL_RANGE_UNSPECIFIED : wanted.range,
          AVCOL_RANGE_UNSPECIFIED, got.color_range, "full range");
  return lost;
}

struct SideDataRow {
  AVPacketSideDataType type;
  std::string_view what;
};
constexpr std::array kSideData = {
    SideDataRow{AV_PKT_DATA_MASTERING_DISPLAY_METADATA, "the mastering display's light (HDR10)"},
    SideDataRow{AV_PKT_DATA_CONTENT_LIGHT_LEVEL, "the content's light level (HDR10)"},
    SideDataRow{AV_PKT_DATA_STEREO3D, "how its two views are packed (stereo 3D)"},
    SideDataRow{AV_PKT_DATA_SPHERICAL, "how it is projected (360 degrees)"},
    SideDataRow{AV_PKT_DATA_DOVI_CONF, "the metadata of Dolby Vision"},
};

bool HasSideData(const AVStream& stream, AVPacketSideDataType type) {
  return av_stream_get_side_data(&stream, type, nullptr) != nullptr;
}

std::vector<std::string> LostFlags(int wanted, int got) {
  std::vector<std::string> lost;
  // The default one is chosen again where a container has no such flag.
  for (int bit = 2; bit != 0 && bit <= AV_DISPOSITION_STILL_IMAGE; bit <<= 1)
    if ((wanted & bit) && !(got & bit))
      if (const char* name = av_disposition_to_string(bit)) lost.emplace_back(name);
  return lost;
}

void AddVideoLosses(const AVStream& from, const AVStream& to, const EncoderSetup& encoder,
                    std::vector<std::string>& losses) {
  const std::vector<std::string> colours = LostColours(encoder.colour, *to.codecpar);
  if (!colours.empty())
    losses.push_back(
        fmt::format("the video no longer states its colours' {}", fmt::join(colours, ", ")));
  for (const SideDataRow& row : kSideData)
    if (HasSideData(from, row.type) && !HasSideData(to, row.type))
      losses.push_back(fmt::format("the video no longer states {}", row.what));
}

}  // namespace

TagLoss TagLossOf(const Input& input, const std::vector<int>& places, const EncoderSetup& encoder,
                  const AVFormatContext& output) {
  std::vector<std::string> losses;
  std::set<std::string> tags;
  AddLost(input.format().metadata, output.metadata, tags);
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] < 0 || places[i] >= static_cast<int>(output.nb_streams)) continue;
    const AVStream &from = *input.format().streams[i], &to = *output.streams[places[i]];
    AddLost(from.metadata, to.metadata, tags);
    const std::vector<std::string> flags = LostFlags(from.disposition, to.disposition);
    if (!flags.empty())
      losses.push_back(fmt::format("stream {} is no longer marked: {}", i, fmt::join(flags, ", ")));
    if (static_cast<int>(i) == input.video_index()) AddVideoLosses(from, to, encoder, losses);
  }
  if (!tags.empty())
    losses.push_back(fmt::format("{}: {}", tags.size() == 1 ? "a tag is lost" : "tags are lost",
                                 fmt::join(tags, ", ")));
  return {std::move(losses), tags.size()};
}

}  // namespace fettle::enhance
