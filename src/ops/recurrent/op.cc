#include "ops/recurrent/op.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "ops/import.h"
#include "ops/op.h"
#include "ops/recurrent/onnx.h"

namespace fettle::ops {
namespace {

using Kind = CellActivation::Kind;

struct ActivationRow {
  std::string_view name;  // lower case
  Kind kind;
  int parameters;  // 0, 1 (alpha) or 2 (alpha, beta)
  double alpha, beta;
};

/// Names, and the defaults of their parameters.
constexpr ActivationRow kActivations[] = {
    {"affine", Kind::kAffine, 2, 1, 0},
    {"elu", Kind::kElu, 1, 1, 0},
    {"hardsigmoid", Kind::kHardSigmoid, 2, 0.2, 0.5},
    {"leakyrelu", Kind::kLeakyRelu, 1, 0.01, 0},
    {"relu", Kind::kRelu, 0, 0, 0},
    {"scaledtanh", Kind::kScaledTanh, 2, 1, 1},
    {"sigmoid", Kind::kSigmoid, 0, 0, 0},
    {"softplus", Kind::kSoftplus, 0, 0, 0},
    {"softsign", Kind::kSoftsign, 0, 0, 0},
    {"tanh", Kind::kTanh, 0, 0, 0},
    {"thresholdedrelu", Kind::kThresholdedRelu, 1, 1, 0},
};

const ActivationRow* FindActivation(std::string name) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const ActivationRow& row : kActivations) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

std::vector<std::string> DefaultActivations(const RecurrentAttributes& cell) {
  static const std::vector<std::string> kDefaults[] = {
      {"Tanh"}, {"Sigmoid", "Tanh"}, {"Sigmoid", "Tanh", "Tanh"}};
  const std::vector<std::string>& one = kDefaults[static_cast<size_t>(cell.kind)];
  std::vector<std::string> all = one;
  if (cell.directions == 2) all.insert(all.end(), one.begin(), one.end());
  return all;
}

/// Lists of parameters are consumed in order by the activations that take them.
Status ReadActivations(const ir::Attributes& attributes, RecurrentAttributes& cell) {
  std::vector<std::string> names = attributes.Texts("activations");
  if (names.empty()) names = DefaultActivations(cell);
  const size_t expected = cell.activations_per_direction() * cell.directions;
  if (names.size() != expected) {
    return InvalidModel("attribute 'activations': expected {} names, got {}", expected,
                        names.size());
  }
  const std::vector<double> alphas = attributes.Floats("activation_alpha");
  const std::vector<double> betas = attributes.Floats("activation_beta");
  size_t next_alpha = 0, next_beta = 0;
  for (const std::string& name : names) {
    const ActivationRow* row = FindActivation(name);
    if (row == nullptr)
      return InvalidModel("attribute 'activations': '{}' is not an activation", name);
    CellActivation activation = {row->kind, row->alpha, row->beta};
    if (row->parameters > 0 && next_alpha < alphas.size()) activation.alpha = alphas[next_alpha++];
    if (row->parameters > 1 && next_beta < betas.size()) activation.beta = betas[next_beta++];
    cell.activations.push_back(activation);
  }
  return OkStatus();
}

Status ReadDirection(const ir::Attributes& attributes, RecurrentAttributes& cell) {
  const std::string direction = attributes.Text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    return InvalidModel("attribute 'direction': expected forward|reverse|bidirectional, got '{}'",
                        direction);
  }
  cell.directions = direction == "bidirectional" ? 2 : 1;
  cell.reverse = direction == "reverse";
  return OkStatus();
}

Status CheckShape(const InferContext& context, int i, std::string_view name, const Shape& want) {
  if (!context.has_input(i) || context.shape(i) == want) return OkStatus();
  return InvalidModel("{}: expected the shape {}, got {}", name, want.ToString(),
                      context.shape(i).ToString());
}

Status InferRecurrent(InferContext& context) {
  if (!context.has_input(1) || !context.has_input(2))
    return InvalidModel("expected weights and recurrence weights");
  ASSIGN_OR_RETURN(
      const RecurrentAttributes cell,
      ReadRecurrent(context.node(), context.shape(0), context.shape(1), context.shape(2)));
  const int64_t directions = cell.directions, hidden = cell.hidden;
  const Shape state = cell.batch_first ? Shape{cell.batch, directions, hidden}
                                       : Shape{directions, cell.batch, hidden};
  RETURN_IF_ERROR(CheckShape(context, 3, "bias", {directions, 2 * cell.gates * hidden}));
  RETURN_IF_ERROR(CheckShape(context, 4, "sequence_lens", {cell.batch}));
  RETURN_IF_ERROR(CheckShape(context, 5, "initial_h", state));
  RETURN_IF_ERROR(CheckShape(context, 6, "initial_c", state));
  RETURN_IF_ERROR(CheckShape(context, 7, "peepholes", {directions, 3 * hidden}));
  for (int i : {8, 9}) {
    if (context.has_input(i) && context.shape(i) != Shape{directions})
      RETURN_IF_ERROR(CheckShape(context, i, "steps", {directions, cell.gates * hidden}));
  }
  if (!IsFloat(context.dtype(0))) return InvalidModel("expected floats");
  for (int i : {1, 2, 3, 5, 6, 7, 8, 9}) {
    if (context.has_input(i) && context.dtype(i) != context.dtype(0))
      return InvalidModel("expected operands of one type");
  }
  context.SetOutput(0, context.dtype(0),
                    cell.batch_first ? Shape{cell.batch, cell.steps, directions, hidden}
                                     : Shape{cell.steps, directions, cell.batch, hidden});
  context.SetOutput(1, context.dtype(0), state);
  context.SetOutput(2, context.dtype(0), state);
  return OkStatus();
}

