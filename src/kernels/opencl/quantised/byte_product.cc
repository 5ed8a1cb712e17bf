#include "kernels/opencl/quantised/byte_product.h"

#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

/// Longest sum of products of a byte and a weight less its zero point that int holds.
constexpr int64_t kMaxDepth = 33000;

/// Reads a product of rows with constant weights as a convolution of pixels.
Status ReadRows(const ir::Graph& group, ByteProduct& read) {
  const ir::Node& core = *read.q.core;
  const Shape& a = *group.value(core.input(0)).shape;
  const Shape& b = *group.value(core.input(1)).shape;
  if (a.rank() < 2 || b.rank() != 2) return Unsupported("weights of rank {}", b.rank());
  read.is_matrix = true;
  read.weights_are_transposed = core.op != "Gemm"_op || core.attributes.Int("transB") == 0;
  PixelConv& conv = read.conv;
  conv.ic = a[a.rank() - 1];
  conv.oc = b[read.weights_are_transposed ? 1 : 0];
  conv.in = conv.out = {1, 1, a.Count(0, a.rank() - 1)};
  if (conv.ic == 0 || conv.oc == 0 || conv.out[2] == 0) return Unsupported("an empty operand");
  const ir::ValueId bias = read.q.bias;
  if (bias != ir::kAbsent && group.value(bias).shape->elements() != conv.oc)
    return Unsupported("the addend is not a row of the output");
  return CheckCounts(a, b, *group.value(core.output(0)).shape);
}

/// The zero point of x: an element that is computed, or a number.
void AppendZero(const Problem& problem, const ByteProduct& product, RecordedLaunch& launch) {
  const ir::ValueId zero = product.q.x_zero;
  if (zero == ir::kAbsent) {
    launch.Int(0);
  } else if (const auto& constant = problem.group->value(zero).constant) {
    launch.Int(constant->GetInt(0));
  } else {
    launch.Input(InputIndex(*problem.group, zero), 1);
  }
}

/// What rounds to the least and the greatest byte, less the zero point.
cl_float2 LimitsOf(const QuantisedGroup::Requantise& r) {
  return {{static_cast<float>(r.low - r.zero), static_cast<float>(r.high - r.zero)}};
}

/// SHORTCUT_PARAMS of bytes.clh.
void AppendShortcut(const Problem& problem, const QuantisedGroup::Residual& residual,
                    RecordedLaunch& launch) {
  launch.Input(InputIndex(*problem.group, residual.shortcut), 4)
      .Value(
          cl_float4{{static_cast<float>(residual.product_scale), static_cast<float>(residual.scale),
                     static_cast<float>(residual.sum.scale), 0}})
      .Value(Int2(residual.zero, residual.sum.zero))
      .Value(LimitsOf(residual.sum));
}

}  // namespace

Result<ByteProduct> ReadByteProduct(const ir::Graph& group) {
  ByteProduct read;
  ASSIGN_OR_RETURN(read.q, ReadQuantisedGroup(group));
  if (group.outputs.size() != 1) return Unsupported("a value inside the group is an output");
  const ir::Node& core = *read.q.core;
  if (core.op == "Conv"_op || core.op == "ConvInteger"_op) {
    ASSIGN_OR_RETURN(static_cast<ConvGeometry&>(read.conv), ReadPixelGeometry(group, core));
  } else {
    RETURN_IF_ERROR(ReadRows(group, read));
  }
  if (read.conv.ic / read.conv.groups * read.conv.taps() > kMaxDepth)
    return Unsupported("sums of over {} products", kMaxDepth);
  const bool ends = group.outputs[0] == read.q.anchor();
  if (read.q.residual && read.is_matrix) return Unsupported("bytes are added to those of rows");
  read.result = read.q.quantiser() != nullptr                                ? ByteResult::kBytes
                : ends && group.value(group.outputs[0]).dtype == DType::kI32 ? ByteResult::kSums
                                                                             : ByteResult::kFloats;
  return read;
}

State BytePixels(DType storage) {
  return {.device = DeviceKind::kOpenCl,
          .memory = MemoryKind::kBuffer,
          .layout = *LayoutFromName("NCHW4c", 4),
          .storage = storage};
}

Result<std::vector<StateAssignment>> ByteStates(const ir::Graph& group, const ByteProduct& product,
                                                const Device& device) {
  const size_t input = InputIndex(group, product.q.x);
  const bool is_float = product.result == ByteResult::kFloats;
  std::vector<State> forms = product.is_matrix ? RowStates() : PixelStates(device);
  if (!is_float) forms.resize(1);
  std::vector<StateAssignment> all;
  for (const State& form : forms) {
    StateAssignment states = StatesBeside(group, form);
    if (!product.is_matrix) states.inputs[input] = BytePixels(group.value(product.q.x).dtype);
    if (!product.is_matrix && !is_float)
      states.outputs[0] = BytePixels(group.value(group.outputs[0]).dtype);
    if (const auto& residual = product.q.residual)
      states.inputs[InputIndex(group, residual->shortcut)] =
          BytePixels(group.value(residual->shortcut).dtype);
    if (is_float) {
      RETURN_IF_ERROR(Expression::Compile(group, states, product.q.anchor()).status());
      if (!IsFloatValue(group.value(group.outputs[0]).dtype))
        return Unsupported("an output of this type");
    }
    all.push_back(std::move(states));
  }
  return all;
}

