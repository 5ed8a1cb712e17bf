// The tables of each step, by formula, for a scene.
#pragma once

#include "analysis/scene.h"
#include "tables/tables.h"

namespace fettle::enhance {

/// Black and white of luma, in levels of 8 bits.
struct LumaRange {
  float black = 16, white = 235;
};

/// Each gives the tables for a scene and a strength; without tone, detail and chroma the scene is
/// to pass as it is.
using Formula = Tables (*)(const Scene& scene, const LumaRange& range, double strength);

/// Dark scenes lifted to a middle light by a power of it, less where it is bright around; scenes
/// lighter than 80 pass.
Tables LowLightTables(const Scene& scene, const LumaRange& range, double strength);
/// The veil of a scene, as its darkest hundredth tells, taken off, and a quarter of what a pixel
/// differs from the light around it added; scenes without veil pass.
Tables ClarityTables(const Scene& scene, const LumaRange& range, double strength);
/// A curve that is steeper in the middle.
Tables ContrastTables(const Scene& scene, const LumaRange& range, double strength);
/// Differences from the 3x3 around a pixel enlarged, less in the dark; small ones are noise and
/// stay, and no change is more than 12 levels, so that edges get no halo.
Tables SharpenTables(const Scene& scene, const LumaRange& range, double strength);
/// Steps of one level between even areas smoothed over 13 pixels, for results of more bits.
Tables DeepenTables(const Scene& scene, const LumaRange& range, double strength);

/// The mean light that LowLightTables makes of a scene's.
double LightAfter(const Scene& scene, const LumaRange& range, double strength);

}  // namespace fettle::enhance
