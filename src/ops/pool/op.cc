#include "ops/pool/op.h"

#include "ops/extent_rule.h"
#include "ops/infer.h"
#include "ops/op.h"

namespace fettle::ops {
namespace {

/// With ceil_mode the last window may start in the padding at the end: it is dropped.
int64_t PoolExtent(const Window& window, int i, int64_t input, bool ceil_mode) {
  if (!ceil_mode) return WindowOutputExtent(window, i, input);
  const size_t at = i;
  const int64_t stride = window.strides[at];
  const int64_t room = input + window.pad_begin[at] + window.pad_end[at] - window.Span(i);
  if (room <= -stride) return 0;
  const int64_t up = (room + stride - 1) / stride + 1;
  return (up - 1) * stride < input + window.pad_begin[at] ? up : up - 1;
}

bool HasCeilMode(const ir::Attributes& attributes) {
  return attributes.Int("ceil_mode", 0) != 0 && !attributes.Text("auto_pad").starts_with("SAME");
}

Shape PoolShape(const Shape& x, const std::vector<int64_t>& spatial) {
  Dims out = {x[0], x[1]};
  out.insert(out.end(), spatial.begin(), spatial.end());
  return Shape(out);
}

constexpr TypeSet kMaxPoolTypes = kFloatTypes | TypeBit(DType::kI8) | TypeBit(DType::kU8);

Status InferPool(InferContext& context) {
  const bool max = context.node().op == "MaxPool"_op;
  RETURN_IF_ERROR(CheckType(context, 0, max ? kMaxPoolTypes : kFloatTypes));
  ASSIGN_OR_RETURN(const PoolAttributes pool, ReadPool(context.node(), context.shape(0)));
  const Shape out = PoolShape(context.shape(0), pool.output);
  context.SetOutput(0, context.dtype(0), out);
  context.SetOutput(1, DType::kI64, out);
  return OkStatus();
}

Status InferGlobalPool(InferContext& context) {
  RETURN_IF_ERROR(CheckType(context, 0, kFloatTypes));
  const Shape& x = context.shape(0);
  if (x.rank() < 2) return InvalidModel("expected an input of rank 2 or more");
  context.SetOutput(0, context.dtype(0), PoolShape(x, Dims(x.rank() - 2, 1)));
  return OkStatus();
}

Status InferMaxUnpool(InferContext& context) {
  RETURN_IF_ERROR(CheckType(context, 0, kFloatTypes));
  const Shape& x = context.shape(0);
  ASSIGN_OR_RETURN(const MaxUnpoolAttributes unpool, ReadMaxUnpool(context.node(), x));
  if (context.dtype(1) != DType::kI64 || context.shape(1) != x)
    return InvalidModel("indices: expected i64[{}]", x.ToString());
  Shape out = PoolShape(x, unpool.output);
  if (context.has_input(2)) {
    if (context.value(2) == nullptr) {
      context.MarkDataDependent(2);
      return OkStatus();
    }
    const Shape asked(context.Ints(2));
    if (asked.rank() != x.rank() || asked[0] != x[0] || asked[1] != x[1])
      return InvalidModel("output_shape {} does not fit {}", asked.ToString(), x.ToString());
    for (int i = 2; i < x.rank(); ++i) {
      if (asked[i] < out[i])
        return InvalidModel("output_shape {} is below {}", asked.ToString(), out.ToString());
    }
    out = asked;
  }
  context.SetOutput(0, context.dtype(0), out);
  return OkStatus();
}

class PoolExtents final : public ExtentRule {
 public:
  PoolExtents(Window window, bool ceil_mode) : window_(std::move(window)), ceil_mode_(ceil_mode) {}

  bool At(OperandShapes inputs, Shape& output) const override {
    const Shape& x = *inputs[0];
    output = x;
    for (int i = 0; i < window_.spatial_rank(); ++i) {
      output[i + 2] = PoolExtent(window_, i, x[i + 2], ceil_mode_);
      if (output[i + 2] < 1) return false;
    }
    return true;
  }

