// Tables that say what becomes of a sample, by its value, the light around it and how it differs
// from its neighbours.
#pragma once

#include <array>

namespace fettle::enhance {

/// Knots of each axis; between them is interpolated. Levels are those of 8 bits, whatever the
/// depth.
inline constexpr int kKnots = 17;
inline constexpr int kKnotLevels = 16;  // between knots of the pixel and of the mean
using Curve = std::array<float, kKnots>;
/// One curve for each knot of the mean around a pixel.
using Table = std::array<Curve, kKnots>;

/// What a scene is sent through. Of three axes (pixel, mean, difference) no step couples the first
/// and the last, so two tables of two axes stand for one of three.
struct Tables {
  bool has_tone = false;
  Table tone = {};  // [mean][pixel] -> level
  bool has_detail = false;
  /// [mean][size of the difference from the neighbourhood] -> levels that are added away from it.
  Table detail = {};
  bool fine = false;  // knots of the difference half a level apart instead of two
  int distance = 1;   // of the eight neighbours, which count 1 2 1 each way
  bool has_chroma = false;
  Curve chroma = {};  // [mean] -> factor of chroma, 0 to 3.9

  friend bool operator==(const Tables&, const Tables&) = default;
};

}  // namespace fettle::enhance
