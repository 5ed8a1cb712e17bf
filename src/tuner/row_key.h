// Which rows speak of the same thing.
#pragma once

#include <string_view>

#include "tuner/store.h"

namespace fettle::tuner {

/// A device's fingerprint up to "; driver ", which a device whose driver can change ends with.
std::string_view Hardware(std::string_view fingerprint);

/// `key` without build, protocol and driver: rows of equal subject are priors of each other.
RowKey Subject(const RowKey& key);

}  // namespace fettle::tuner
