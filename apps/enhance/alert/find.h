// Finds of the alert step in one frame, and how they travel with the frame.
#pragma once

#include <string>
#include <vector>

#include "av/av.h"

namespace fettle::enhance {

/// In pixels, from the upper left corner.
struct Box {
  float x = 0, y = 0, width = 0, height = 0;
};

struct Find {
  Box box;
  float score = 0;  // 0 to 1
};

/// Whether two boxes are of one thing: their middles are nearer than `reach` of the longer side of
/// the larger one.
bool AreNear(const Box& a, const Box& b, float reach);

/// One find for each thing: a find nearer to a better one than half of the side is dropped, also
/// where two slices saw it. Best first; equals in the order of their places.
std::vector<Find> WithoutDoubles(std::vector<Find> finds);

/// "[[x, y, width, height, score], ...]" in tenths of pixels and thousandths, so that reading it
/// gives what was written.
std::string TextOf(const std::vector<Find>& finds);
/// The reverse. Throws Failure (kExitInvalidInput) for any other text.
std::vector<Find> ReadFinds(const std::string& text);

/// Finds among the properties of a frame, which steps and conversions keep.
void SetFinds(AVFrame& frame, const std::vector<Find>& finds);
/// Their text; null where nobody looked at the frame.
const char* FindsOf(const AVFrame& frame);
/// For frames that were made from others.
void ForgetFinds(AVFrame& frame);

}  // namespace fettle::enhance
