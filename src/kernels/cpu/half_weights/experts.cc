// compiled: small
// cpu.half_weights.experts: ExpertMatMul with weights of f32, which stay packed in 16 bits where
// the file has them so. Each panel of an expert is read once for all rows that chose it.
#include <algorithm>
#include <cstring>

#include "base/file.h"
#include "kernels/cpu/expert_rows.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/half_weights/panels.h"
#include "kernels/cpu/half_weights/rows.h"
#include "kernels/cpu/simd/storage.h"
#include "kernels/family.h"
#include "tensor/read_floats.h"
#include "tensor/sixteen_bits.h"

namespace fettle::kernels {
namespace {

using Product = ops::ExpertProduct;

/// Panels of all experts, one behind the other: [expert][panel][k][nr].
struct ExpertPanels {
  DType storage = DType::kF32;
  int64_t nr = 0, experts = 0, n = 0, k = 0;

  int64_t panel_bytes() const { return StorageBytes(storage, k * nr); }
  int64_t expert_bytes() const { return CeilDiv(n, nr) * panel_bytes(); }
  int64_t bytes() const { return RoundUp(experts * expert_bytes(), 64); }
};

/// A row of the weights as column `column` of a panel.
template <typename T>
void PutColumn(const ExpertPanels& p, const std::byte* row, int64_t column, std::byte* panel) {
  for (int64_t k = 0; k < p.k; ++k)
    std::memcpy(panel + (k * p.nr + column) * sizeof(T), row + k * sizeof(T), sizeof(T));
}

void PackExperts(const ExpertPanels& p, const Constant& weights, std::byte* out) {
  std::vector<float> floats(p.k);
  std::vector<std::byte> row(StorageBytes(p.storage, p.k));
  const bool is_wide = p.storage == DType::kF32;
  for (int64_t e = 0; e < p.experts; ++e) {
    std::memset(out + e * p.expert_bytes(), 0, p.expert_bytes());  // columns that are missing
    for (int64_t n = 0; n < p.n; ++n) {
      ReadFloats(weights, (e * p.n + n) * p.k, p.k, floats.data());
      ConvertRow(DType::kF32, reinterpret_cast<const std::byte*>(floats.data()), p.storage,
                 row.data(), p.k);
      std::byte* panel = out + e * p.expert_bytes() + n / p.nr * p.panel_bytes();
      (is_wide ? PutColumn<float> : PutColumn<uint16_t>)(p, row.data(), n % p.nr, panel);
    }
    DropMappedPages(weights.raw_bytes());
  }
}

class FloatExperts final : public ExpertRows {
 public:
  FloatExperts(const Problem& problem, const ExpertGroup& group)
      : ExpertRows(problem, group, int64_t{2} * GetMicroKernels().nr),
        kernels_(GetMicroKernels()),
        weights_(group.input(Product::kWeights)) {
    const Constant& weights = *problem.group->value(weights_).constant;
    panels_ = {SixteenBitsOf(weights).value_or(DType::kF32), kernels_.nr, group.p.experts,
               group.p.n, group.p.k};
    if (panels_.storage != DType::kF32) half_kernels_ = &GetHalfKernels(panels_.storage);
    KeepRows(RoundUp(group.p.k * 4, 64));
  }

  std::vector<PackRequest> packs() const override {
    PackRequest request;
    request.constants = {weights_};
    request.recipe = fmt::format("half_weights.experts{}.{}.nr{}.n{}", panels_.experts,
                                 DTypeName(panels_.storage), panels_.nr, panels_.n);
    request.bytes = panels_.bytes();
    request.pack = [panels = panels_](std::span<const Constant* const> constants, std::byte* out) {
      PackExperts(panels, *constants[0], out);
      return OkStatus();
    };
    return {std::move(request)};
  }

 private:
  void TakeRow(const float* a, std::byte* row) const override {
    std::memcpy(row, a, panels_.k * 4);
  }

  void Multiply(const CpuLaunch& args, int64_t expert, int64_t piece, int64_t columns,
                const std::byte* rows, int64_t count, float* c, int) const override {
    const auto* a = reinterpret_cast<const float*>(rows);
    const std::byte* b = args.packed[0].host<std::byte>() + expert * panels_.expert_bytes() +
                         piece * 2 * panels_.panel_bytes();
    if (half_kernels_ != nullptr) return MultiplyHalves(a, b, columns, count, c);
    MultiplyFloats(a, reinterpret_cast<const float*>(b), columns, count, c);
  }

  /// Tiles of few rows add in another order, so that a row's sums would depend on how many there
  /// are: such a tile has its last row some times more.
  void MultiplyFloats(const float* a, const float* b, int64_t columns, int64_t count,
                      float* c) const {
    const int64_t least = std::min<int64_t>(kernels_.mr, kSpareRows + 1);
    const int64_t rest = count % kernels_.mr;
    const int64_t rows = rest == 0 ? count : count - rest + std::max(rest, least);
    const float* pointers[kMostRows + kSpareRows];
    for (int64_t i = 0; i < rows; ++i) pointers[i] = a + std::min(i, count - 1) * row_bytes() / 4;
    TileSpan tiles[kMostRows + kSpareRows];
    BlockArgs work;
    work.depth = panels_.k;
    work.b = b;
    work.columns = columns;
    work.c_stride = 2 * panels_.nr;
    work.tiles = CutTiles(kernels_.mr, pointers, rows, 1, c, work.c_stride, tiles);
    RunBlock(kernels_, work);
  }

  /// One row by both panels at once, more by one after the other.
  void MultiplyHalves(const float* a, const std::byte* b, int64_t columns, int64_t count,
                      float* c) const {
    const int64_t width = count == 1 ? columns : panels_.nr;
    for (int64_t column = 0; column < columns; column += width, b += panels_.panel_bytes()) {
      HalfRowsArgs work;
      work.a_stride = row_bytes() / 4;
      work.depth = panels_.k;
      work.b = b;
      work.c_stride = 2 * panels_.nr;
      work.columns = std::min(width, columns - column);
      for (int64_t row = 0; row < count; row += work.rows) {
        work.rows = std::min(half_kernels_->most_rows, count - row);
        work.a = a + row * work.a_stride;
        work.c = c + row * work.c_stride + column;
        half_kernels_->rows[work.rows](work);
      }
    }
  }

  const MicroKernels& kernels_;
  const HalfKernels* half_kernels_ = nullptr;  // of weights in 16 bits
  ir::ValueId weights_;
  ExpertPanels panels_;
};

Result<ExpertGroup> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(ExpertGroup found, ReadExpertGroup(group));
  if (found.p.block != 0) return Unsupported("weights are codes in blocks");
  return found;
}

constexpr Family<ExpertGroup> kFamily{.read = Read,
                                      .states = RowMajorAlone,
                                      .prepare = Make<FloatExperts>,
                                      .taste = Always<10>,
                                      .work = WorkOfExperts,
                                      .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuHalfWeightsExperts;
const KernelDesc kCpuHalfWeightsExperts = {.name = "cpu.half_weights.experts",
                                           .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
