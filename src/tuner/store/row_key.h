// Which rows speak of the same thing.
#pragma once

#include <cstdint>
#include <string_view>

#include "tuner/store/store.h"

namespace fettle::tuner {

/// A device's fingerprint up to "; driver ", which a device whose driver can change ends with.
std::string_view Hardware(std::string_view fingerprint);

/// `key` without build, protocol and driver: rows of equal subject are priors of each other.
RowKey Subject(const RowKey& key);
bool SameSubject(const RowKey& a, const RowKey& b);

/// Seconds since 1970.
int64_t UnixNow();

/// The row as every store keeps it: no prior, dated now where it has no date, NaN (an error that
/// nobody could compute) as infinity and -0 as 0, since SQLite has neither.
Row Stored(const Row& row);

/// 64-bit hashes, the same on every machine.
uint64_t SubjectHash(const RowKey& key);
uint64_t KeyHash(const RowKey& key);
/// Over all of a stored row, so that a flipped bit anywhere shows.
uint64_t Checksum(const RowKey& key, const Row& row);

}  // namespace fettle::tuner
