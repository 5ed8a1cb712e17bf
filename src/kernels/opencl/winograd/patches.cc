#include "kernels/opencl/winograd/patches.h"

#include <algorithm>
#include <limits>

namespace fettle::kernels {

namespace {

Result<PixelConv> CheckPlanes(PixelConv conv) {
  constexpr int64_t kLeastChannels = 16;
  const std::array<int64_t, 3> threes{conv.kernel[0], 3, 3}, ones{1, 1, 1};
  if (conv.kernel != threes || conv.stride != ones || conv.dilation != ones || conv.groups != 1)
    return Unsupported("not 3x3 of stride 1 and one group");
  if (conv.ic < kLeastChannels || conv.oc < kLeastChannels)
    return Unsupported("fewer than {} channels", kLeastChannels);
  return conv;
}

}  // namespace

Result<PixelConv> ReadWinograd(const ir::Graph& group) {
  ASSIGN_OR_RETURN(PixelConv conv, ReadPixelConv(group));
  return CheckPlanes(std::move(conv));
}

Result<PixelConv> ReadWinogradOfPlanes(const ir::Graph& group) {
  ASSIGN_OR_RETURN(PixelConv conv, ReadVolumeConv(group));
  return CheckPlanes(std::move(conv));
}

Patches CutPatches(const PixelConv& conv, int64_t tile, DType storage) {
  Patches patches{.tile = tile, .of_row = DivideUp(conv.out[2], tile), .storage = storage};
  patches.of_image = patches.of_row * DivideUp(conv.out[1], tile);
  patches.all = patches.of_image * conv.batch * conv.out[0];
  patches.inputs = patches.of_image * conv.batch * conv.in[0];
  return patches;
}

Status CheckMemory(const PixelConv& conv, const Patches& patches, const Device& device) {
  const int64_t bytes = patches.WorkspaceBytes(conv);
  const int64_t most = std::min<int64_t>(AsOpenCl(device).facts().max_allocation_bytes,
                                         std::numeric_limits<int32_t>::max());
  if (bytes <= most) return OkStatus();
  return Unsupported("{} bytes of transformed patches: expected at most {}", bytes, most);
}

/// Rows of G: a filter row of three to tile + 2 values.
FilterTransform::FilterTransform(int64_t tile) {
  if (tile == 2) {
    rows_ = {{1, 0, 0}, {.5, .5, .5}, {.5, -.5, .5}, {0, 0, 1}};
  } else {
    rows_ = {{1. / 4, 0, 0},
             {-1. / 6, -1. / 6, -1. / 6},
             {-1. / 6, 1. / 6, -1. / 6},
             {1. / 24, 1. / 12, 1. / 6},
             {1. / 24, -1. / 12, 1. / 6},
             {0, 0, 1}};
  }
}

const std::vector<float>& FilterTransform::Run(const float* filter) {
  out_.clear();
  for (const auto& row : rows_) {
    std::array<double, 3> of_row{};
    for (size_t j = 0; j < 3; ++j) {
      for (size_t i = 0; i < 3; ++i) of_row[j] += row[i] * static_cast<double>(filter[i * 3 + j]);
    }
    for (const auto& column : rows_)
      out_.push_back(static_cast<float>(of_row[0] * column[0] + of_row[1] * column[1] +
                                        of_row[2] * column[2]));
  }
  return out_;
}

namespace {

/// Of a launch at images of so many planes.
BuildOptions StageOptions(const Problem& problem, const Patches& patches, int64_t planes) {
  BuildOptions options = AccessOptions(problem.states.outputs[0]);
  kWinogradFields.Define({patches.tile}, options);
  if (planes > 1) options.Define("PLANES", planes);
  options.Define("STAGE_HALF", patches.storage == DType::kF16 ? 1 : 0);
  return options;
}

}  // namespace

Status RecordWinogradInput(const Problem& problem, const PixelConv& conv, const Patches& patches,
                           const OpenClDevice& device, RecordedKernel& made) {
  const int64_t pixel_bytes = PixelBytes(problem.states.outputs[0].storage);
  const int64_t quads = patches.chunk() / 4;
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClKernel> kernel,
                   device.BuildKernel(
                       MakeProgram("winograd/input.cl", StageOptions(problem, patches, conv.in[0])),
                       "winograd_input"));
  made.recorded
      .emplace_back(
          std::move(kernel),
          PlaceSizes(patches.of_image * quads, patches.ChunksOf(conv.ic), conv.batch * conv.in[0]))
      .Input(InputIndex(*problem.group, conv.x), pixel_bytes)
      .Value(PixelDims(problem.shape(conv.x)))
      .Workspace(0, StorageBytes(patches.storage, 4))
      .Value(Int2(conv.pad[1], conv.pad[2]))
      .Value(Int2(patches.of_row, patches.of_image));
  return OkStatus();
}

Status RecordWinogradOutput(const Problem& problem, const PixelConv& conv, const Patches& patches,
                            const OpenClDevice& device, RecordedKernel& made) {
  const int64_t pixel_bytes = PixelBytes(problem.states.outputs[0].storage);
  const ProgramSource program = MakeProgram(
      "winograd/output.cl", StageOptions(problem, patches, conv.out[0]), made.expression.text());
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClKernel> kernel,
                   device.BuildKernel(program, "winograd_output"));
  made.recorded
      .emplace_back(std::move(kernel),
                    PlaceSizes(patches.of_image, DivideUp(conv.oc, 4), conv.batch * conv.out[0]))
      .Workspace(patches.ProductsAt(conv), StorageBytes(patches.storage, 4))
      .Output(0, pixel_bytes)
      .Value(PixelDims(problem.shape(conv.y)))
      .Int(conv.oc)
      .Packed(0, 0)
      .Value(Int2(patches.of_row, patches.of_image));
  return OkStatus();
}

}  // namespace fettle::kernels