bool TakesDot(const ir::Graph& group, const ByteProduct& product) {
  const QuantisedGroup& q = product.q;
  if (group.value(q.w).dtype != DType::kI8) return false;
  if (q.w_zero == ir::kAbsent) return true;
  const Constant& zeros = *group.value(q.w_zero).constant;
  for (int64_t i = 0; i < zeros.elements(); ++i) {
    if (zeros.GetInt(i) != 0) return false;
  }
  return true;
}

FilterForm ByteForm(const ByteProduct& product, const QuadPlan& plan, bool dot) {
  FilterForm form = QuadForm(product.conv, plan, product.weights_are_transposed);
  if (!dot) return form;
  if (!form.axes.empty()) {
    std::swap(form.axes.end()[-1], form.axes.end()[-2]);
    return form;
  }
  form.source = [lanes = plan.lanes, in_order = form.source](int64_t i) {
    const int64_t in_quad = i % (4 * lanes);
    return in_order(i - in_quad + in_quad % 4 * lanes + in_quad / 4);
  };
  return form;
}

void DefineBytes(const Problem& problem, const ByteProduct& product, BuildOptions& options) {
  const ir::Graph& group = *problem.group;
  const auto name = [](DType type) {
    return type == DType::kI8 ? "char" : type == DType::kU8 ? "uchar" : "int";
  };
  const DType in = group.value(product.q.x).dtype;
  const ir::ValueId zero = product.q.x_zero;
  options.Add(fmt::format("-DIN_TYPE={0} -DIN_VECTOR={0}4", name(in)));
  if (in == DType::kI8) options.Add("-DADD_DOT=AddSignedDot");
  options.Define("COMPUTED_ZERO", zero != ir::kAbsent && !group.value(zero).is_constant() ? 1 : 0);
  options.Define("RESULT", static_cast<int64_t>(product.result));
  if (product.result != ByteResult::kFloats)
    options.Add(fmt::format("-DOUT_TYPE={0} -DOUT_VECTOR={0}4 -DOUT_CONVERT=convert_{0}4",
                            name(problem.states.outputs[0].storage)));
  if (const auto& residual = product.q.residual)
    options.Add(fmt::format("-DRESIDUAL=1 -DSHORTCUT_VECTOR={}4",
                            name(group.value(residual->shortcut).dtype)));
}

Result<std::unique_ptr<PreparedKernel>> RecordByteProduct(
    const Problem& problem, const ByteProduct& product, const ByteProgram& program,
    const OpenClDevice& device, const std::function<void(RecordedLaunch&)>& append) {
  auto recorded = std::make_unique<RecordedKernel>();
  if (product.result == ByteResult::kFloats) {
    ASSIGN_OR_RETURN(recorded->expression,
                     Expression::Compile(*problem.group, problem.states, product.q.anchor()));
  }
  ASSIGN_OR_RETURN(
      std::shared_ptr<OpenClKernel> kernel,
      device.BuildKernel(MakeProgram(program.path, program.options, recorded->expression.text()),
                         program.function));
  const int64_t pixel = product.is_matrix ? 1 : 4;
  const DType out = problem.states.outputs[0].storage;
  RecordedLaunch launch(std::move(kernel), program.sizes);
  launch.Input(InputIndex(*problem.group, product.q.x), pixel);
  launch.Output(0, StorageBytes(out, pixel)).Packed(0, 4);
  launch.Int(program.form.bias).Int(product.conv.oc);
  AppendZero(problem, product, launch);
  const QuantisedGroup::Requantise* quantiser = product.q.quantiser();
  const QuantisedGroup::Requantise r =
      quantiser == nullptr ? QuantisedGroup::Requantise{} : *quantiser;
  launch.Int(r.zero).Value(LimitsOf(r));
  if (product.q.residual) AppendShortcut(problem, *product.q.residual, launch);
  append(launch);
  recorded->workspace = program.workspace;
  recorded->recorded.push_back(std::move(launch));
  recorded->own_packs.push_back(RequestByteFilter(product, program.form, program.dot));
  return std::unique_ptr<PreparedKernel>(std::move(recorded));
}

ParamSpace ByteSpace(const Problem& problem, const ByteProduct& product, const Device& device) {
  const bool takes_dot = TakesDot(*problem.group, product);
  ParamSpace space = TileSpace(product.conv, device);
  std::vector<Tunable> tunables = kByteFields.Tunables();
  if (!takes_dot) tunables[0].values = {0};
  space.tunables.insert(space.tunables.begin(), tunables.begin(), tunables.end());
  kByteFields.Write({takes_dot && AsOpenCl(device).facts().int8_dot ? 1 : 0}, space.usual);
  return space;
}

}  // namespace fettle::kernels
