// How blocks move from one picture to the next, as seen from the middle between them.
#pragma once

#include <array>
#include <vector>

#include "motion/blocks.h"
#include "motion/padded.h"

namespace fettle::enhance {

/// In quarters of a sample.
struct Vector {
  int x = 0, y = 0;
  friend bool operator==(const Vector&, const Vector&) = default;
};

/// A block between two pictures is where it moves by half its motion: it shows the first picture at
/// -half and the second one at +half.
struct Match {
  Vector half;
  uint32_t error = 0;  // of the window, summed over 256 samples
};

struct MotionField {
  int across = 0, down = 0;  // blocks of 8x8
  std::vector<Match> matches;

  Match& at(int x, int y) { return matches[static_cast<size_t>(y) * across + x]; }
  const Match& at(int x, int y) const { return matches[static_cast<size_t>(y) * across + x]; }
};

/// A plane at whole and half samples: [0] itself, [1] half a sample right, [2] below, [3] both.
template <typename Sample>
struct HalfSamples {
  std::array<Padded<Sample>, 4> planes;

  /// Reads the plane, of `depth` bits.
  void Fill(const Plane& plane);
  /// The window whose first sample is at (x, y), in quarters of a sample, drawn to the room around
  /// the plane where it lies farther out.
  Source<Sample> At(int x, int y) const;
};

/// Luma in 8 bits: level 0 with half samples, each further one half as large.
struct Pyramid {
  HalfSamples<uint8_t> whole;
  std::vector<Padded<uint8_t>> smaller;

  void Fill(const Plane& luma);
  int levels() const { return static_cast<int>(smaller.size()) + 1; }
  /// At whole samples alone where `level` is above 0.
  Source<uint8_t> At(int level, int x, int y) const;
  const Padded<uint8_t>& level(int level) const {
    return level == 0 ? whole.planes[0] : smaller[static_cast<size_t>(level) - 1];
  }
};

/// Searches from the smallest level on: candidates are what blocks around and the level above
/// found, then steps down to a quarter of a sample; a vector pays for what it differs from those
/// around. Pictures of one size.
MotionField FindMotion(const Pyramid& a, const Pyramid& b);

}  // namespace fettle::enhance
