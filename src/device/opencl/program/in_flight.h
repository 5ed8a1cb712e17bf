// Markers for work that may kill its process: written before the work and removed after it. A
// marker of a dead process means a crash.
#pragma once

#include <memory>
#include <string>

namespace fettle {

/// A marker in a folder, removed when the object is destroyed. The file is locked while its process
/// lives, so that a process number used again is no matter. Belongs to one thread.
class InFlight {
 public:
  /// Null where the folder cannot be written; the work then runs without a marker.
  static std::unique_ptr<InFlight> Begin(const std::string& folder, const std::string& key);
  ~InFlight();
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;

  /// How many processes have died while trying `key`; any process may ask.
  static int Crashes(const std::string& folder, const std::string& key);
  /// Forgets them.
  static void Forgive(const std::string& folder, const std::string& key);

 private:
  InFlight(std::string path, int file) : path_(std::move(path)), file_(file) {}
  std::string path_;
  int file_;
};

}  // namespace fettle
