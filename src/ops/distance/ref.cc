// Scalar oracle of CDist.
#include <cmath>

#include "ops/op.h"

namespace fettle::ops {

Status CDistReference(const RefContext& context, const Region& region) {
  const HostView &a = context.inputs[0], &b = context.inputs[1], &y = context.outputs[0];
  const bool root = context.attributes().Text("metric", "sqeuclidean") == "euclidean";
  for (int64_t i = region.begin; i < region.end; ++i) {
    const int64_t m = i / y.shape[1], n = i % y.shape[1];
    double sum = 0;
    for (int64_t k = 0; k < a.shape[1]; ++k) {
      const double step = a.GetDouble(m * a.strides[0] + k * a.strides[1]) -
                          b.GetDouble(n * b.strides[0] + k * b.strides[1]);
      sum += step * step;
    }
    y.SetDouble(m * y.strides[0] + n * y.strides[1], root ? std::sqrt(sum) : sum);
  }
  return OkStatus();
}

}  // namespace fettle::ops
