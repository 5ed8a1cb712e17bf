#include "runtime/product/product_graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/text.h"
#include "ops/op.h"

namespace fettle::runtime {
namespace {

bool IsByte(DType type) { return type == DType::kI8 || type == DType::kU8; }

/// The text form of a graph (ir/text.h), line by line.
class Writer {
 public:
  explicit Writer(const ProductProblem& problem) : p_(problem) {}

  std::string Write() {
    const bool has_batch = p_.batch > 1;
    Input("a", p_.a, has_batch, p_.trans_a ? p_.k : p_.m, p_.trans_a ? p_.m : p_.k);
    Input("b", p_.b, has_batch && !p_.shared_b, p_.trans_b ? p_.n : p_.k, p_.trans_b ? p_.k : p_.n);
    if (p_.beta != 0) Input("c0", p_.c, has_batch, p_.m, p_.n);
    if (IsByte(p_.a))
      WriteBytes();
    else if (has_batch)
      WriteBatch();
    else
      WriteOne();
    return text_ + "output %c\n";
  }

 private:
  void Input(std::string_view name, DType type, bool has_batch, int64_t rows, int64_t columns) {
    const std::string batch = has_batch ? fmt::format("{}x", p_.batch) : "";
    text_ += fmt::format("input %{}: {}[{}{}x{}]\n", name, DTypeName(type), batch, rows, columns);
  }

  /// The name of an operand as the matrix that is multiplied.
  std::string Straight(const std::string& name, bool transposed, bool has_batch) {
    if (!transposed) return name;
    text_ += fmt::format("%{}t = Transpose(%{}) {{perm=[{}]}}\n", name, name,
                         has_batch ? "0, 2, 1" : "1, 0");
    return name + "t";
  }

  void WriteOne() {
    if (!p_.is_scaled() && !p_.trans_a && !p_.trans_b) {
      text_ += "%c = MatMul(%a, %b)\n";
      return;
    }
    text_ += fmt::format(
        "%c = Gemm(%a, %b{}) {{alpha={:#.9g}, beta={:#.9g}, transA={:d}, transB={:d}}}\n",
        p_.beta != 0 ? ", %c0" : "", static_cast<float>(p_.alpha), static_cast<float>(p_.beta),
        p_.trans_a, p_.trans_b);
  }

  void WriteBatch() {
    const std::string a = Straight("a", p_.trans_a, true);
    const std::string b = Straight("b", p_.trans_b, !p_.shared_b);
    const bool has_alpha = p_.alpha != 1, has_beta = p_.beta != 0;
    text_ += fmt::format("%{} = MatMul(%{}, %{})\n", p_.is_scaled() ? "sum" : "c", a, b);
    if (has_alpha) Scale(has_beta ? "scaled" : "c", "sum", p_.alpha);
    if (!has_beta) return;
    if (p_.beta != 1) Scale("kept", "c0", p_.beta);
    text_ += fmt::format("%c = Add(%{}, %{})\n", has_alpha ? "scaled" : "sum",
                         p_.beta != 1 ? "kept" : "c0");
  }

  void Scale(std::string_view to, std::string_view from, double factor) {
    text_ += fmt::format("const %{}_factor: {}[] = {:#.9g}\n%{} = Mul(%{}, %{}_factor)\n", to,
                         DTypeName(p_.c), static_cast<float>(factor), to, from, to);
  }

  void WriteBytes() {
    const bool has_batch = p_.batch > 1;
    const std::string a = Straight("a", p_.trans_a, has_batch);
    const std::string b = Straight("b", p_.trans_b, has_batch && !p_.shared_b);
    text_ += fmt::format("%{} = MatMulInteger(%{}, %{})\n", p_.beta != 0 ? "sum" : "c", a, b);
    if (p_.beta != 0) text_ += "%c = Add(%sum, %c0)\n";
  }

  const ProductProblem& p_;
  std::string text_;
};

}  // namespace

Status CheckProduct(const ProductProblem& p) {
  if (p.m < 0 || p.n < 0 || p.k < 0 || p.batch < 0)
    return InvalidArgument("gemm: negative size {}x{}x{} of {}", p.m, p.n, p.k, p.batch);
  const auto types = [&] {
    return fmt::format("{} x {} to {}", DTypeName(p.a), DTypeName(p.b), DTypeName(p.c));
  };
  if (IsByte(p.a)) {
    if (!IsByte(p.b) || p.c != DType::kI32)
      return Unsupported("gemm: {}: bytes are multiplied by bytes and summed up in i32", types());
    if (p.alpha != 1 || (p.beta != 0 && p.beta != 1))
      return Unsupported("gemm: alpha {} and beta {}: products of bytes have alpha 1, beta 0 or 1",
                         p.alpha, p.beta);
    return OkStatus();
  }
  const bool is_float = p.a == DType::kF32 || p.a == DType::kF16 || p.a == DType::kBF16;
  if (is_float && p.b == p.a && p.c == p.a) return OkStatus();
  return Unsupported("gemm: {}: expected f32, f16 or bf16 throughout, or bytes to i32", types());
}

Result<ir::Graph> ProductGraph(const ProductProblem& problem,
                               const std::shared_ptr<const Constant>& constant_b) {
  RETURN_IF_ERROR(CheckProduct(problem));
  ASSIGN_OR_RETURN(ir::Graph graph, ops::Parse(Writer(problem).Write()));
  if (constant_b == nullptr) return graph;
  const ir::ValueId b = *graph.FindValue("b");
  if (constant_b->shape() != *graph.value(b).shape || constant_b->dtype() != problem.b)
    return InvalidArgument("gemm: the constant is {}[{}], expected {}[{}]",
                           DTypeName(constant_b->dtype()), constant_b->shape().ToString(),
                           DTypeName(problem.b), graph.value(b).shape->ToString());
  graph.value(b).constant = constant_b;
  std::erase(graph.inputs, b);
  return graph;
}

}  // namespace fettle::runtime
