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
  /// Where the windows of blocks lie on a plane `shrink` times as small as the luma.
  struct Grid {
    Grid(Vector shrink_by, int across);
    Vector shrink;
    Vector step;    // from block to block
    Vector before;  // samples of a window before its block
    ptrdiff_t row;  // of sums
  };
  template <typename Sample>
  void Blend(const HalfSamples<Sample>& a, const HalfSamples<Sample>& b, Vector shrink,
             const Plane& to);
  /// Adds a row of blocks to the sums.
  template <typename Sample>
  void AddBlocks(const HalfSamples<Sample>& a, const HalfSamples<Sample>& b, const Grid& grid,
                 const uint8_t* bell, int y);
  /// `line` of the result, from the sums at `at`; what stands still, from both frames.
  template <typename Sample>
  void FinishLine(const HalfSamples<Sample>& a, const HalfSamples<Sample>& b, const Grid& grid,
                  const Plane& to, int line, ptrdiff_t at) const;

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
