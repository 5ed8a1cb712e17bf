// The version of the library.
#pragma once

#include <string_view>

namespace fettle {

/// "0.1.0".
std::string_view LibraryVersion();

}  // namespace fettle
