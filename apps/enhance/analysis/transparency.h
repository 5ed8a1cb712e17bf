// Whether a video or picture shows any transparency.
#pragma once

#include <filesystem>

#include "av/cut.h"

namespace fettle::enhance {

/// Whether a pixel is not opaque. Looks at frames from the first on until it finds one; after
/// `kMostLookedAt` frames it assumes that there may be one.
bool ShowsThrough(const std::filesystem::path& path, Cut cut);
inline constexpr int kMostLookedAt = 3000;

}  // namespace fettle::enhance
