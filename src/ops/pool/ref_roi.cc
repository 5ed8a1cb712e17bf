// Scalar oracles of RoiAlign (He et al., "Mask R-CNN", 2017) and MaxRoiPool (Girshick, "Fast
// R-CNN", 2015).
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/op.h"
#include "ops/pool/op.h"

namespace fettle::ops {
namespace {

/// Bilinear sample of plane (n, c): 0 more than one pixel outside, the edge repeated up to there.
/// In max mode the largest weighted corner instead of their sum, as the specification's test data
/// and existing engines have it.
double Sample(const HostView& x, int64_t n, int64_t c, double h, double w, bool max) {
  const auto height = static_cast<double>(x.shape[2]), width = static_cast<double>(x.shape[3]);
  if (height == 0 || width == 0) return 0;
  if (!(h >= -1 && h <= height && w >= -1 && w <= width)) return 0;
  h = std::clamp(h, 0.0, height - 1);
  w = std::clamp(w, 0.0, width - 1);
  const double top = std::floor(h), left = std::floor(w);
  double sum = 0, best = -std::numeric_limits<double>::infinity();
  for (int corner = 0; corner < 4; ++corner) {
    const double row = std::min(top + corner / 2, height - 1);
    const double column = std::min(left + corner % 2, width - 1);
    const double weight =
        (corner / 2 == 0 ? 1 - (h - top) : h - top) * (corner % 2 == 0 ? 1 - (w - left) : w - left);
    const int64_t at[] = {n, c, static_cast<int64_t>(row), static_cast<int64_t>(column)};
    const double value = weight * x.GetDouble(x.Offset(at));
    sum += value;
    best = std::max(best, value);
  }
  return max ? best : sum;
}

struct Bin {
  double begin_h, begin_w, height, width;
  int64_t samples_h, samples_w;
};

double RoiAlignAt(const HostView& x, int64_t n, int64_t c, const Bin& bin, bool max) {
  double sum = 0, best = -std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < bin.samples_h; ++i) {
    const double h = bin.begin_h + (static_cast<double>(i) + 0.5) * bin.height /
                                       static_cast<double>(bin.samples_h);
    for (int64_t j = 0; j < bin.samples_w; ++j) {
      const double w = bin.begin_w + (static_cast<double>(j) + 0.5) * bin.width /
                                         static_cast<double>(bin.samples_w);
      const double value = Sample(x, n, c, h, w, max);
      sum += value;
      best = std::max(best, value);
    }
  }
  const auto count = static_cast<double>(bin.samples_h * bin.samples_w);
  if (bin.samples_h * bin.samples_w == 0) return 0;
  return max ? best : sum / count;
}

/// The bin of output (row, column) of the region with corners `r` = x1, y1, x2, y2.
Bin MakeBin(const RoiAlignAttributes& roi, const double (&r)[4], int64_t row, int64_t column) {
  const double shift = roi.half_pixel ? 0.5 : 0.0;
  const double x1 = r[0] * roi.spatial_scale - shift, y1 = r[1] * roi.spatial_scale - shift;
  double width = r[2] * roi.spatial_scale - shift - x1;
  double height = r[3] * roi.spatial_scale - shift - y1;
  if (!roi.half_pixel) {
    width = std::max(width, 1.0);
    height = std::max(height, 1.0);
  }
  const double bin_h = height / static_cast<double>(roi.output_height);
  const double bin_w = width / static_cast<double>(roi.output_width);
  // A region is never worth more samples than this; huge or NaN corners end here.
  const auto samples = [&](double extent) {
    if (roi.sampling_ratio > 0) return roi.sampling_ratio;
    return static_cast<int64_t>(std::ceil(extent > 0 ? std::min(extent, 1024.0) : 0.0));
  };
  return {y1 + static_cast<double>(row) * bin_h,
          x1 + static_cast<double>(column) * bin_w,
          bin_h,
          bin_w,
          samples(bin_h),
          samples(bin_w)};
}

}  // namespace

Status RoiAlignReference(const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &rois = context.inputs[1], &batch = context.inputs[2];
  const HostView& y = context.outputs[0];
  ASSIGN_OR_RETURN(const RoiAlignAttributes roi, ReadRoiAlign(context.node));
  for (int64_t i = region.begin; i < region.end; ++i) {
    int64_t out[4];
    Unravel(i, y.shape, out);
    const int64_t n = batch.GetInt(out[0] * batch.strides[0]);
    if (n < 0 || n >= x.shape[0]) return InvalidArgument("batch index {} out of range", n);
    double corners[4];
    for (int64_t k = 0; k < 4; ++k)
      corners[k] = rois.GetDouble(out[0] * rois.strides[0] + k * rois.strides[1]);
    y.SetDouble(y.Offset(out),
                RoiAlignAt(x, n, out[1], MakeBin(roi, corners, out[2], out[3]), roi.max));
  }
  return OkStatus();
}

Status MaxRoiPoolReference(const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &rois = context.inputs[1], &y = context.outputs[0];
  const double scale = context.attributes().Float("spatial_scale", 1);
  for (int64_t i = region.begin; i < region.end; ++i) {
    int64_t out[4];
    Unravel(i, y.shape, out);
    double roi[5];
    for (int64_t k = 0; k < 5; ++k) {
      roi[k] = rois.GetDouble(out[0] * rois.strides[0] + k * rois.strides[1]);
      if (!std::isfinite(roi[k])) return InvalidArgument("a region of interest is not finite");
    }
    if (!(roi[0] >= 0 && roi[0] < static_cast<double>(x.shape[0])))
      return InvalidArgument("batch index {} out of range", roi[0]);
    int64_t begin[2], end[2];
    for (int axis = 0; axis < 2; ++axis) {  // 0: height, 1: width
      const auto extent = static_cast<double>(x.shape[axis + 2]);
      const double low = std::round(roi[2 - axis] * scale),
                   high = std::round(roi[4 - axis] * scale);
      const double bin = std::max(high - low + 1, 1.0) / static_cast<double>(y.shape[axis + 2]);
      const auto index = static_cast<double>(out[axis + 2]);
      begin[axis] = static_cast<int64_t>(std::clamp(std::floor(index * bin) + low, 0.0, extent));
      end[axis] = static_cast<int64_t>(std::clamp(std::ceil((index + 1) * bin) + low, 0.0, extent));
    }
    const bool empty = begin[0] >= end[0] || begin[1] >= end[1];
    double best = empty ? 0 : -std::numeric_limits<double>::infinity();
    for (int64_t h = begin[0]; h < end[0]; ++h) {
      for (int64_t w = begin[1]; w < end[1]; ++w) {
        const int64_t at[] = {static_cast<int64_t>(roi[0]), out[1], h, w};
        best = std::max(best, x.GetDouble(x.Offset(at)));
      }
    }
    y.SetDouble(y.Offset(out), best);
  }
  return OkStatus();
}

}  // namespace fettle::ops
