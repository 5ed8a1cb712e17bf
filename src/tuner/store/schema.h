// The tables of the tuning database, and whether a file has them.
#pragma once

#include "tuner/store/sqlite.h"

namespace fettle::tuner {

inline constexpr int64_t kApplicationId = 0x46544c44;  // "FTLD"
inline constexpr int64_t kSchemaVersion = 1;

/// Makes the tables in an empty file; in another, checks that they are exactly ours. Fails with
/// kCorrupt where they are not, kVersionMismatch where a newer Fettle made them.
Status PrepareSchema(sqlite::Connection& connection);

/// Whether rows lie in the file as in ours, whatever else does; kCorrupt otherwise.
Status CheckRowTable(sqlite::Connection& connection);

}  // namespace fettle::tuner
