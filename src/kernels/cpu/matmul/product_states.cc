// compiled: small
#include "kernels/cpu/matmul/product_states.h"

#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/epilogue/epilogue.h"
#include "kernels/cpu/gemm/microkernel.h"

namespace fettle::kernels {
namespace {

/// Whether `operand`, which is read once in node 0 and nowhere else, may be the caller's: of its
/// own type, for the kernel converts none.
bool MayBeCallers(const ir::Graph& group, ir::ValueId operand) {
  const ir::Value& value = group.value(operand);
  if (value.is_constant() || value.dtype != DType::kF32) return false;
  int64_t readers = 0;
  for (const ir::Node& node : group.nodes())
    readers += std::count(node.inputs.begin(), node.inputs.end(), operand);
  return readers == 1;
}

/// Where B is narrower than a panel, packing its end would take longer than copying it.
bool TakesCallersB(const Product& product) {
  return !ReadsAsItIs(product) || !EndsWithinVector(product) || product.n >= GetMicroKernels().nr;
}

}  // namespace

Result<Product> ReadRowMajorProduct(const ir::Graph& group, const Device&) {
  return ReadProduct(group);
}

Result<std::vector<StateAssignment>> RowMajorProductStates(const ir::Graph& group,
                                                           const Product& product, const Device&) {
  ASSIGN_OR_RETURN(const StateAssignment usual, FloatRowMajorStates(group));
  RETURN_IF_ERROR(Epilogue::Compile(group, usual).status());
  std::vector<StateAssignment> all = {usual};
  const auto add_callers = [&](ir::ValueId operand) {
    const int input = IndexOf(group.inputs, operand);
    for (size_t i = 0, planned = all.size(); i < planned; ++i) {
      all.push_back(all[i]);
      all.back().inputs[input].external = true;
    }
  };
  if (MayBeCallers(group, product.a)) add_callers(product.a);
  if (MayBeCallers(group, product.b) && TakesCallersB(product)) add_callers(product.b);
  return all;
}

Result<Product> ReadMatrixList(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(Product product, ReadProduct(group));
  if (group.nodes()[0].op != "MatMul"_op || group.value(product.a).shape->rank() != 3 ||
      group.value(product.b).shape->rank() > 3 ||
      group.value(group.outputs[0]).shape->rank() != 3 || product.a == product.b)
    return Unsupported("no list of matrices");
  return product;
}

Result<std::vector<StateAssignment>> MatrixListStates(const ir::Graph& group,
                                                      const Product& product, const Device&) {
  ASSIGN_OR_RETURN(const StateAssignment usual, FloatRowMajorStates(group));
  ASSIGN_OR_RETURN(const Epilogue epilogue, Epilogue::Compile(group, usual));
  const size_t a = IndexOf(group.inputs, product.a);
  const Layout nwc = Layout::ChannelsLast(3);
  std::vector<StateAssignment> all(1, usual);
  all[0].inputs[a].layout = nwc;
  if (!product.constant_b && group.value(product.b).shape->rank() == 3) {
    const size_t b = IndexOf(group.inputs, product.b);
    all.push_back(usual);
    all.push_back(all[0]);
    all[1].inputs[b].layout = all[2].inputs[b].layout = nwc;
  }
  // A program would walk the product in the order in which it is stored.
  if (epilogue.has_program()) return all;
  const size_t row_major = all.size();
  all.push_back(usual);
  for (size_t i = 0; i < row_major; ++i) all.push_back(all[i]);
  for (size_t i = row_major; i < all.size(); ++i) all[i].outputs[0].layout = nwc;
  return all;
}

ProductForm FormIn(const Problem& problem, const Product& product) {
  ProductForm form{.product = product};
  const size_t a = IndexOf(problem.group->inputs, form.product.a);
  form.transposed_c = !problem.states.outputs[0].layout.IsRowMajor();
  if (!problem.states.inputs[a].layout.IsRowMajor()) form.product.trans_a = true;
  const int b = IndexOf(problem.group->inputs, form.product.b);
  if (!form.product.constant_b && !problem.states.inputs[b].layout.IsRowMajor())
    form.product.trans_b = true;
  if (form.transposed_c || !problem.states.inputs[a].layout.IsRowMajor())
    SplitBatches(form.product, problem.shape(form.product.a)[0]);
  return form;
}

bool ReadsAsItIs(const Product& product) {
  // Rows that meet all of B, and those that do where its rows share no cache sets.
  constexpr int64_t kMostRows = 64, kMostApart = 224, kShared = 1024, kUnknown = 256 * 1024;
  if (product.constant_b || product.trans_b || product.alpha != 1) return false;
  if (product.m <= GetMicroKernels().mr) return true;
  const int64_t l2 = GetCpuInfo().l2_bytes > 0 ? GetCpuInfo().l2_bytes : kUnknown;
  return product.m <= (product.n % kShared == 0 ? kMostRows : kMostApart) &&
         product.n * product.k * 4 <= l2 / 2;
}

bool EndsWithinVector(const Product& product) {
  return product.n % (GetMicroKernels().nr / 2) != 0;
}

bool TakeRows(Product& product, const Shape& a) {
  if (product.b_matrices != 1 || product.batches.size() != 1 || a[a.rank() - 1] != product.k)
    return false;
  product.m = a.elements() / product.k;
  return true;
}

bool TakeMatrices(Product& product, int64_t lists, const Problem& problem) {
  const Shape &a = problem.shape(product.a), &b = problem.shape(product.b);
  const auto state = [&](ir::ValueId id) -> const State& {
    return problem.states.inputs[IndexOf(problem.group->inputs, id)];
  };
  if (lists != std::ssize(product.batches) || lists != product.b_matrices || b.rank() < 2 ||
      a.rank() < 2 || state(product.b).external || !state(product.a).layout.IsRowMajor())
    return false;
  const bool is_turned = product.trans_b && state(product.b).layout.IsRowMajor();
  const int64_t depth = b[b.rank() - (is_turned ? 1 : 2)];
  product.k = a[a.rank() - 1];
  product.m = lists == 1 ? a.elements() / product.k : a[a.rank() - 2];
  product.n = b[b.rank() - (is_turned ? 2 : 1)];
  const int64_t matrices = a.elements() / (product.m * product.k);
  if (depth != product.k || b.elements() != matrices * product.k * product.n ||
      problem.shape(problem.group->outputs[0]).elements() != matrices * product.m * product.n)
    return false;
  product.b_matrices = matrices;
  product.batches.clear();
  for (int64_t i = 0; i < matrices; ++i) product.batches.push_back({i, i});
  return true;
}

}  // namespace fettle::kernels
