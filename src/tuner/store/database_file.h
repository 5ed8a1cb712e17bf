// The database as a file among others: where it is, whose it is, putting it aside.
#pragma once

#include <string>

#include "base/status.h"

namespace fettle::tuner {

/// `folder`/tuning.db; where `folder` is empty, that of $XDG_CACHE_HOME/fettle or
/// $HOME/.cache/fettle. "" where neither variable has an absolute path.
std::string DatabasePath(const std::string& folder);

/// Makes the folder of `path` and follows links. Fails with kCorrupt where something other than a
/// file has the name, kIo where nothing can be there.
Result<std::string> ResolveDatabase(const std::string& path);

/// Renames the database and its log to a free name beside it, which is returned.
Result<std::string> SetAside(const std::string& path);

/// Held while a database is opened, made or set aside, so that no process moves away what another
/// has just made. Where the folder cannot be locked, or not within some seconds, nothing is held.
class FolderLock {
 public:
  explicit FolderLock(const std::string& path_in_folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_;
};

/// Which file has a name now: another one after a rename. 0 and 0 where there is none.
struct FileIdentity {
  uint64_t device = 0, inode = 0;
  bool operator==(const FileIdentity&) const = default;
};
FileIdentity IdentityOf(const std::string& path);

}  // namespace fettle::tuner