 private:
  Window window_;
  bool ceil_mode_;
};

std::unique_ptr<ExtentRule> MakePoolExtents(const ir::Node& node, OperandShapes inputs) {
  Result<PoolAttributes> pool = ReadPool(node, *inputs[0]);
  if (!pool.ok()) return nullptr;
  return std::make_unique<PoolExtents>(std::move(*pool), HasCeilMode(node.attributes));
}

class GlobalPoolExtents final : public ExtentRule {
 public:
  bool At(OperandShapes inputs, Shape& output) const override {
    output = *inputs[0];
    for (int i = 2; i < output.rank(); ++i) output[i] = 1;
    return true;
  }
};

std::unique_ptr<ExtentRule> MakeGlobalPoolExtents(const ir::Node&, OperandShapes) {
  return std::make_unique<GlobalPoolExtents>();
}

int64_t PoolMacs(const ir::Node& node, std::span<const Shape>, std::span<const Shape> outputs) {
  return outputs[0].elements() * Shape(node.attributes.Ints("kernel_shape")).elements();
}

int64_t GlobalPoolMacs(const ir::Node&, std::span<const Shape> inputs, std::span<const Shape>) {
  return inputs[0].elements();
}

}  // namespace

Result<PoolAttributes> ReadPool(const ir::Node& node, const Shape& input) {
  const ir::Attributes& attributes = node.attributes;
  ASSIGN_OR_RETURN(Window window, ReadWindow(attributes, attributes.Ints("kernel_shape"), input));
  PoolAttributes pool = {std::move(window), {}};
  pool.count_include_pad = attributes.Int("count_include_pad", 0) != 0;
  pool.column_major = attributes.Int("storage_order", 0) != 0;
  pool.p = attributes.Int("p", 2);
  if (pool.p < 1) return InvalidModel("attribute 'p': expected 1 or more, got {}", pool.p);
  const bool ceil_mode = HasCeilMode(attributes);
  for (int i = 0; i < pool.spatial_rank(); ++i) {
    pool.output.push_back(PoolExtent(pool, i, input[i + 2], ceil_mode));
    if (pool.output.back() < 1)
      return InvalidModel("the window does not fit the input {}", input.ToString());
  }
  return pool;
}

Result<MaxUnpoolAttributes> ReadMaxUnpool(const ir::Node& node, const Shape& input) {
  ASSIGN_OR_RETURN(const Window window,
                   ReadWindow(node.attributes, node.attributes.Ints("kernel_shape"), input));
  MaxUnpoolAttributes unpool;
  for (int i = 0; i < window.spatial_rank(); ++i) {
    const size_t at = i;
    if (input[i + 2] > (int64_t{1} << 32))
      return InvalidModel("cannot enlarge the input {}", input.ToString());
    const int64_t extent = (input[i + 2] - 1) * window.strides[at] + window.kernel[at] -
                           window.pad_begin[at] - window.pad_end[at];
    if (extent < 1) return InvalidModel("the output would have the extent {}", extent);
    unpool.output.push_back(extent);
  }
  return unpool;
}

Status PoolReference(const RefContext& context, const Region& region);
Status MaxPoolReference(const RefContext& context, const Region& region);
Status GlobalPoolReference(const RefContext& context, const Region& region);
Status MaxUnpoolReference(const RefContext& context, const Region& region);
Status MaxRoiPoolReference(const RefContext& context, const Region& region);
Status RoiAlignReference(const RefContext& context, const Region& region);
Status InferMaxRoiPool(InferContext& context);
Status InferRoiAlign(InferContext& context);
std::span<const ImportRule> PoolImports(std::string_view op);

std::span<const Operator> PoolOps() {
  static const Operator kOps[] = {
      {{.name = "AveragePool", .traits = {Trait::kTakesEpilogue}},
       {.infer = InferPool,
        .reference = PoolReference,
        .macs = PoolMacs,
        .imports = PoolImports("AveragePool")}},
      {{.name = "GlobalAveragePool", .traits = {Trait::kTakesEpilogue}},
       {.infer = InferGlobalPool,
        .reference = GlobalPoolReference,
        .macs = GlobalPoolMacs,
        .imports = PoolImports("GlobalAveragePool")}},
      {{.name = "GlobalLpPool", .traits = {Trait::kTakesEpilogue}},
       {.infer = InferGlobalPool,
        .reference = GlobalPoolReference,
        .macs = GlobalPoolMacs,
        .imports = PoolImports("GlobalLpPool")}},
      {{.name = "GlobalMaxPool", .traits = {Trait::kTakesEpilogue}},
       {.infer = InferGlobalPool,
        .reference = GlobalPoolReference,
        .macs = GlobalPoolMacs,
        .imports = PoolImports("GlobalMaxPool")}},
      {{.name = "LpPool", .traits = {Trait::kTakesEpilogue}},
       {.infer = InferPool,
        .reference = PoolReference,
        .macs = PoolMacs,
        .imports = PoolImports("LpPool")}},
      {{.name = "MaxPool", .traits = {Trait::kTakesEpilogue}, .max_outputs = 2},
       {.infer = InferPool,
        .reference = MaxPoolReference,
        .macs = PoolMacs,
        .imports = PoolImports("MaxPool"),
        .types = "floats, i8, u8"}},
      {{.name = "MaxRoiPool", .min_inputs = 2, .max_inputs = 2},
       {.infer = InferMaxRoiPool,
        .reference = MaxRoiPoolReference,
        .imports = PoolImports("MaxRoiPool")}},
      {{.name = "MaxUnpool",
        .traits = {Trait::kWholeOutput},
        .min_inputs = 2,
        .max_inputs = 3,
        .host_inputs = 1u << 2},
       {.infer = InferMaxUnpool,
        .reference = MaxUnpoolReference,
        .imports = PoolImports("MaxUnpool")}},
      {{.name = "RoiAlign", .min_inputs = 3, .max_inputs = 3},
       {.infer = InferRoiAlign,
        .reference = RoiAlignReference,
        .imports = PoolImports("RoiAlign")}},
  };
  return kOps;
}

std::span<const ExtentRow> PoolExtentRules() {
  static constexpr ExtentRow kRows[] = {{"AveragePool", MakePoolExtents},
                                        {"GlobalAveragePool", MakeGlobalPoolExtents},
                                        {"GlobalLpPool", MakeGlobalPoolExtents},
                                        {"GlobalMaxPool", MakeGlobalPoolExtents},
                                        {"LpPool", MakePoolExtents},
                                        {"MaxPool", MakePoolExtents}};
  return kRows;
}

}  // namespace fettle::ops
