#include "kernels/opencl/matmul/forms.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "kernels/opencl/expression/expression.h"
#include "kernels/opencl/states.h"

namespace fettle::kernels {
namespace {

/// How the matrices of an operand follow each other over the output's; nothing where axes in the
/// middle are repeated.
std::optional<GemmShape::Matrices> MatricesOf(const Product& product,
                                              int64_t Product::Batch::*operand) {
  const auto& batches = product.batches;
  GemmShape::Matrices of{.repeat = 0, .matrices = 1};
  for (const Product::Batch& batch : batches) {
    of.matrices = std::max(of.matrices, batch.*operand + 1);
    if (batch.*operand == 0 && of.matrices == 1) ++of.repeat;
  }
  of.repeat = std::max<int64_t>(of.repeat, 1);
  for (size_t i = 0; i < batches.size(); ++i)
    if (batches[i].*operand != static_cast<int64_t>(i) / of.repeat % of.matrices)
      return std::nullopt;
  return of;
}

/// The last axis outermost: a matrix column by column.
Layout Columns(int rank) {
  Layout layout;
  layout.order.resize(rank);
  std::iota(layout.order.begin() + 1, layout.order.end(), 0);
  layout.order[0] = rank - 1;
  return layout;
}

/// Four neighbours of the last axis a pixel, all other axes along y.
Layout PixelRows(int rank) { return Layout{.blocks = {{rank - 1, 4}}, .image_y_dims = rank - 1}; }

/// Whether a constant B can be packed into an image.
Status CheckPackedImage(const Product& product, DType storage, const OpenClFacts& facts) {
  if (storage == DType::kF16 && !facts.half_images)
    return Unsupported("the device has no images of f16");
  const int64_t width = DivideUp(product.n, 4);
  if (width <= facts.image2d_max_width && product.k <= facts.image2d_max_height) return OkStatus();
  return Unsupported("an image of {}x{} pixels for the right operand: the device has at most {}x{}",
                     width, product.k, facts.image2d_max_width, facts.image2d_max_height);
}

/// How often the nodes of a group read a value.
int64_t Reads(const ir::Graph& group, ir::ValueId id) {
  int64_t reads = 0;
  for (const ir::Node& node : group.nodes())
    reads += std::count(node.inputs.begin(), node.inputs.end(), id);
  return reads;
}

/// `state` of a value that is `transposed` as the matrix in `form`, from the row-major one.
Status PutInForm(MatrixForm form, const ir::Value& value, bool transposed, const OpenClFacts& facts,
                 State& state) {
  const bool as_columns = form == (transposed ? MatrixForm::kRows : MatrixForm::kColumns);
  if (form != MatrixForm::kImage && !as_columns) return OkStatus();
  const int rank = value.shape->rank();
  if (rank < 2) return Unsupported("'{}' is a vector", value.name);
  if (as_columns) {
    state.layout = Columns(rank);
    return OkStatus();
  }
  if (transposed)
    return Unsupported("'{}' is transposed; an image holds no transposed matrix", value.name);
  if (state.storage == DType::kF16 && !facts.half_images)
    return Unsupported("the device has no images of f16");
  state.memory = MemoryKind::kImage2d;
  state.layout = PixelRows(rank);
  return OkStatus();
}

}  // namespace

Result<GemmShape> ReadShape(const ir::Graph& group, const Product& product, DType storage) {
  const auto a = MatricesOf(product, &Product::Batch::a);
  const auto b = MatricesOf(product, &Product::Batch::b);
  if (!a || !b) return Unsupported("matrices that repeat along a batch axis in the middle");
  return GemmShape{.m = product.m,
                   .n = product.n,
                   .k = product.k,
                   .batch = static_cast<int64_t>(product.batches.size()),
                   .storage = storage,
                   .trans_a = product.trans_a,
                   .trans_b = product.trans_b && !product.constant_b,
                   .is_finished = group.nodes().size() > 1 || product.alpha != 1 ||
                                  product.addend != ir::kAbsent,
                   .constant_b = product.constant_b,
                   .a = *a,
                   .b = *b};
}

StateAssignment RowsOf(const ir::Graph& group, DType storage) {
  State row = RowStates()[0];
  row.storage = storage;
  return StatesBeside(group, row);
}

Result<StateAssignment> StatesIn(const GemmForms& forms, const ir::Graph& group,
                                 const Product& product, DType storage, const OpenClFacts& facts) {
  StateAssignment states = RowsOf(group, storage);
  const StateAssignment rows = states;
  RETURN_IF_ERROR(PutInForm(forms.a, group.value(product.a), product.trans_a, facts,
                            states.inputs[InputIndex(group, product.a)]));
  if (!product.constant_b) {
    if (product.a == product.b && (forms.a != forms.b || product.trans_a != product.trans_b))
      return Unsupported("both operands are one tensor");
    RETURN_IF_ERROR(PutInForm(forms.b, group.value(product.b), product.trans_b, facts,
                              states.inputs[InputIndex(group, product.b)]));
  } else if (forms.b == MatrixForm::kImage) {
    RETURN_IF_ERROR(CheckPackedImage(product, storage, facts));
  }
  for (size_t i = 0; i < group.inputs.size(); ++i)
    if (states.inputs[i] != rows.inputs[i] && Reads(group, group.inputs[i]) > 1)
      return Unsupported("'{}' is read more than once", group.value(group.inputs[i]).name);
  RETURN_IF_ERROR(
      PutInForm(forms.c, group.value(group.outputs[0]), false, facts, states.outputs[0]));
  return states;
}

Result<std::vector<StateAssignment>> StatesFor(const GemmAlgorithm& algorithm,
                                               const ir::Graph& group, const Product& product,
                                               const Device& device) {
  const OpenClFacts& facts = AsOpenCl(device).facts();
  if (group.outputs.size() != 1) return Unsupported("expected one output");
  if (!IsFloatValue(group.value(group.outputs[0]).dtype))
    return Unsupported("an output that is not a float");
  RETURN_IF_ERROR(
      Expression::Compile(group, RowsOf(group, DType::kF32), group.nodes()[0].output(0)).status());
  std::vector<StateAssignment> all;
  Status refused;
  for (const DType storage : algorithm.storages) {
    for (const GemmForms& forms : algorithm.forms) {
      auto states = StatesIn(forms, group, product, storage, facts);
      if (!states.ok())
        refused = states.status();
      else if (std::find(all.begin(), all.end(), *states) == all.end())  // B may be no operand
        all.push_back(std::move(*states));
    }
  }
  if (all.empty()) return refused;
  return all;
}

GemmForms FormsOf(const GemmAlgorithm& algorithm, const Problem& problem, const Product& product,
                  const OpenClFacts& facts) {
  for (const GemmForms& forms : algorithm.forms) {
    const auto states =
        StatesIn(forms, *problem.group, product, problem.states.outputs[0].storage, facts);
    if (states.ok() && *states == problem.states) return forms;
  }
  return algorithm.forms.front();
}

}  // namespace fettle::kernels
