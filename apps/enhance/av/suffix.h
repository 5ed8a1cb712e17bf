// What files of a container are called.
#pragma once

#include <string>

#include "av/av.h"

namespace fettle::enhance {

/// The suffix that files of a container have, ".ts" for mpegts; its own name where they have none.
std::string SuffixOf(const AVOutputFormat& container);

}  // namespace fettle::enhance
