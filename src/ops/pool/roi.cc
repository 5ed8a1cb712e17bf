// Shape inference of pooling over regions of interest.
#include "ops/infer.h"
#include "ops/op.h"
#include "ops/pool/op.h"

namespace fettle::ops {
namespace {

constexpr int64_t kMaxOutput = int64_t{1} << 20;
constexpr int64_t kMaxSamples = 1024;

Status CheckExtents(int64_t height, int64_t width) {
  if (height < 1 || width < 1 || height > kMaxOutput || width > kMaxOutput)
    return InvalidModel("output extents {}x{} out of range", height, width);
  return OkStatus();
}

}  // namespace

Result<RoiAlignAttributes> ReadRoiAlign(const ir::Node& node) {
  const ir::Attributes& attributes = node.attributes;
  RoiAlignAttributes roi;
  roi.output_height = attributes.Int("output_height", 1);
  roi.output_width = attributes.Int("output_width", 1);
  roi.sampling_ratio = attributes.Int("sampling_ratio", 0);
  roi.spatial_scale = attributes.Float("spatial_scale", 1);
  const std::string shift = attributes.Text("coordinate_transformation_mode", "half_pixel");
  const std::string mode = attributes.Text("mode", "avg");
  if (shift != "half_pixel" && shift != "output_half_pixel") {
    return InvalidModel(
        "attribute 'coordinate_transformation_mode': expected half_pixel|output_half_pixel, got "
        "'{}'",
        shift);
  }
  if (mode != "avg" && mode != "max")
    return InvalidModel("attribute 'mode': expected avg|max, got '{}'", mode);
  if (roi.sampling_ratio < 0 || roi.sampling_ratio > kMaxSamples)
    return InvalidModel("attribute 'sampling_ratio': {} out of range", roi.sampling_ratio);
  RETURN_IF_ERROR(CheckExtents(roi.output_height, roi.output_width));
  roi.half_pixel = shift == "half_pixel";
  roi.max = mode == "max";
  return roi;
}

Status InferRoiAlign(InferContext& context) {
  ASSIGN_OR_RETURN(const RoiAlignAttributes roi, ReadRoiAlign(context.node()));
  const Shape &x = context.shape(0), &rois = context.shape(1);
  if (x.rank() != 4 || rois.rank() != 2 || rois[1] != 4 || context.shape(2) != Shape{rois[0]}) {
    return InvalidModel("expected x [n, c, h, w], rois [k, 4], indices [k]; got {}, {}, {}",
                        x.ToString(), rois.ToString(), context.shape(2).ToString());
  }
  RETURN_IF_ERROR(CheckTypes(context, 0, 2, kFloatTypes));
  RETURN_IF_ERROR(CheckType(context, 2, kIntegerTypes));
  context.SetOutput(0, context.dtype(0), Shape{rois[0], x[1], roi.output_height, roi.output_width});
  return OkStatus();
}

Status InferMaxRoiPool(InferContext& context) {
  RETURN_IF_ERROR(CheckTypes(context, 0, 2, kFloatTypes));
  const Shape &x = context.shape(0), &rois = context.shape(1);
  const std::vector<int64_t> pooled = context.attributes().Ints("pooled_shape");
  if (x.rank() != 4 || rois.rank() != 2 || rois[1] != 5 || pooled.size() != 2) {
    return InvalidModel("expected x [n, c, h, w], rois [k, 5], two 'pooled_shape'; got {} and {}",
                        x.ToString(), rois.ToString());
  }
  RETURN_IF_ERROR(CheckExtents(pooled[0], pooled[1]));
  context.SetOutput(0, context.dtype(0), Shape{rois[0], x[1], pooled[0], pooled[1]});
  return OkStatus();
}

}  // namespace fettle::ops
