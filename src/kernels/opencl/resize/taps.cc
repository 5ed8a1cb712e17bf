// opencl.resize.taps: Resize of one to three axes in every mode that is a table of taps (nearest,
// linear, cubic, antialiased, all coordinate transformations without extrapolation), with an
// epilogue.
#include <algorithm>
#include <bit>
#include <cstring>

#include "base/hash.h"
#include "kernels/family.h"
#include "kernels/match/resize_taps.h"
#include "kernels/opencl/pixels.h"

namespace fettle::kernels {
namespace {

/// Planes of a volume lie below each other: its rows are those of all of them.
struct PlaneTaps {
  ops::AxisTaps rows, columns;
};

/// The taps of the rows of a volume, of planes of `height` rows in the input.
ops::AxisTaps RowsOfPlanes(const ops::AxisTaps& planes, const ops::AxisTaps& rows, int64_t height) {
  ops::AxisTaps all{.taps = planes.taps * rows.taps};
  const auto of_plane = static_cast<size_t>(planes.taps), of_row = static_cast<size_t>(rows.taps);
  for (size_t plane = 0; plane < planes.index.size(); plane += of_plane) {
    for (size_t row = 0; row < rows.index.size(); row += of_row) {
      for (size_t i = plane; i < plane + of_plane; ++i) {
        for (size_t j = row; j < row + of_row; ++j) {
          all.index.push_back(planes.index[i] * height + rows.index[j]);
          all.weight.push_back(planes.weight[i] * rows.weight[j]);
        }
      }
    }
  }
  return all;
}

Result<PlaneTaps> Read(const ir::Graph& group, const Device&) {
  const ir::Node& node = group.nodes()[0];
  if (node.op != "Resize"_op) return Unsupported("computes Resize only");
  const ir::Value& input = group.value(node.inputs[0]);
  const Shape& x = *input.shape;
  if (!IsFloatValue(input.dtype) || x.rank() < 3 || x.rank() > 5 || input.is_constant())
    return Unsupported("expected a float tensor of rank 3 to 5");
  ASSIGN_OR_RETURN(ResizeTaps resize, ReadResizeTaps(group, node));
  for (int axis = 0; axis < 2; ++axis) {
    if (!resize.taps[axis].IsIdentity(x[axis]))
      return Unsupported("an axis outside of the plane is resized");
  }
  ops::AxisTaps columns = std::move(resize.taps.back());
  if (x.rank() == 3) return PlaneTaps{{.index = {0}, .weight = {1}}, std::move(columns)};
  ops::AxisTaps& rows = resize.taps[x.rank() - 2];
  if (x.rank() == 5) rows = RowsOfPlanes(resize.taps[2], rows, x[3]);
  return PlaneTaps{std::move(rows), std::move(columns)};
}

std::vector<cl_int2> MakeTable(const PlaneTaps& taps) {
  std::vector<cl_int2> table;
  for (const ops::AxisTaps* axis : {&taps.rows, &taps.columns}) {
    for (size_t i = 0; i < axis->index.size(); ++i)
      table.push_back({{static_cast<cl_int>(axis->index[i]),
                        std::bit_cast<cl_int>(static_cast<float>(axis->weight[i]))}});
  }
  return table;
}

PackRequest TablePack(const PlaneTaps& taps) {
  const std::vector<cl_int2> table = MakeTable(taps);
  const auto bytes = std::as_bytes(std::span(table));
  return {.constants = {},
          .recipe = fmt::format("opencl.resize.taps.{:016x}", HashBytes(bytes)),
          .bytes = static_cast<int64_t>(bytes.size()),
          .pack = [table](std::span<const Constant* const>, std::byte* out) {
            std::memcpy(out, table.data(), table.size() * sizeof(cl_int2));
            return OkStatus();
          }};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const PlaneTaps&,
                                            const Device& device) {
  return PixelCandidates(group, group.nodes()[0].output(0), device);
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const PlaneTaps& taps,
                                                const Params&, const Device& device) {
  const ir::Graph& group = *problem.group;
  const ir::Node& node = problem.node();
  ASSIGN_OR_RETURN(std::unique_ptr<RecordedKernel> made,
                   RecordPixels(problem, node.input(0), node.output(0),
                                {.path = "resize/taps.cl",
                                 .function = "taps",
                                 .options = AccessOptions(problem.states.outputs[0]),
                                 .sizes = PixelSizes(problem.shape(group.outputs[0]))},
                                device));
  made->own_packs.push_back(TablePack(taps));
  made->recorded[0].Packed(0, sizeof(cl_int2)).Value(cl_int2{{taps.rows.taps, taps.columns.taps}});
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<PlaneTaps> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClResizeTaps;
const KernelDesc kOpenClResizeTaps = {.name = "opencl.resize.taps", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
