#include "landscape.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace fettle::demo {
namespace {

struct Colour {
  double r = 0, g = 0, b = 0;
};

Colour Mix(const Colour& a, const Colour& b, double t) {
  t = std::clamp(t, 0.0, 1.0);
  return {a.r + (b.r - a.r) * t, a.g + (b.g - a.g) * t, a.b + (b.b - a.b) * t};
}

double Smooth(double low, double high, double x) {
  const double t = std::clamp((x - low) / (high - low), 0.0, 1.0);
  return t * t * (3 - 2 * t);
}

/// A repeatable number in [0, 1) per lattice point (the finaliser of MurmurHash3).
double Lattice(int64_t x, int64_t y) {
  auto h = static_cast<uint32_t>(x * 73856093) ^ static_cast<uint32_t>(y * 19349663);
  h = (h ^ (h >> 16)) * 0x85EBCA6Bu;
  h = (h ^ (h >> 13)) * 0xC2B2AE35u;
  return static_cast<double>((h ^ (h >> 16)) >> 8) * 0x1p-24;
}

double ValueNoise(double x, double y) {
  const double fx = std::floor(x), fy = std::floor(y);
  const auto ix = static_cast<int64_t>(fx), iy = static_cast<int64_t>(fy);
  const double tx = Smooth(0, 1, x - fx), ty = Smooth(0, 1, y - fy);
  const double top = std::lerp(Lattice(ix, iy), Lattice(ix + 1, iy), tx);
  const double bottom = std::lerp(Lattice(ix, iy + 1), Lattice(ix + 1, iy + 1), tx);
  return std::lerp(top, bottom, ty);
}

double Fractal(double x, double y, int octaves) {
  double sum = 0, weight = 0.5, total = 0;
  for (int i = 0; i < octaves; ++i, weight *= 0.5, x *= 2.03, y *= 2.03) {
    sum += weight * ValueNoise(x + 17 * i, y - 9 * i);
    total += weight;
  }
  return sum / total;
}

constexpr double kHorizon = 0.62;
constexpr Colour kZenith = {0.16, 0.30, 0.58}, kGlow = {0.98, 0.72, 0.46};

Colour Sky(double x, double y) {
  Colour sky = Mix(kZenith, kGlow, Smooth(0.0, kHorizon, y));
  const double distance = std::hypot(x - 0.95, (y - 0.33));
  sky = Mix({1.0, 0.93, 0.74}, sky, Smooth(0.0, 0.45, distance) * 0.75 + 0.25);
  if (distance < 0.062) sky = {1.0, 0.96, 0.84};
  const double cloud = Fractal(3.0 * x + 4, 11.0 * y, 5);
  return Mix(sky, {0.99, 0.91, 0.85}, 0.7 * Smooth(0.52, 0.78, cloud) * Smooth(0.62, 0.15, y));
}

/// The height of a chain of hills at `x`, measured downwards.
double Ridge(double x, int layer) {
  const double base = 0.40 + 0.075 * layer;
  return base - 0.20 * (Fractal(2.2 * x + 31 * layer, 3.7 * layer, 6) - 0.42);
}

Colour AboveWater(double x, double y) {
  for (int layer = 2; layer >= 0; --layer) {
    const double ridge = Ridge(x, layer);
    if (y < ridge) continue;
    const double haze = 0.72 - 0.27 * layer;
    const double texture = Fractal(40 * x, 60 * y + 7 * layer, 4) - 0.5;
    Colour rock = {0.20 + 0.16 * texture, 0.27 + 0.20 * texture, 0.24 + 0.14 * texture};
    if (layer == 0 && y < ridge + 0.035 + 0.05 * texture) rock = {0.93, 0.93, 0.96};
    return Mix(rock, {0.80, 0.66, 0.60}, haze * Smooth(0.75, 0.2, y - ridge));
  }
  return Sky(x, y);
}

Colour Water(double x, double y) {
  const double depth = y - kHorizon;
  const double ripple = Fractal(22 * x, 260 * depth / (0.25 + depth), 3) - 0.5;
  const Colour mirrored = AboveWater(x + 0.05 * ripple, kHorizon - 0.9 * depth + 0.04 * ripple);
  return Mix(mirrored, {0.10, 0.20, 0.27}, 0.30 + 0.5 * depth + 0.25 * ripple);
}

/// Fir trees on the near shore: triangles with ragged sides, so that the picture has hard edges.
bool InTree(double x, double y) {
  for (int i = 0; i < 9; ++i) {
    const double centre = 0.04 + 0.052 * i + 0.02 * Lattice(i, 5);
    const double foot = 0.93 + 0.03 * Lattice(i, 6), top = foot - 0.27 - 0.16 * Lattice(i, 7);
    if (y < top || y > foot) continue;
    const double down = (y - top) / (foot - top);
    const double saw = 0.55 + 0.45 * (down * 9 - std::floor(down * 9));
    if (std::abs(x - centre) < 0.045 * down * saw + 0.002) return true;
  }
  return false;
}

Colour Scene(double x, double y) {
  const double shore = 0.90 - 0.05 * std::sin(3.1 * x) + 0.03 * Fractal(9 * x, 1, 4);
  if (InTree(x, y)) {
    const double texture = Fractal(90 * x, 90 * y, 3) - 0.5;
    return {0.06 + 0.08 * texture, 0.15 + 0.14 * texture, 0.11 + 0.08 * texture};
  }
  if (y > shore) {
    const double grass = Fractal(160 * x, 40 * y, 4) - 0.5;
    return {0.30 + 0.32 * grass, 0.34 + 0.36 * grass, 0.15 + 0.16 * grass};
  }
  return y > kHorizon ? Water(x, y) : AboveWater(x, y);
}

}  // namespace

tools::Picture RenderLandscape(int64_t width, int64_t height) {
  constexpr int kSamples = 4;  // per pixel and axis
  tools::Picture picture{.width = width, .height = height};
  const auto scale = static_cast<double>(height);
  for (int64_t py = 0; py < height; ++py) {
    for (int64_t px = 0; px < width; ++px) {
      Colour sum;
      for (int s = 0; s < kSamples * kSamples; ++s) {
        const double x = static_cast<double>(px) + (s % kSamples + 0.5) / kSamples;
        const double y = static_cast<double>(py) + (s / kSamples + 0.5) / kSamples;
        const Colour colour = Scene(x / scale, y / scale);
        sum = {sum.r + colour.r, sum.g + colour.g, sum.b + colour.b};
      }
      for (double channel : {sum.r, sum.g, sum.b}) {
        const double mean = channel / (kSamples * kSamples);
        picture.samples.push_back(static_cast<float>(std::clamp(mean, 0.0, 1.0)));
      }
    }
  }
  return picture;
}

}  // namespace fettle::demo