int64_t RecurrentMacs(const ir::Node&, std::span<const Shape> inputs, std::span<const Shape>) {
  const Shape &x = inputs[0], &w = inputs[1], &r = inputs[2];
  return x[0] * x[1] * (w.elements() + r.elements());
}

constexpr ImportRule kRnnImports[] = {{.op_type = "RNN", .since = 7}};
constexpr ImportRule kGruImports[] = {{.op_type = "GRU", .since = 7}};
constexpr ImportRule kLstmImports[] = {
    {.op_type = "LSTM", .since = 7},
    {.op_type = "DynamicQuantizeLSTM", .run = ImportDynamicQuantizeLstm, .domain = kMicrosoft}};

}  // namespace

double ApplyActivation(const CellActivation& activation, double x) {
  switch (activation.kind) {
    case Kind::kAffine: return activation.alpha * x + activation.beta;
    case Kind::kElu: return x >= 0 ? x : activation.alpha * std::expm1(x);
    case Kind::kHardSigmoid: return std::clamp(activation.alpha * x + activation.beta, 0.0, 1.0);
    case Kind::kLeakyRelu: return x >= 0 ? x : activation.alpha * x;
    case Kind::kRelu: return x < 0 ? 0 : x;
    case Kind::kScaledTanh: return activation.alpha * std::tanh(activation.beta * x);
    case Kind::kSigmoid: return 1 / (1 + std::exp(-x));
    case Kind::kSoftplus: return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
    case Kind::kSoftsign: return x / (1 + std::abs(x));
    case Kind::kTanh: return std::tanh(x);
    case Kind::kThresholdedRelu: return x > activation.alpha ? x : 0;
  }
  return x;
}

Result<RecurrentAttributes> ReadRecurrent(const ir::Node& node, const Shape& x, const Shape& w,
                                          const Shape& r) {
  const ir::Attributes& attributes = node.attributes;
  RecurrentAttributes cell;
  cell.kind = node.op == "LSTM"_op  ? RecurrentKind::kLstm
              : node.op == "GRU"_op ? RecurrentKind::kGru
                                    : RecurrentKind::kRnn;
  cell.gates = cell.kind == RecurrentKind::kLstm ? 4 : cell.kind == RecurrentKind::kGru ? 3 : 1;
  RETURN_IF_ERROR(ReadDirection(attributes, cell));
  cell.batch_first = attributes.Int("layout", 0) != 0;
  cell.linear_before_reset = attributes.Int("linear_before_reset", 0) != 0;
  cell.input_forget = attributes.Int("input_forget", 0) != 0;
  cell.clip = attributes.Float("clip", 0);
  if (x.rank() != 3 || w.rank() != 3 || r.rank() != 3) {
    return InvalidModel("expected operands of rank 3, got {}, {}, {}", x.ToString(), w.ToString(),
                        r.ToString());
  }
  cell.steps = x[cell.batch_first ? 1 : 0];
  cell.batch = x[cell.batch_first ? 0 : 1];
  cell.input = x[2];
  cell.hidden = r[2];
  const int64_t rows = cell.gates * cell.hidden;
  if (attributes.Int("hidden_size", cell.hidden) != cell.hidden ||
      w != Shape{cell.directions, rows, cell.input} ||
      r != Shape{cell.directions, rows, cell.hidden}) {
    return InvalidModel("weights {} and {} do not fit the input {} and hidden_size {}",
                        w.ToString(), r.ToString(), x.ToString(),
                        attributes.Int("hidden_size", cell.hidden));
  }
  RETURN_IF_ERROR(ReadActivations(attributes, cell));
  return cell;
}

Status RecurrentReference(const RefContext& context, const Region& region);

std::span<const Operator> RecurrentOps() {
  static const Operator kOps[] = {
      {{.name = "GRU",
        .traits = {Trait::kWholeOutput},
        .min_inputs = 3,
        .max_inputs = 6,
        .max_outputs = 2},
       {.infer = InferRecurrent,
        .reference = RecurrentReference,
        .macs = RecurrentMacs,
        .imports = kGruImports}},
      {{.name = "LSTM",
        .traits = {Trait::kWholeOutput},
        .min_inputs = 3,
        .max_inputs = 10,
        .max_outputs = 3},
       {.infer = InferRecurrent,
        .reference = RecurrentReference,
        .macs = RecurrentMacs,
        .imports = kLstmImports}},
      {{.name = "RNN",
        .traits = {Trait::kWholeOutput},
        .min_inputs = 3,
        .max_inputs = 6,
        .max_outputs = 2},
       {.infer = InferRecurrent,
        .reference = RecurrentReference,
        .macs = RecurrentMacs,
        .imports = kRnnImports}},
  };
  return kOps;
}

}  // namespace fettle::ops
