// The picture between two.
#pragma once

#include "motion/field.h"

namespace fettle::enhance {

/// What became of a pair, and why it was not moved.
enum class PairKind { kMoved, kRepeated, kCut };

/// Belongs to one thread, whose memory it keeps.
class Between {
 public:
  /// A frame in the middle of two of one format (planar YUV) and size, with the first one's
  /// properties. Where both show the same, or nothing of the first one is found in the second, it
  /// is the first one again. Throws Failure.
  FramePtr Make(const AVFrame& a, const AVFrame& b);
  /// Of the last pair.
  PairKind kind() const { return kind_; }

 private:
  PairKind Judge(const AVFrame& a, const AVFrame& b) const;
  void WeighBlocks();
  void FindStill(const Padded<uint8_t>& a, const Padded<uint8_t>& b);
  template <typename Sample>
  void Blend(const HalfSamples<Sample>& a, const HalfSamples<Sample>& b, Vector shrink,
             const Plane& to);

  Pyramid one_, other_;
  MotionField field_;
  std::vector<Blending> blending_;  // of each block
  HalfSamples<uint8_t> bytes_[2];
  HalfSamples<uint16_t> words_[2];
  std::vector<uint8_t> still_;  // cells
  int still_across_ = 0;
  std::vector<float> sums_, totals_;
  PairKind kind_ = PairKind::kMoved;
};

}  // namespace fettle::enhance
