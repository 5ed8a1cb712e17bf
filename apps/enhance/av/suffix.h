// What files of a container are called.
#pragma once

#include <filesystem>
#include <string>

#include "av/av.h"

namespace fettle::enhance {

/// The suffix that files of a container have, ".ts" for mpegts; its own name where they have none.
std::string SuffixOf(const AVOutputFormat& container);
/// That of `output` itself where its container has it among others, as ".mjpeg" beside ".mjpg".
std::string SuffixOf(const std::filesystem::path& output);

}  // namespace fettle::enhance
