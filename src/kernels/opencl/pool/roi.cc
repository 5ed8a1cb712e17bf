// opencl.pool.roi: RoiAlign by means of a given number of samples.
#include <limits>

#include "kernels/family.h"
#include "kernels/opencl/pixels.h"
#include "ops/op.h"
#include "ops/pool/op.h"

namespace fettle::kernels {
namespace {

using Facts = ops::RoiAlignAttributes;

/// A launch cannot report a batch index that is out of range.
Status CheckPictures(const ir::Value& pictures, int64_t batch) {
  if (pictures.dtype != DType::kI64 && pictures.dtype != DType::kI32)
    return Unsupported("indices of type {}", DTypeName(pictures.dtype));
  for (int64_t i = 0; pictures.is_constant() && i < pictures.constant->elements(); ++i) {
    const int64_t index = pictures.constant->GetInt(i);
    if (index < 0 || index >= batch) return Unsupported("index {} is out of range", index);
  }
  return OkStatus();
}

Result<Facts> Read(const ir::Graph& group, const Device&) {
  const ir::Node& node = group.nodes()[0];
  if (group.nodes().size() != 1 || node.op != "RoiAlign"_op)
    return Unsupported("computes RoiAlign only");
  const ir::Value &x = group.value(node.inputs[0]), &regions = group.value(node.inputs[1]);
  if (x.is_constant() || !IsFloatValue(x.dtype))
    return Unsupported("computes features of floats that are not constant");
  if (regions.dtype != DType::kF32) return Unsupported("regions in other types than f32");
  const Shape& y = *group.value(node.outputs[0]).shape;
  if (x.shape->elements() == 0 || y.elements() == 0) return Unsupported("nothing to pool");
  if (x.shape->Count(2, 4) > std::numeric_limits<cl_int>::max())
    return Unsupported("pixels are counted in 32 bits");
  RETURN_IF_ERROR(CheckPictures(group.value(node.inputs[2]), (*x.shape)[0]));
  ASSIGN_OR_RETURN(const Facts roi, ops::ReadRoiAlign(node));
  if (roi.max) return Unsupported("the largest sample of each bin (mode 'max')");
  // How many there are would be rounded up from lengths in f32, where the graph says double.
  if (roi.sampling_ratio <= 0)
    return Unsupported("a number of samples that follows from each region's size");
  if (roi.sampling_ratio > 64) return Unsupported("more than 64 samples along an axis");
  return roi;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts&,
                                            const Device& device) {
  std::vector<StateAssignment> all;
  const State regions = RowStates()[0];
  for (const State& pixels : PixelStates(device)) {
    StateAssignment states{{}, {pixels}};
    for (ir::ValueId id : group.inputs) {
      const bool is_pixels = id == group.nodes()[0].inputs[0];
      states.inputs.push_back(is_pixels ? pixels : RowStateOf(group.value(id), regions));
    }
    all.push_back(std::move(states));
  }
  return all;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Facts& roi,
                                                const Params&, const Device& device) {
  const ir::Graph& group = *problem.group;
  const ir::Node& node = problem.node();
  const DType index = group.value(node.inputs[2]).dtype;
  PixelProgram program{"pool/roi.cl", "align_regions", AccessOptions(problem.states.outputs[0]),
                       PixelSizes(problem.shape(node.outputs[0]))};
  program.options.Add(fmt::format("-DINDEX={}", index == DType::kI32 ? "int" : "long"));
  ASSIGN_OR_RETURN(auto made, RecordPixels(problem, node.inputs[0], ir::kAbsent, program, device));
  RecordedLaunch& launch = made->recorded.back();
  made->AddRows(group, node.inputs[1], DType::kF32, launch);
  made->AddRows(group, node.inputs[2], index, launch);
  launch.Value(cl_float2{{static_cast<float>(roi.spatial_scale), roi.half_pixel ? 0.5F : 0.0F}})
      .Int(roi.sampling_ratio)
      .Value(roi.half_pixel ? -std::numeric_limits<float>::infinity() : 1.0F);
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<Facts> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClPoolRoi;
const KernelDesc kOpenClPoolRoi = {.name = "opencl.pool.roi", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
