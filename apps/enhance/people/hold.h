// Masks that stay: what privacy covers, so that no frame reveals because a mask was missed.
#pragma once

#include "people/maps.h"

namespace fettle::enhance {

/// One kind of cover. A place that was somebody's stays covered for kHeldFrames more. Where most of
/// what was there is gone from one frame to the next, as when the network fails, all that was
/// covered stays and grows, for up to kLostFrames. The same frames give the same covers.
class Hold {
 public:
  static constexpr int kHeldFrames = 12, kLostFrames = 60;

  /// The largest shares of this frame and of those shortly after it. 255 where it is covered. At a
  /// cut nothing is known of how much there should be, but what was covered still stays.
  Map Add(const Map& shares, bool cut);
  /// Whether the last cover is that of an earlier frame because people were lost.
  bool lost() const { return lost_ > 0; }

 private:
  std::vector<uint8_t> left_;  // frames that each place stays covered for
  double usual_ = 0;           // places that people take
  int lost_ = 0;               // frames since
};

/// Covers what is missed most of those who are near: hats and hair above what was found, and gaps
/// within it. Of each component gaps of a row are filled up to half of its width, and its columns
/// reach up by a third of its width, or of its height where that is less.
void CoverHats(Map& cover);

/// Where heads must be though none was found: the upper part of each person without one. Both are
/// covers of one size; `heads` gets them.
void AddMissingHeads(const Map& people, Map& heads);

}  // namespace fettle::enhance
