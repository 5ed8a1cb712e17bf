// cpu.block_product.rows: BlockMatMul with constant weights, or several of them of one input
// (queries, keys and values; gate and up), with the normalisation that makes it. Rows are rounded
// to bytes once; then each panel of weights is read once for as many rows as fit the registers, and
// once a task from memory.
#include <algorithm>
#include <optional>

#include "kernels/cpu/block_product/panel_rows.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/epilogue/epilogue.h"
#include "kernels/cpu/norm/layer_rows.h"
#include "kernels/cpu/operands.h"
#include "kernels/family.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

struct Facts {
  struct Product {
    ops::BlockProduct p;
    int bits = 4;
  };
  std::vector<Product> products;  // of equal rows, k and block
  std::optional<LayerFacts> norm;

  const ops::BlockProduct& first() const { return products[0].p; }
};

/// Rows that a task multiplies a panel by, or twice as many where panels are unpacked: what they
/// take stays in the second-level cache.
constexpr int64_t kTaskRows = 64;
/// Rows that are normalised and rounded by the caller: they take less than waking a lane does.
constexpr int64_t kFewRows = 4;

class BlockProductRows final : public CpuKernel {
 public:
  BlockProductRows(const Problem& problem, const Facts& facts)
      : CpuKernel(problem.threads), p_(facts.first()), kernels_(GetBlockKernels()) {
    const auto& graph = *problem.group;
    a_ = IndexOf(graph.inputs, graph.nodes()[0].inputs[0]);
    if (facts.norm) norm_.emplace(graph, graph.nodes()[0], *facts.norm);
    if (norm_) packs_ = norm_->packs();
    for (size_t i = 0; i < facts.products.size(); ++i)
      Add(graph, graph.nodes()[i + (norm_ ? 1 : 0)], facts.products[i]);
    const bool words =
        kernels_.bytes_take_words &&
        std::ranges::any_of(products_, [](const Product& p) { return p.layout.bits == 8; });
    int64_t unpacked = 0, scales = 0;
    for (Product& product : products_) {
      product.layout.row_sums = std::ssize(factors_);
      product.layout.row_words = words;
      if (UnpacksPanels(kernels_, product.layout, p_.rows)) unpacked = p_.k * kBlockColumns;
      scales = std::max(scales, product.layout.scaled_floats());
    }
    unpacked_ = PerLane<std::byte>(unpacked);
    scales_ = PerLane<float>(scales);
    task_rows_ = unpacked > 0 ? 2 * kTaskRows : kTaskRows;
    row_tasks_ = (p_.rows + task_rows_ - 1) / task_rows_;
    // Four tasks a lane even out what lanes lose.
    const int64_t tasks = std::max<int64_t>(1, int64_t{4} * lanes());
    task_panels_ = std::max<int64_t>(1, panels_ * row_tasks_ / tasks);
    rounded_ = PerRun<std::byte>(p_.rows * row_bytes());
    if (norm_) normalised_ = PerLane<float>(p_.k);
  }

  std::vector<PackRequest> packs() const override { return packs_; }

  Status Run(const CpuLaunch& args) const override {
    if (p_.rows <= kFewRows) {
      for (int64_t row = 0; row < p_.rows; ++row) Round(args, row, 0);
    } else {
      args.stream.ParallelFor(p_.rows, [&](int64_t row, int lane) { Round(args, row, lane); });
    }
    const int64_t column_tasks = (panels_ + task_panels_ - 1) / task_panels_;
    args.stream.ParallelFor(column_tasks * row_tasks_, [&](int64_t task, int lane) {
      const int64_t first = task % column_tasks * task_panels_;
      const int64_t last = std::min(first + task_panels_, panels_);
      for (const Product& product : products_) {
        const int64_t begin = std::max<int64_t>(first - product.first_panel, 0);
        const int64_t end = std::min(last - product.first_panel, product.layout.panels());
        if (begin < end)
          Multiply(args, product, begin, end, task / column_tasks * task_rows_, lane);
      }
    });
    return OkStatus();
  }

 private:
  struct Product {
    BlockLayout layout;
    size_t output = 0, pack = 0;
    int64_t first_panel = 0;  // of all products, one behind the other
  };

  int64_t row_bytes() const { return products_[0].layout.row_bytes(); }

  void Add(const ir::Graph& graph, const ir::Node& node, const Facts::Product& facts) {
    Product& product = products_.emplace_back();
    BlockLayout& layout = product.layout;
    layout = LayoutOf(graph, {node.inputs[1], node.inputs[2], node.inputs[3]}, facts.p, facts.bits);
    layout.sums = SumsTimes(layout.times_scale == 0 ? 1 : layout.times_scale);
    product.output = IndexOf(graph.outputs, node.outputs[0]);
    product.pack = packs_.size();
    product.first_panel = panels_;
    panels_ += layout.panels();
    packs_.push_back(RequestBlocks(layout, {node.inputs[1], node.inputs[2], node.inputs[3]}));
  }

  /// Which array of a row's sums is times `factor`.
  int64_t SumsTimes(float factor) {
    const auto found = std::ranges::find(factors_, factor);
    if (found != factors_.end()) return found - factors_.begin();
    factors_.push_back(factor);
    return std::ssize(factors_) - 1;
  }

  std::byte* Rounded(const CpuLaunch& args, int64_t row) const {
    return args.At(rounded_) + row * row_bytes();
  }

