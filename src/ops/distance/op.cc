// CDist of com.microsoft: the distance of every row of one matrix from every row of another.
#include "ops/import.h"
#include "ops/infer.h"

namespace fettle::ops {

Status CDistReference(const RefContext& context, const Region& region);

namespace {

Status InferCDist(InferContext& context) {
  RETURN_IF_ERROR(CheckType(context, 0, kFloatTypes));
  const Shape &a = context.shape(0), &b = context.shape(1);
  if (context.dtype(1) != context.dtype(0))
    return InvalidModel("inputs 0 and 1 have the types {} and {}", DTypeName(context.dtype(0)),
                        DTypeName(context.dtype(1)));
  if (a.rank() != 2 || b.rank() != 2 || a[1] != b[1])
    return InvalidModel("shapes {} and {} are not rows of one length", a.ToString(), b.ToString());
  const std::string metric = context.attributes().Text("metric", "sqeuclidean");
  if (metric != "sqeuclidean" && metric != "euclidean")
    return InvalidModel("attribute 'metric': expected sqeuclidean or euclidean, got '{}'", metric);
  context.SetOutput(0, context.dtype(0), Shape({a[0], b[0]}));
  return OkStatus();
}

int64_t CDistMacs(const ir::Node&, std::span<const Shape> inputs, std::span<const Shape> outputs) {
  return outputs[0].elements() * inputs[0][1];
}

constexpr ImportRule kDistanceImports[] = {{.op_type = "CDist", .domain = kMicrosoft}};

}  // namespace

std::span<const Operator> DistanceOps() {
  static const Operator kOps[] = {
      {{.name = "CDist", .min_inputs = 2, .max_inputs = 2},
       {.infer = InferCDist,
        .reference = CDistReference,
        .macs = CDistMacs,
        .imports = kDistanceImports}},
  };
  return kOps;
}

}  // namespace fettle::ops
