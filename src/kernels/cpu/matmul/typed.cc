// compiled: small
// cpu.matmul.typed: products of matrices of doubles and of integers of 32 and 64 bits, row-major.
// A transposed B is turned block by block.
#include <algorithm>

#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/matmul/typed_tile.h"
#include "kernels/cpu/move/copy_leaf.h"
#include "kernels/cpu/operands.h"
#include "kernels/family.h"
#include "kernels/match/product.h"

namespace fettle::kernels {
namespace {

/// Terms that are summed up at once, so that a block of B stays near, and rows of a task.
constexpr int64_t kDepth = 512, kTaskRows = 96;

class MatMulTyped final : public NodeKernel {
 public:
  MatMulTyped(const Problem& problem, const Product& product)
      : NodeKernel(problem),
        product_(product),
        dtype_(problem.group->value(product.a).dtype),
        size_(ByteSize(dtype_)),
        tile_(FindTypedTile(dtype_)) {
    if (product.trans_b) turned_ = PerLane<std::byte>(kDepth * kTypedPanel * size_);
  }

  Status Run(const CpuLaunch& args) const override {
    const Product& p = product_;
    const int64_t panels = CeilDiv(p.n, kTypedPanel), blocks = CeilDiv(p.m, kTaskRows);
    const int64_t each = panels * blocks;
    args.stream.ParallelFor(std::ssize(p.batches) * each, [&](int64_t task, int lane) {
      const Product::Batch& batch = p.batches[task / each];
      const int64_t row = task / panels % blocks * kTaskRows, column = task % panels * kTypedPanel;
      RunBlock(args, lane, batch, task / each, row, column);
    });
    return OkStatus();
  }

 private:
  /// The rows and columns of a task of output matrix `matrix`.
  void RunBlock(const CpuLaunch& args, int lane, const Product::Batch& batch, int64_t matrix,
                int64_t row, int64_t column) const {
    const Product& p = product_;
    const int64_t a_row = p.trans_a ? 1 : p.k, a_step = p.trans_a ? p.m : 1;
    const std::byte* a = operands().input(args, 0) + (batch.a * p.m * p.k + row * a_row) * size_;
    const std::byte* b = operands().input(args, 1) + batch.b * p.k * p.n * size_;
    TypedBlock block{
        .rows = std::min(kTaskRows, p.m - row),
        .columns = std::min(kTypedPanel, p.n - column),
        .a_row = a_row,
        .a_step = a_step,
        .c = operands().output(args, 0) + ((matrix * p.m + row) * p.n + column) * size_,
        .c_row = p.n};
    for (int64_t k = 0; k == 0 || k < p.k; k += kDepth, block.adds = true) {
      block.depth = std::min(kDepth, p.k - k);
      block.a = a + k * a_step * size_;
      if (p.trans_b) {
        std::byte* const turned = args.At(turned_, lane);
        CopyTransposed(b + (column * p.k + k) * size_, turned, {block.depth, 1, kTypedPanel},
                       {block.columns, p.k, 1}, block.depth, block.columns, size_);
        block.b = turned, block.b_row = kTypedPanel;
      } else {
        block.b = b + (k * p.n + column) * size_, block.b_row = p.n;
      }
      tile_(block);
    }
  }

  Product product_;
  DType dtype_;
  int64_t size_;
  TypedTile tile_;
  LaneScratch<std::byte> turned_;
};

Result<Product> Read(const ir::Graph& group, const Device&) {
  if (group.nodes().size() != 1) return Unsupported("not a single node");
  ASSIGN_OR_RETURN(Product product, ReadTypedProduct(group, group.nodes()[0]));
  const DType dtype = group.value(product.a).dtype;
  if (FindTypedTile(dtype) == nullptr)
    return Unsupported("{} is not multiplied here", DTypeName(dtype));
  return product;
}

constexpr Family<Product> kFamily{.read = Read,
                                  .states = RowMajorAlone<Product>,
                                  .prepare = Make<MatMulTyped>,
                                  .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuMatMulTyped;
const KernelDesc kCpuMatMulTyped = {.name = "cpu.matmul.typed", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
