// The actions of `fettle db`.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"
#include "tuner/store/maintenance.h"

namespace fettle::tools {

struct DbOptions {
  std::string cache;  // folder; empty: the user's
  bool json = false;
  std::string file;  // of export, import and merge; "-" for the first two: standard streams
  tuner::RowFilter filter;
  int64_t limit = 0;  // 0: all
  std::optional<double> older_than_days;
  std::optional<uint64_t> max_bytes;
};

/// Where the database of the options is.
Result<std::string> DbPath(const DbOptions& options);
/// Opens it; fails with kNotFound where there is none.
Result<std::unique_ptr<tuner::Database>> OpenDb(const DbOptions& options,
                                                tuner::Database::Access access);

// Each prints its result as a table or as JSON.
Status DbInfo(const DbOptions& options);
Status DbList(const DbOptions& options);
Status DbExport(const DbOptions& options);
Status DbVerify(const DbOptions& options);
// These change the database; the first two make it where there is none.
Status DbImport(const DbOptions& options);
Status DbMerge(const DbOptions& options);
Status DbPrune(const DbOptions& options);
Status DbTrain(const DbOptions& options);

}  // namespace fettle::tools
