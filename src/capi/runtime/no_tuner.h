// The runtime library's answers where libfettle would tune.
#pragma once

#include <string_view>

#include "base/status.h"

namespace fettle::capi {

/// kUnsupported, naming `what` was asked for.
Status NoTuner(std::string_view what);

}  // namespace fettle::capi
