#include "av/suffix.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

#include "av/container.h"

namespace fettle::enhance {
namespace {

/// Where the first suffix of FFmpeg's list is not the usual one.
constexpr auto kUsual = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"h264", ".h264"},
    {"hevc", ".hevc"},
    {"ipod", ".m4v"},
    {"mpeg", ".mpg"},
    {"asf", ".wmv"},
    {"rawvideo", ".raw"},
});

}  // namespace

std::string SuffixOf(const AVOutputFormat& container) {
  for (const auto& [name, suffix] : kUsual)
    if (name == container.name) return std::string(suffix);
  if (container.extensions == nullptr || *container.extensions == '\0') return container.name;
  const std::string_view all = container.extensions;
  return fmt::format(".{}", all.substr(0, all.find(',')));
}

std::string SuffixOf(const std::filesystem::path& output) {
  const AVOutputFormat& container = ContainerOf(output);
  const std::string own = output.extension().string();
  const bool is_listed =
      container.extensions != nullptr && av_match_ext(own.c_str(), container.extensions) != 0;
  return is_listed ? own : SuffixOf(container);
}

}  // namespace fettle::enhance
