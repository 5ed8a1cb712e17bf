// The demonstration picture: a rendered landscape with soft and hard edges and fine texture.
#pragma once

#include "io/picture.h"

namespace fettle::demo {

/// The same pixels at every call.
tools::Picture RenderLandscape(int64_t width, int64_t height);

}  // namespace fettle::demo
