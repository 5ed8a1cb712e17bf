#include "base/version.h"

namespace fettle {

std::string_view LibraryVersion() { return FETTLE_VERSION; }

}  // namespace fettle
