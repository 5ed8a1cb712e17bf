// A progress line with the time left, on stderr, silent where stderr is no terminal
// that takes escape codes.
#pragma once

#include <cstdint>
#include <string>

namespace fettle::tools {

/// Belongs to one thread. The line is erased by the destructor.
class Progress {
 public:
  /// `total` steps, or 0 where only a fraction is known.
  Progress(std::string label, int64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Draws at most ten times a second.
  void Update(int64_t done);
  void UpdateFraction(double fraction);

 private:
  std::string label_;
  int64_t total_;
  int64_t start_ns_;
  int64_t drawn_ns_ = 0;
  bool enabled_;
};

}  // namespace fettle::tools
