#include "tables/formulas.h"

#include <algorithm>
#include <cmath>

namespace fettle::enhance {
namespace {

/// Scenes darker than the first are dark, those lighter than the second are not.
constexpr double kDark = 60, kLight = 80;
/// Where the mean of a dark scene is to go, and the strongest power for that.
constexpr double kWantedLight = 0.4, kLeastPower = 0.35;
/// Keeps the slope at black, and with it noise, below four.
constexpr double kToe = 0.02;
/// Darkest hundredths (of 1) from which on there is a veil, and where there is surely one.
constexpr double kNoVeil = 0.08, kVeil = 0.16;

/// A table of `level(pixel, mean)`, all from 0 (black) to 1 (white); what is beyond stays.
template <typename Level>
Table ToneOf(const LumaRange& range, Level&& level) {
  Table table;
  const float span = range.white - range.black;
  for (size_t m = 0; m < kKnots; ++m)
    for (size_t p = 0; p < kKnots; ++p) {
      const auto knot = static_cast<float>(p * kKnotLevels);
      const double mean =
          std::clamp((static_cast<float>(m * kKnotLevels) - range.black) / span, 0.0f, 1.0f);
      const double pixel = (knot - range.black) / span;
      const bool beyond = pixel <= 0 || pixel >= 1;
      table[m][p] =
          beyond
              ? knot
              : range.black + span * static_cast<float>(std::clamp(level(pixel, mean), 0.0, 1.0));
    }
  return table;
}

double Relative(double level, const LumaRange& range) {
  return std::clamp((level - range.black) / (range.white - range.black), 0.0, 1.0);
}

/// How much of low light's change a scene gets.
double DarkShare(const Scene& scene) {
  return std::clamp((kLight - scene.light) / (kLight - kDark), 0.0, 1.0);
}

double ScenePower(const Scene& scene, const LumaRange& range, double strength) {
  const double light = std::max(Relative(scene.light, range), 0.01);
  const double power = std::clamp(std::log(kWantedLight) / std::log(light), kLeastPower, 1.0);
  return 1 - strength * DarkShare(scene) * (1 - power);
}

double Lifted(double pixel, double mean, double power) {
  const double local = 1 - (1 - power) * (1 - mean) * (1 - mean);
  const double low = std::pow(kToe, local);
  return (std::pow(pixel + kToe, local) - low) / (std::pow(1 + kToe, local) - low);
}

Curve ChromaOf(const LumaRange& range, double least, double most, double (*factor)(double, double),
               double amount) {
  Curve curve;
  for (size_t m = 0; m < kKnots; ++m) {
    const double mean = Relative(static_cast<double>(m) * kKnotLevels, range);
    curve[m] = static_cast<float>(std::clamp(factor(mean, amount), least, most));
  }
  return curve;
}

}  // namespace

Tables LowLightTables(const Scene& scene, const LumaRange& range, double strength) {
  const double power = ScenePower(scene, range, strength);
  if (power > 0.999) return {};
  Tables tables{.has_tone = true, .has_chroma = true};
  tables.tone =
      ToneOf(range, [&](double pixel, double mean) { return Lifted(pixel, mean, power); });
  tables.chroma = ChromaOf(
      range, 1, 2.2,
      [](double mean, double amount) {
        return std::pow((Lifted(mean, mean, amount) + 0.02) / (mean + 0.02), 0.8);
      },
      power);
  return tables;
}

double LightAfter(const Scene& scene, const LumaRange& range, double strength) {
  const double light = Relative(scene.light, range);
  return range.black +
         (range.white - range.black) * Lifted(light, light, ScenePower(scene, range, strength));
}

Tables ClarityTables(const Scene& scene, const LumaRange& range, double strength) {
  const double black = Relative(scene.black, range), white = Relative(scene.white, range);
  const double share = strength * std::clamp((black - kNoVeil) / (kVeil - kNoVeil), 0.0, 1.0);
  if (share <= 0 || white - black < 0.05) return {};
  const double low = share * 0.9 * black;
  const double high = 1 - share * 0.5 * std::max(0.0, 0.95 - white);
  const double gain = 1 / (high - low);
  Tables tables{.has_tone = true, .has_chroma = true};
  tables.tone = ToneOf(range, [&](double pixel, double mean) {
    const double clear = std::clamp((pixel - low) * gain, 0.0, 1.0);
    const double around = std::clamp((mean - low) * gain, 0.0, 1.0);
    return clear + share * 0.25 * (clear - around) * 4 * clear * (1 - clear);
  });
  tables.chroma = ChromaOf(
      range, 1, 1.8, [](double, double amount) { return std::pow(amount, 0.8); }, gain);
  return tables;
}

Tables ContrastTables(const Scene&, const LumaRange& range, double strength) {
  if (strength <= 0) return {};
  Tables tables{.has_tone = true};
  tables.tone = ToneOf(range, [&](double pixel, double) {
    return pixel + strength * (pixel * pixel * (3 - 2 * pixel) - pixel);
  });
  return tables;
}

Tables SharpenTables(const Scene&, const LumaRange& range, double strength) {
  if (strength <= 0) return {};
  constexpr double kNoise = 1.5, kMostChange = 12;
  Tables tables{.has_detail = true};
  for (size_t m = 0; m < kKnots; ++m) {
    // Differences count relative to the light: in the dark they are noise sooner.
    const double mean = Relative(static_cast<double>(m) * kKnotLevels, range);
    const double weight = strength * std::min(1.1, 0.6 + 0.8 * mean);
    for (size_t d = 0; d < kKnots; ++d) {
      const double size = 2.0 * static_cast<double>(d);
      tables.detail[m][d] =
          static_cast<float>(std::min(weight * std::max(0.0, size - kNoise), kMostChange));
    }
  }
  return tables;
}

Tables DeepenTables(const Scene&, const LumaRange&, double strength) {
  Tables tables{.has_detail = true, .fine = true, .distance = 6};
  for (Curve& curve : tables.detail)
    for (size_t d = 0; d < kKnots; ++d) {
      const double size = 0.5 * static_cast<double>(d);
      curve[d] = static_cast<float>(-strength * std::clamp(2 - size, 0.0, std::min(size, 1.0)));
    }
  return tables;
}

}  // namespace fettle::enhance
