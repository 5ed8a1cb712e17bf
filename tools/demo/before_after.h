// Before and after in one picture.
#pragma once

#include "base/status.h"
#include "io/picture.h"

namespace fettle::demo {

/// A picture of the size of `after`: the left half is `before`, cubically resized to that size, the
/// right half `after`, with a thin white line between them. Fails with kInvalidArgument where one
/// is grey and the other is not.
Result<tools::Picture> BeforeAfter(const tools::Picture& before, const tools::Picture& after);

}  // namespace fettle::demo
