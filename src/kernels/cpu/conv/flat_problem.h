// Convolutions of planes as sums along one line: the padded rows of a plane lie one behind the
// other, so that a tap is an offset and vectors continue over the ends of rows. Columns in the
// padding are computed too, and dropped.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cpu/conv/plane_problem.h"

namespace fettle::kernels {

/// The rows and columns of a padded plane that have one remainder each modulo the strides.
struct FlatSlice {
  int64_t row = 0, column = 0;
};

struct FlatProblem {
  PlaneProblem conv;
  int64_t pitch = 0;              // elements from row to row
  bool reads_planes = false;      // as they lie; else slices of them are copied
  std::vector<FlatSlice> slices;  // that taps meet

  /// Where a tap of a plane finds the first output's input.
  struct Tap {
    int64_t slice = 0, row = 0, column = 0;
  };
  std::vector<Tap> taps;  // [kernel row][kernel column]

  /// Rows of a slice that `rows` output rows meet.
  int64_t slice_rows(int64_t rows) const;
  /// Floats of a copied plane of an input. Odd, so that planes do not lie whole pages apart.
  int64_t plane_floats(int64_t rows) const;
  /// Input planes that an output plane meets, from the first to the last.
  int64_t window() const { return (conv.g.kernel[0] - 1) * conv.g.dilation[0] + 1; }
  /// Floats of the copied planes of all inputs of a group.
  int64_t copied_floats(int64_t rows) const;
  /// Output rows of a plane that are computed together, so that their inputs stay in a near cache.
  int64_t usual_rows() const;
  /// Changes it to the extents of `group`; says whether it could. `out`: the pixels of its output.
  bool MoveTo(const ir::Graph& group, PixelLayout& out);
  /// Sets what follows from the extents of conv.
  void SetPitch();
  /// Whether copied planes are small enough.
  bool fits() const;
  /// The share of the computed sums that is kept.
  double kept() const;
};

/// Of node 0 of `group`, a Conv. Fails with kUnsupported and the reason.
Result<FlatProblem> ReadFlatPlanes(const ir::Graph& group);

/// Match::taste() of cpu.conv.planes.flat.
int FlatTaste(const FlatProblem& flat);

}  // namespace fettle::kernels
