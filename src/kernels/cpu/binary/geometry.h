// Which words a product of bits reads for its pixels.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/binary/tile.h"
#include "ops/binary/op.h"

namespace fettle::kernels {

/// A BinaryProduct over up to three spatial axes. An input with padding is copied into an image
/// that has it, so that a pixel reads the same steps from its first tap on, wherever it lies.
/// Immutable.
class BitGeometry {
 public:
  /// Fails with kUnsupported over three spatial axes.
  static Result<BitGeometry> Make(const ops::BinaryProduct& product);

  int64_t pixels() const { return pixels_; }
  /// Lines of the filter, and columns: taps of a line.
  int64_t lines() const { return kernel_[0] * kernel_[1]; }
  int64_t columns() const { return kernel_[2]; }
  int64_t taps() const { return static_cast<int64_t>(steps_.size()) / words_; }
  /// [tap][word]: where they lie, in words from a pixel's first one.
  std::span<const int64_t> steps() const { return steps_; }

  /// Whether pixels read a padded copy, of `copy_words` words, and the input itself otherwise.
  bool copies() const { return copies_; }
  int64_t copy_words() const { return copies_ ? images_ * image_words_ : 0; }
  void Copy(const uint64_t* x, uint64_t* copy) const;

  /// bases[i] = where the first tap of output pixel `first` + i lies in `image`: the input or its
  /// copy.
  void FillBases(const uint64_t* image, int64_t first, int64_t count, const uint64_t** bases) const;

  /// Pixels of one class have the same taps outside of the input; those of class 0 have none. One
  /// class where outside is no different.
  int64_t classes() const { return static_cast<int64_t>(outside_.size()); }
  void FillClasses(int64_t first, int64_t count, int32_t* classes) const;
  /// `in_spans`: of the taps that a span with such a pixel counts.
  std::vector<int32_t> Outside(int64_t of_class, bool in_spans) const;
  /// How many taps are inside, by class.
  std::span<const int32_t> inside() const { return inside_; }

  /// Pixels of a task of at most `most`, and how many tasks there are of them, for spans:
  /// near-equal ones, of whole lines where pixels are of several classes.
  int64_t SpanTaskPixels(int64_t most) const;
  /// Tiles of near-equal parts of lines, without the taps that are outside for the whole line, nor
  /// those that are outside for its ends where it is one tile; returns how many spans, at most as
  /// many as pixels.
  int64_t FillSpans(int64_t first, int64_t count, BitSpan* spans) const;

 private:
  struct Place {
    int64_t image = 0;
    std::array<int64_t, 3> at{};
  };
  Place PlaceOf(int64_t pixel) const;
  void Advance(Place& place) const;
  void FindSteps();
  void FindClasses(const ops::BinaryProduct& product);
  void AddClass(const std::array<ops::TapRange, 3>& ranges);
  void FindEnds(const std::vector<ops::TapRange>& ranges);
  /// Those of `ends_` that a class of pixels is of.
  BitEnds EndsOf(int64_t of_class) const;

  std::array<int64_t, 3> in_{1, 1, 1}, padded_{1, 1, 1}, out_{1, 1, 1}, kernel_{1, 1, 1};
  std::array<int64_t, 3> stride_{1, 1, 1}, dilation_{1, 1, 1}, pad_{0, 0, 0};
  int64_t row_words_ = 0, words_ = 1;  // between neighbouring pixels; of a group
  int64_t pixels_ = 0, images_ = 1, image_words_ = 0;
  bool copies_ = false;
  std::vector<uint64_t> beside_;  // what a pixel of the padding has, [row_words_]
  std::vector<int64_t> steps_;
  /// By axis and output position, what its class adds; and the taps outside, by class.
  std::array<std::vector<int32_t>, 3> axis_class_;
  std::vector<std::vector<int32_t>> outside_{{}};
  std::vector<int32_t> inside_;
  /// By class, the lines of the filter from the first one to the last one that any pixel of such a
  /// line has inside.
  std::vector<ops::TapRange> lines_;
  int64_t line_classes_ = 1;  // classes that pixels of a line may have
  BitEnds ends_ = kNoEnds;    // of a line, which leave taps out
  bool counts_all_ = false;   // all taps, as ones of all weights are taken
};

}  // namespace fettle::kernels
