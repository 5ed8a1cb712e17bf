// compiled: small
#include "kernels/cpu/conv/flat_problem.h"

#include <algorithm>

#include "kernels/cpu/gemm/pack.h"

namespace fettle::kernels {
namespace {

/// Floats of copied planes: half of a second-level cache of 512 KB, and what no launch may take.
constexpr int64_t kNearFloats = 1 << 16, kMostFloats = 1 << 20;

/// The slice of `wanted`, listed where it is new.
int64_t SliceOf(FlatProblem& flat, FlatSlice wanted) {
  const auto found = std::ranges::find_if(flat.slices, [&](const FlatSlice& slice) {
    return slice.row == wanted.row && slice.column == wanted.column;
  });
  if (found == flat.slices.end()) {
    flat.slices.push_back(wanted);
    return static_cast<int64_t>(flat.slices.size()) - 1;
  }
  return found - flat.slices.begin();
}

void FindTaps(FlatProblem& flat) {
  const ConvGeometry& g = flat.conv.g;
  const int64_t row_step = g.stride[1], step = g.stride[2];
  for (int64_t k = 0; k < g.kernel[1]; ++k) {
    for (const int64_t offset : flat.conv.phases[0].offsets) {
      const int64_t row = k * g.dilation[1], column = offset - flat.conv.low;
      const int64_t slice = SliceOf(flat, {row % row_step, column % step});
      flat.taps.push_back({slice, row / row_step, column / step});
    }
  }
}

}  // namespace

int64_t FlatProblem::slice_rows(int64_t rows) const {
  return rows + (conv.g.kernel[1] - 1) * conv.g.dilation[1] / conv.g.stride[1];
}

int64_t FlatProblem::plane_floats(int64_t rows) const {
  return (static_cast<int64_t>(slices.size()) * slice_rows(rows) * pitch) | 1;
}

int64_t FlatProblem::copied_floats(int64_t rows) const {
  return reads_planes ? 0 : conv.inputs() * window() * plane_floats(rows);
}

int64_t FlatProblem::usual_rows() const {
  const int64_t all = conv.g.out[1];
  if (all == 0) return 1;
  // Rows at the border of two tasks are copied twice.
  const int64_t least = std::min(all, 3 * (slice_rows(1) - 1) + 1);
  const int64_t row_floats = reads_planes
                                 ? GetPlaneKernels().most_outputs * pitch
                                 : std::max<int64_t>(copied_floats(all) / slice_rows(all), 1);
  const int64_t near = std::clamp<int64_t>(kNearFloats / row_floats, least, all);
  return CeilDiv(all, CeilDiv(all, near));
}

double FlatProblem::kept() const {
  const PlaneBlocks blocks(conv.outputs());
  return static_cast<double>(conv.g.out[2] * conv.outputs()) /
         static_cast<double>(pitch * blocks.stored());
}

void FlatProblem::SetPitch() {
  const ConvGeometry& g = conv.g;
  const int64_t last_row = g.out[1] - 1 + (g.kernel[1] - 1) * g.dilation[1] - g.pad[1];
  reads_planes = conv.reads_lines() && g.stride[1] == 1 && g.pad[1] <= 0 && last_row < g.in[1];
  pitch = reads_planes ? g.in[2] : g.out[2] + (conv.high - conv.low) / conv.step();
}

bool FlatProblem::fits() const { return copied_floats(1) <= kMostFloats; }

bool FlatProblem::MoveTo(const ir::Graph& group, PixelLayout& out) {
  if (!conv.MoveTo(group, out) || conv.g.out[1] == 1) return false;
  SetPitch();
  return fits();
}

Result<FlatProblem> ReadFlatPlanes(const ir::Graph& group) {
  FlatProblem flat;
  ASSIGN_OR_RETURN(flat.conv, ReadPlanes(group, /*transposed=*/false));
  if (flat.conv.g.out[1] == 1) return Unsupported("planes of one row");
  FindTaps(flat);
  flat.SetPitch();
  if (!flat.fits()) return Unsupported("copied planes of {} floats", flat.copied_floats(1));
  return flat;
}

}  // namespace fettle::kernels