  void Round(const CpuLaunch& args, int64_t row, int lane) const {
    const float* a = args.inputs[a_].host<float>() + row * p_.k;
    if (norm_) {
      float* y = args.At(normalised_, lane);
      norm_->Run(args, a, y, 1);
      a = y;
    }
    const BlockLayout& layout = products_[0].layout;
    kernels_.round(layout, a, Rounded(args, row));
    const int64_t blocks = layout.blocks();
    auto* sums = reinterpret_cast<float*>(Rounded(args, row) + layout.steps_at()) + blocks;
    for (int64_t i = layout.row_sums - 1; i >= 0;
         --i)  // the first one is what the others are made of
      for (int64_t b = 0; b < blocks; ++b) sums[i * blocks + b] = sums[b] * factors_[i];
  }

  /// Panels [begin, end) by the rows of a task.
  void Multiply(const CpuLaunch& args, const Product& product, int64_t begin, int64_t end,
                int64_t row, int lane) const {
    const BlockLayout& layout = product.layout;
    const auto* packed = args.packed[product.pack].host<std::byte>();
    PanelRows work{.layout = &layout, .unpacks = UnpacksPanels(kernels_, layout, p_.rows)};
    work.tiles = kernels_.TilesOf(layout, packed);
    work.rows = Rounded(args, row);
    work.count = std::min(row + task_rows_, p_.rows) - row;
    work.c_stride = layout.n;
    work.unpacked = args.At(unpacked_, lane);
    work.scales = args.At(scales_, lane);
    for (int64_t panel = begin; panel < end; ++panel) {
      work.panel = packed + panel * layout.panel_bytes();
      work.columns = std::min(kBlockColumns, layout.n - panel * kBlockColumns);
      work.c = args.outputs[product.output].host<float>() + row * layout.n + panel * kBlockColumns;
      MultiplyPanel(kernels_, work);
    }
  }

  ops::BlockProduct p_;  // the first one
  const BlockKernels& kernels_;
  std::optional<LayerRows> norm_;
  std::vector<Product> products_;
  std::vector<PackRequest> packs_;
  std::vector<float> factors_;  // of sums of rows
  size_t a_ = 0;
  int64_t task_rows_ = kTaskRows, row_tasks_ = 1, task_panels_ = 1, panels_ = 0;
  RunScratch<std::byte> rounded_;    // rows
  LaneScratch<float> normalised_;    // one
  LaneScratch<std::byte> unpacked_;  // the codes of a panel
  LaneScratch<float> scales_;        // those of a panel
};

Result<Facts::Product> ReadProduct(const ir::Graph& group, const ir::Node& node) {
  if (node.op != "BlockMatMul"_op) return Unsupported("computes BlockMatMul only");
  std::vector<Shape> shapes;
  for (ir::ValueId id : node.inputs) shapes.push_back(*group.value(id).shape);
  if (group.value(node.inputs[0]).is_constant()) return Unsupported("the rows are constant");
  for (size_t i : {1, 2, 3}) {
    if (!group.value(node.inputs[i]).is_constant()) return Unsupported("weights are computed");
  }
  Facts::Product product;
  ASSIGN_OR_RETURN(product.p, ops::ReadBlockProduct(node, shapes));
  product.bits = PanelBits(*group.value(node.inputs[1]).constant, product.p.block);
  return product;
}

/// Of whole rows of floats, by constants, that nothing else reads.
Result<LayerFacts> ReadNorm(const ir::Graph& group) {
  const ir::Node& norm = group.nodes()[0];
  ASSIGN_OR_RETURN(LayerFacts facts, ReadLayer(group, norm));
  const ir::Value& x = group.value(norm.inputs[0]);
  if (norm.outputs.size() != 1 || facts.extents.row != (*x.shape)[x.shape->rank() - 1])
    return Unsupported("rows that are normalised in parts");
  if (x.is_constant() || x.dtype != DType::kF32) return Unsupported("rows that are not f32");
  for (size_t i = 1; i < norm.inputs.size(); ++i) {
    if (norm.inputs[i] != ir::kAbsent && !group.value(norm.inputs[i]).is_constant())
      return Unsupported("a scale that is computed");
  }
  return facts;
}

Result<Facts> Read(const ir::Graph& group, const Device&) {
  Facts facts;
  size_t i = 0;
  if (group.nodes().size() > 1 && group.nodes()[0].op != "BlockMatMul"_op) {
    ASSIGN_OR_RETURN(facts.norm, ReadNorm(group));
    i = 1;
  }
  const ir::ValueId rows = group.nodes()[i].input(0);
  if (facts.norm && rows != group.nodes()[0].outputs[0])
    return Unsupported("computes BlockMatMul of one input only");
  for (; i < group.nodes().size(); ++i) {
    ASSIGN_OR_RETURN(const Facts::Product product, ReadProduct(group, group.nodes()[i]));
    facts.products.push_back(product);
    if (group.nodes()[i].inputs[0] != rows || product.p.k != facts.first().k ||
        product.p.block != facts.first().block)
      return Unsupported("computes BlockMatMul of one input only");
  }
  if (group.outputs.size() != facts.products.size())
    return Unsupported("gives results of BlockMatMul only");
  return facts;
}

Work WorkOf(const Problem&, const Facts& facts, const Params&, const Device&) {
  const auto m = static_cast<double>(facts.first().rows), k = static_cast<double>(facts.first().k);
  Work work = {.operations = 0, .bytes = 4 * m * k};
  for (const auto& [p, bits] : facts.products) {
    const auto n = static_cast<double>(p.n);
    work.operations += 2 * m * n * k;
    work.bytes += n * k * (bits / 8.0 + 4.0 / static_cast<double>(p.block)) + 4 * m * n;
  }
  return work;
}

constexpr Family<Facts> kFamily{.read = Read,
                                .states = RowMajorAlone,
                                .prepare = Make<BlockProductRows>,
                                .taste = Always<10>,
                                .work = WorkOf,
                                .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuBlockProductRows;
const KernelDesc kCpuBlockProductRows = {
    .name = "cpu.block_product.rows", .version = 3, .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
