#include "jobs/textbook_products.h"

#include <algorithm>

#include "kernels/family.h"
#include "ops/op.h"

namespace fettle::tools {
namespace {

using kernels::LaunchArgs;
using kernels::PreparedKernel;
using kernels::Problem;

/// C [m, n] = A [m, k] * B [k, n].
struct Product {
  int64_t m, n, k;
  const float *a, *b;
  float* c;
};

/// Three loops, inner products.
void Naive(const Product& p) {
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      float sum = 0;
      for (int64_t s = 0; s < p.k; ++s) sum += p.a[i * p.k + s] * p.b[s * p.n + j];
      p.c[i * p.n + j] = sum;
    }
  }
}

/// The same with the loops so ordered that B and C are read along rows.
void RowOrder(const Product& p) {
  std::fill_n(p.c, p.m * p.n, 0.0f);
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t s = 0; s < p.k; ++s) {
      const float left = p.a[i * p.k + s];
      for (int64_t j = 0; j < p.n; ++j) p.c[i * p.n + j] += left * p.b[s * p.n + j];
    }
  }
}

/// Rows in order within blocks of B that stay in the first cache levels.
void Blocked(const Product& p) {
  constexpr int64_t kDepth = 64, kColumns = 256;
  std::fill_n(p.c, p.m * p.n, 0.0f);
  for (int64_t s0 = 0; s0 < p.k; s0 += kDepth) {
    for (int64_t j0 = 0; j0 < p.n; j0 += kColumns) {
      const int64_t s1 = std::min(s0 + kDepth, p.k), j1 = std::min(j0 + kColumns, p.n);
      for (int64_t i = 0; i < p.m; ++i) {
        for (int64_t s = s0; s < s1; ++s) {
          const float left = p.a[i * p.k + s];
          for (int64_t j = j0; j < j1; ++j) p.c[i * p.n + j] += left * p.b[s * p.n + j];
        }
      }
    }
  }
}

using Make = void (*)(const Product&);

class Loops final : public PreparedKernel {
 public:
  Loops(const Product& sizes, Make make) : sizes_(sizes), make_(make) {}
  Status Launch(const LaunchArgs& args) const override {
    Product product = sizes_;
    product.a = args.inputs[0].host<float>();
    product.b = args.inputs[1].host<float>();
    product.c = args.outputs[0].host<float>();
    make_(product);
    return OkStatus();
  }

 private:
  Product sizes_;
  Make make_;
};

Result<Product> Read(const ir::Graph& group, const Device&) {
  const ir::Node& node = group.nodes()[0];
  if (node.op != "MatMul"_op || group.nodes().size() != 1 || group.inputs.size() != 2)
    return Unsupported("no product of two inputs");
  const Shape &a = *group.value(node.input(0)).shape, &b = *group.value(node.input(1)).shape;
  if (a.rank() != 2 || b.rank() != 2) return Unsupported("no product of two matrices");
  return Product{.m = a[0], .n = b[1], .k = a[1], .a = nullptr, .b = nullptr, .c = nullptr};
}
Result<std::vector<kernels::StateAssignment>> States(const ir::Graph& group, const Product&,
                                                     const Device&) {
  return std::vector<kernels::StateAssignment>{kernels::RowMajorStates(group)};
}
template <Make make>
Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem&, const Product& product,
                                                const kernels::Params&, const Device&) {
  return std::unique_ptr<PreparedKernel>(std::make_unique<Loops>(product, make));
}
template <Make make>
constexpr kernels::Family<Product> kFamily{
    .read = Read, .states = States, .prepare = Prepare<make>};

}  // namespace

std::span<const TextbookProduct> TextbookProducts() {
  static constexpr TextbookProduct kProducts[] = {
      {"naive", {.name = "cpu.textbook.inner_products", .match = kernels::MatchAs<kFamily<Naive>>}},
      {"row order", {.name = "cpu.textbook.rows", .match = kernels::MatchAs<kFamily<RowOrder>>}},
      {"blocked", {.name = "cpu.textbook.blocks", .match = kernels::MatchAs<kFamily<Blocked>>}}};
  return kProducts;
}

}  // namespace fettle::tools
