// Surveys an input: measures samples of it before anything is decided.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "av/input.h"
#include "av/pixels.h"

namespace fettle::enhance {

/// A few frames in a row, or the whole input. Levels and sigmas are of 255, whatever the depth.
struct Measures {
  double seconds = 0;  // where the first frame stands
  int frames = 0;
  double level = 0;         // of the quantiser, as StepSetup has it
  bool level_told = false;  // by the decoder; else guessed from the bits for each pixel
  double blockiness = 1, noise = 0, light = 0, contrast = 0;  // contrast: 95th - 5th percentile
  double black = 0, white = 255;                              // 1st and 99th percentile
  double screen = 0;                                          // share of blocks of two levels
  int cuts = 0, repeated = 0, interlaced = 0;                 // frames
};

struct Survey {
  std::string codec;
  double bits_per_pixel = 0;  // 0: not known
  double decode_ms = 0;       // a frame, by one thread
  std::vector<Measures> samples;
  Measures all;  // medians, and sums of what is counted
};

/// Frames in a row, with their levels.
struct Sample {
  std::vector<FramePtr> frames;
  double seconds = 0;  // where the first one stands
  int decoded = 0;     // those before them included
};

/// Up to eight frames from `seconds` on, decoded from the key frame before. Where that is more than
/// 150 frames away, the last frames decoded. Empty where the file cannot be decoded so far.
Sample SampleOf(const std::filesystem::path& path, Cut cut, double seconds);

/// Decodes up to eight frames at up to five places, by one thread, so that the same file gives the
/// same figures: reads from the key frame before each place on. Frames are measured in `format`.
/// Throws Failure.
Survey SurveyOf(const std::filesystem::path& path, Cut cut, AVPixelFormat format);

}  // namespace fettle::enhance
