// Where people are in one frame, by the matting network of models/.
#pragma once

#include <fettle/fettle.hpp>
#include <optional>

#include "people/maps.h"

namespace fettle::enhance {

/// Shares of a person and of a head in each place, of one size.
struct Matte {
  Map person, head;
};

/// Belongs to one thread.
class Matting {
 public:
  /// Frames are shown turned clockwise by so many quarters.
  Matting(bool full_range, int turns) : full_range_(full_range), turns_(turns) {}
  /// Of a planar YUV frame of any size and depth; some 38,400 places in the frame's proportions,
  /// upright, as it is shown.
  Matte Of(const AVFrame& frame);

 private:
  /// The network for frames of one size.
  struct Prepared {
    explicit Prepared(int width, int height);
    int width, height;
    Session session;
    Tensor luma, chroma, masks;
  };

  void Read(const AVFrame& frame);
  /// The plane at a size of the upright picture.
  void ReadUpright(const Plane& plane, int width, int height);

  const bool full_range_;
  const int turns_;
  std::optional<Prepared> net_;
  std::vector<float> plane_;
};

/// The network's input for frames of a size: sides are multiples of 16.
struct MatteSize {
  int width, height;
};
MatteSize MatteSizeOf(int width, int height);

}  // namespace fettle::enhance
