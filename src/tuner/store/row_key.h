// Which rows speak of the same thing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tuner/store/store.h"

namespace fettle::tuner {

/// A device's fingerprint up to "; driver ", which a device whose driver can change ends with.
std::string_view Hardware(std::string_view fingerprint);

/// `key` without build, protocol and driver: rows of equal subject are priors of each other.
RowKey Subject(const RowKey& key);
bool SameSubject(const RowKey& a, const RowKey& b);

/// False for what is no time of a computation, though a row keeps it in the same fields: ceilings,
/// and what networks taught (factors, and what a run takes beside its steps). Those may be
/// negative.
bool IsTimed(const RowKey& key);
bool IsCeiling(const RowKey& key);

/// What the figures of a row are: "us", "FLOP/s", "x" (a factor) ...; of a ceiling its own unit,
/// which may be empty.
std::string UnitOf(const RowKey& key, const Row& row);

/// Seconds since 1970.
int64_t UnixNow();

/// The row as every store keeps it: no prior, dated now where it has no date, NaN (an error that
/// nobody could compute) as infinity and -0 as 0, since SQLite has neither. No time is below 0: it
/// is infinite then, as it was not measured.
Row Stored(const RowKey& key, const Row& row);

/// 64-bit hashes, the same on every machine.
uint64_t SubjectHash(const RowKey& key);
uint64_t KeyHash(const RowKey& key);
/// Over all of a stored row, so that a flipped bit anywhere shows.
uint64_t Checksum(const RowKey& key, const Row& row);

}  // namespace fettle::tuner
