// Convolutions over tensors in pixels of four channels: what their kernels have in common.
#pragma once

#include <array>
#include <vector>

#include "kernels/family.h"
#include "kernels/fields.h"
#include "kernels/match/conv.h"
#include "kernels/opencl/constant_floats.h"
#include "kernels/opencl/conv/filter.h"
#include "kernels/opencl/pixels.h"

namespace fettle::kernels {

/// A convolution of one to three dimensions with constant weights.
struct PixelConv : ConvGeometry {
  ir::ValueId x = ir::kAbsent, w = ir::kAbsent, b = ir::kAbsent;
  ir::ValueId y = ir::kAbsent;  // what an expression finishes
  bool is_volume = false;       // over three axes

  /// Each pixel of the output is a product of one pixel of the input.
  bool IsPixelProduct() const { return groups == 1 && IsPointwise(); }
};

/// The operands of node 0, which must be `op` with a computed float input and constant weights and
/// bias; otherwise kUnsupported with the reason.
Result<PixelConv> ReadPixelOperands(const ir::Graph& group, std::string_view op);
/// kUnsupported where kernels cannot count the elements of a tensor.
Status CheckCounts(const Shape& x, const Shape& w, const Shape& y);

/// PixelCandidates as Family::states, and those of them in which f16 may be computed (HalfStates).
Result<std::vector<StateAssignment>> PixelConvStates(const ir::Graph& group, const PixelConv& conv,
                                                     const Device& device);
Result<std::vector<StateAssignment>> HalfConvStates(const ir::Graph& group, const PixelConv& conv,
                                                    const Device& device);

/// Reads node 0, a Conv over rank 3 or 4 of a computed float input with constant weights and bias;
/// otherwise kUnsupported with the reason.
Result<PixelConv> ReadPixelConv(const ir::Graph& group);

/// The same over rank 5 too.
Result<PixelConv> ReadVolumeConv(const ir::Graph& group);

/// The numbers of a Conv `node` over rank 3 or 4; kUnsupported with the reason.
Result<ConvGeometry> ReadPixelGeometry(const ir::Graph& group, const ir::Node& node);

/// Whether a GPU has so much arithmetic beside its memory that only tiles in local memory keep up
/// (opencl.conv.local): kernels without them are less preferred there.
bool BelongsInLocalMemory(const PixelConv& conv, const Device& device);

/// (kernel rows, kernel columns, row stride, column stride)
inline cl_int4 WindowArg(const PixelConv& conv) {
  return Int4(conv.kernel[1], conv.kernel[2], conv.stride[1], conv.stride[2]);
}
/// (rows above, columns to the left, row dilation, column dilation)
inline cl_int4 BordersArg(const PixelConv& conv) {
  return Int4(conv.pad[1], conv.pad[2], conv.dilation[1], conv.dilation[2]);
}

/// What the program of a convolution takes beside its operands.
struct ConvProgram {
  PixelProgram program;
  PackRequest filter;
  int64_t bias = 0;  // floats before the weights in `filter`
};
/// A launch whose arguments begin with x, its dims, y, its dims (RecordPixels), the number of
/// output channels, the filter and the floats of its bias.
Result<std::unique_ptr<RecordedKernel>> RecordConv(const Problem& problem, const PixelConv& conv,
                                                   ConvProgram program, const Device& device);
/// The same with a filter of `form` in the storage type of the output.
Result<std::unique_ptr<RecordedKernel>> RecordConv(const Problem& problem, const PixelConv& conv,
                                                   const FilterForm& form, PixelProgram program,
                                                   const Device& device);

/// What is searched of the work-group of a kernel whose work-items lie along axis 0 and 1, behind
/// all else.
inline constexpr std::initializer_list<int64_t> kGroupX{64, 1, 8, 16, 32, 128, 256};
inline constexpr std::initializer_list<int64_t> kGroupY{1, 2, 4, 8, 16, 64};

/// Of parameters with "group_x" and "group_y".
template <typename Tile>
std::array<size_t, 3> GroupOf(const Tile& tile) {
  return {static_cast<size_t>(tile.group_x), static_cast<size_t>(tile.group_y), 1};
}
/// The usual group, halved to what the device takes.
std::array<size_t, 3> GroupWithin(const OpenClFacts& facts, std::array<size_t, 3> usual);
template <typename Tile>
void SetGroup(const WorkSizes& usual, const OpenClFacts& facts, Tile& tile) {
  const std::array<size_t, 3> group = GroupWithin(facts, usual.lws);
  tile.group_x = static_cast<int64_t>(group[0]);
  tile.group_y = static_cast<int64_t>(group[1]);
}
/// Whether the device launches such groups.
Status CheckGroup(int64_t x, int64_t y, const Device& device);
/// The parameters of `fields`, all listed values of which combine where CheckGroup says so.
template <const auto& kFields, typename Tile>
ParamSpace GroupedSpace(const Tile& usual, const Device& device) {
  return {kFields.Tunables(), kFields.Write(usual), [&device](const Params& params) {
            const Tile tile = kFields.Read(params);
            return CheckGroup(tile.group_x, tile.group_y, device);
          }};
}

/// A work-item for each `columns` of an output row, each block of its channels and each image.
WorkSizes RowTileSizes(const PixelConv& conv, int64_t columns, int64_t blocks,
                       const std::array<size_t, 3>& group);

}  // namespace fettle::kernels
