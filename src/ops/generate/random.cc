// Random numbers: one operator whose elements are a function of a seed and their position, and what
// ONNX's are made of it. The same in every run, on every device: a network's results stay
// reproducible.
#include <bit>

#include "base/hash.h"
#include "ops/element_access.h"
#include "ops/generate/op.h"
#include "ops/import.h"
#include "ops/onnx_types.h"
#include "ops/op.h"

namespace fettle::ops {
namespace {

constexpr double kTurn = 6.283185307179586;
/// Half the distance of neighbours: what keeps a number of [0, 1) from 0.
constexpr double kHalfStep = 0x1p-25;

/// The seed of the node's `stream`-th sequence: what it names, else its own, by the name of what it
/// makes.
int64_t SeedOf(const ImportContext& context, int stream) {
  uint64_t seed = 0;
  if (context.attributes().Has("seed")) {
    seed = std::bit_cast<uint32_t>(static_cast<float>(context.attributes().Float("seed")));
  } else if (!context.node().outputs.empty()) {
    seed = HashText(context.node().outputs[0]);
  }
  return static_cast<int64_t>(seed + (static_cast<uint64_t>(stream) << 48));
}

/// Arithmetic on f32 values of the graph and numbers.
class Floats {
 public:
  explicit Floats(ImportContext& context) : context_(context) {}

  ir::ValueId Number(double value) { return context_.ConstScalar(DType::kF32, value); }
  ir::ValueId Of(std::string_view op, ir::ValueId a, ir::ValueId b) {
    return context_.Emit1(op, {a, b});
  }
  ir::ValueId Of(std::string_view op, ir::ValueId a, double b) { return Of(op, a, Number(b)); }
  ir::ValueId Of(std::string_view op, ir::ValueId a) { return context_.Emit1(op, {a}); }
  /// value * scale + bias
  ir::ValueId Scaled(ir::ValueId value, double scale, double bias) {
    return Of("Add", Of("Mul", value, scale), bias);
  }

 private:
  ImportContext& context_;
};

/// Pairs of uniform numbers as normal ones: the sine form needs no second result.
ir::ValueId Normal(ImportContext& context, ir::ValueId shape) {
  Floats f(context);
  const ir::ValueId radius = f.Of("Log", f.Scaled(EmitUniform(context, shape, 0), 1, kHalfStep));
  const ir::ValueId angle = f.Of("Cos", f.Of("Mul", EmitUniform(context, shape, 1), kTurn));
  return f.Of("Mul", f.Of("Sqrt", f.Of("Mul", radius, -2.0)), angle);
}

/// Of attribute 'dtype', else as `like`, else of `otherwise`.
Status BindTyped(ImportContext& context, ir::ValueId value, ir::ValueId like,
                 int64_t otherwise = 1) {
  if (!context.attributes().Has("dtype") && like != ir::kAbsent) {
    context.Bind(0, context.Emit1("CastLike", {value, like}));
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const DType dtype, DTypeFromOnnx(context.attributes().Int("dtype", otherwise)));
  context.Bind(0, context.Emit1("Cast", {value}, {{"to", std::string(DTypeName(dtype))}}));
  return OkStatus();
}

/// RandomUniform, RandomNormal and their forms of another tensor's shape.
Status ImportRandom(ImportContext& context) {
  const ir::Attributes& attributes = context.attributes();
  const ir::ValueId like = context.input(0);
  const ir::ValueId shape = like == ir::kAbsent ? context.ConstInts(attributes.Ints("shape"))
                                                : context.Emit1("Shape", {like});
  Floats f(context);
  if (context.node().op_type.starts_with("RandomNormal")) {
    const ir::ValueId value = Normal(context, shape);
    return BindTyped(
        context, f.Scaled(value, attributes.Float("scale", 1), attributes.Float("mean", 0)), like);
  }
  const double low = attributes.Float("low", 0), high = attributes.Float("high", 1);
  return BindTyped(context, f.Scaled(EmitUniform(context, shape, 0), high - low, low), like);
}

Status ImportBernoulli(ImportContext& context) {
  const ir::ValueId x = context.input(0);
  const ir::ValueId drawn = EmitUniform(context, context.Emit1("Shape", {x}), 0);
  const ir::ValueId chance = context.Emit1("Cast", {x}, {{"to", std::string("f32")}});
  return BindTyped(context, context.Emit1("Less", {drawn, chance}), x);
}

/// Classes by their logarithms of chances [batch, classes]: the largest of them, each with noise of
/// Gumbel's distribution added.
Status ImportMultinomial(ImportContext& context) {
  const int64_t count = context.attributes().Int("sample_size", 1);
  const ir::ValueId x = context.Emit1("Cast", {context.input(0)}, {{"to", std::string("f32")}});
  const ir::ValueId one = context.ConstInts({1});
  const ir::ValueId logits = context.Emit1("Unsqueeze", {x, one});
  const ir::ValueId counts = context.ConstInts({1, count, 1});
  const ir::ValueId shape = context.Emit1("Mul", {context.Emit1("Shape", {logits}), counts});
  Floats f(context);
  const ir::ValueId drawn = f.Scaled(EmitUniform(context, shape, 0), 1, kHalfStep);
  const ir::ValueId noise = f.Of("Log", f.Of("Neg", f.Of("Log", drawn)));
  const ir::ValueId best = context.Emit1("ArgMax", {f.Of("Sub", logits, noise)},
                                         {{"axis", int64_t{2}}, {"keepdims", int64_t{0}}});
  return BindTyped(context, best, ir::kAbsent, 6);
}

}  // namespace

ir::ValueId EmitUniform(ImportContext& context, ir::ValueId shape, int stream) {
  return context.Emit1("RandomUniform", {shape}, {{"seed", SeedOf(context, stream)}});
}

Status RandomUniformReference(const RefContext& context, const Region& region) {
  const HostView& y = context.outputs[0];
  const auto seed = static_cast<uint64_t>(context.attributes().Int("seed"));
  ForEachCoordinate(y.shape, region, [&](int64_t i, std::span<const int64_t> coordinate) {
    y.as<float>()[y.Offset(coordinate)] = UniformAt(seed, static_cast<uint64_t>(i));
  });
  return OkStatus();
}

std::span<const ImportRule> RandomUniformImports() {
  static constexpr ImportRule kRandomRules[] = {
      {.op_type = "Bernoulli", .since = 15, .run = ImportBernoulli},
      {.op_type = "Multinomial", .since = 7, .run = ImportMultinomial},
      {.op_type = "RandomNormal", .run = ImportRandom},
      {.op_type = "RandomNormalLike", .run = ImportRandom},
      {.op_type = "RandomUniform", .run = ImportRandom},
      {.op_type = "RandomUniformLike", .run = ImportRandom},
  };
  return kRandomRules;
}

}  // namespace fettle::ops
