// compiled: small
// cpu.quantised.gemm.terms: products of bytes, and convolutions of channels-last pixels, by
// vpmaddubsw (terms.h): for CPUs of AVX2 that have no dot products of bytes.
#include <algorithm>
#include <utility>

#include "kernels/cpu/product/tasks.h"
#include "kernels/cpu/quantised/gemm_problem.h"
#include "kernels/cpu/quantised/padded_rows.h"
#include "kernels/cpu/quantised/results.h"
#include "kernels/cpu/quantised_avx2/term_tile.h"
#include "kernels/family.h"

namespace fettle::kernels {
namespace {

struct Facts {
  QuantBytes bytes;
  bool wins = false;  // over widened products
};

TapPlan TapsOf(const ConvGeometry& g) {
  return PlanTaps(g, ChannelsLastPixels(g.ic, g.batch * g.in[0] * g.in[1] * g.in[2]), 1);
}

/// But for the bytes of the lists.
QuantLayout LayoutOf(const ir::Graph& group, const QuantBytes& bytes) {
  QuantLayout layout = ReadQuantLayout(group, bytes.q, bytes.shapes, TapsOf(bytes.shapes.g));
  layout.nr = kTermChannels;
  layout.terms = true;
  layout.w_shift = 0;
  return layout;
}

/// Vectors of pixels that would be mostly empty are left to others, and so are few inputs of few
/// channels: their rows are widened quicker than interleaved.
bool Wins(const ir::Graph& group, const QuantBytes& bytes) {
  constexpr double kWidened = 1.7;  // what a step of theirs takes, in terms
  constexpr int64_t kFewInputs = 64;
  const ConvGeometry& g = bytes.shapes.g;
  if (TapsOf(g).rows && g.ic * g.taps() < kFewInputs) return false;
  const int64_t pixels = g.pixels(), columns = g.oc / g.groups;
  const double filled =
      static_cast<double>(pixels) / static_cast<double>(RoundUp(pixels, kTermLanes));
  if (filled < 0.7 || columns < kTermChannels / 2) return false;
  const QuantConstants constants = QuantConstants::Of(group, bytes.q);
  return TermCost(LayoutOf(group, bytes), constants) < kWidened * filled;
}

Result<Facts> Read(const ir::Graph& group, const Device&) {
  if (!RunsAvx2()) return Unsupported("no vectors of 256 bits (AVX2)");
  if (GetQuantKernels(kTermChannels).wide == false)
    return Unsupported("dot products of bytes are faster");
  Facts facts;
  ASSIGN_OR_RETURN(facts.bytes, ReadQuantBytes(group));
  if (!PaddedRows::Fit(facts.bytes.shapes.g)) return Unsupported("negative padding");
  facts.wins = Wins(group, facts.bytes);
  return facts;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts& facts,
                                            const Device&) {
  ASSIGN_OR_RETURN(StateAssignment states, UsualQuantStates(group, facts.bytes));
  return std::vector<StateAssignment>{std::move(states)};
}

QuantCut ReadCut(const Problem& problem, const Facts& facts, const Device& device) {
  const ConvGeometry& g = facts.bytes.shapes.g;
  constexpr int64_t kMostRows = 1024;  // of a task
  return CutBy({kTermPixels, kTermChannels, 4}, g, DepthOf(g, TapsOf(g)), kMostRows,
               problem.threads, static_cast<const CpuDevice&>(device));
}

class TermGemm final : public QuantKernel {
 public:
  TermGemm(QuantProduct p, const QuantLayout& layout, const CpuDevice& device)
      : QuantKernel(p, layout, "terms", true, device),
        taps_(TapsOf(g_)),
        rows_(g_, taps_, false),
        blocking_(p.blocking) {}

  Status Run(const CpuLaunch& args) const override {
    int32_t* init = args.At(init_);
    const int32_t zero = operands_.InputZero(args);
    operands_.FillInit(args, zero, init);
    const auto* x = args.inputs[operands_.input()].host<uint8_t>();
    if (rows_.copy_bytes() > 0) {
      rows_.Copy(args.stream, x, static_cast<uint8_t>(zero), args.At(copy_));
      x = args.At(copy_);
    }
    const QuantLaunch launch = Begin(args, nullptr);
    const TermTable table(operands_.layout(), args.packed[0].host<std::byte>());
    const TaskGrid grid(1, g_.pixels(), g_.groups * operands_.layout().panels(), blocking_);
    args.stream.ParallelFor(grid.count(), [&](int64_t i, int lane) {
      const TaskGrid::Task part = grid.At(i);
      // Tiles of nearly equal numbers of vectors.
      const int64_t vectors = CeilDiv(part.rows, kTermLanes);
      const EvenParts tiles(vectors, kMostTermVectors);
      for (int64_t t = 0; t < tiles.count(); ++t) {
        const int64_t row = tiles.Begin(t) * kTermLanes;
        const int64_t end = std::min(tiles.Begin(t + 1) * kTermLanes, part.rows);
        const Tile tile{.launch = launch,
                        .table = table,
                        .x = x,
                        .init = init,
                        .pixels = {part.row + row, end - row},
                        .rows = args.At(interleaved_, lane),
                        .lane = lane};
        RunTile(tile, part.panel, part.panel_end);
      }
    });
    results_.End(launch);
    return OkStatus();
  }

 private:
  struct Tile {
    const QuantLaunch& launch;
    const TermTable& table;
    const uint8_t* x;  // the input, or its copy with padding
    const int32_t* init;
    PixelRange pixels;
    uint8_t* rows;  // interleaved
    int lane;
    int vectors() const { return static_cast<int>(CeilDiv(pixels.rows, kTermLanes)); }
  };

  void RunTile(const Tile& tile, int64_t first, int64_t end) const {
    ForEachGroup(first, end, operands_.layout().panels(),
                 [&](int64_t group, int64_t panel, int64_t panel_end) {
                   ReadRows(tile, group);
                   for (; panel < panel_end; ++panel) RunPanel(tile, group, panel);
                 });
  }

  void ReadRows(const Tile& tile, int64_t group) const {
    const QuantLayout& layout = operands_.layout();
    const uint8_t* pointers[kTermPixels];
    rows_.Find(tile.x + group * layout.ic, tile.pixels, pointers);
    const TermRows rows{.rows = pointers,
                        .count = tile.pixels.rows,
                        .tap_offsets = rows_.tap_offsets().data(),
                        .taps = layout.taps(),
                        .depth = layout.tap_depth(),
                        .flip = static_cast<uint8_t>(operands_.signed_x() ? 0x80 : 0)};
    InterleaveRows(rows, tile.vectors(), tile.rows);
  }

  void RunPanel(const Tile& tile, int64_t group, int64_t panel) const {
    const QuantLayout& layout = operands_.layout();
    alignas(64) int32_t sums[kTermPixels * kTermChannels];
    const int64_t number = group * layout.panels() + panel;
    RunTermTile({.x = tile.rows,
                 .rows = tile.pixels.rows,
                 .channels = std::min<int64_t>(kTermChannels, layout.oc - panel * kTermChannels),
                 .table = &tile.table,
                 .panel = number,
                 .init = tile.init + number * kTermChannels,
                 .sums = sums});
    const QuantTile results{.sums = sums,
                            .stride = kTermChannels,
                            .rows = tile.pixels.rows,
                            .pixel = tile.pixels.begin,
                            .group = group,
                            .panel = panel};
    Store(tile.launch, results, tile.lane);
  }

  TapPlan taps_;
  PaddedRows rows_;
  Blocking blocking_;
  RunScratch<uint8_t> copy_ =
      PerRun<uint8_t>(rows_.copy_bytes() == 0 ? 0 : rows_.copy_bytes() + 64);
  LaneScratch<uint8_t> interleaved_ =
      PerLane<uint8_t>(TermBlocks(operands_.layout()).pairs * kPairedWeights * kTermPixels);
};

ParamSpace Space(const Problem& problem, const Facts& facts, const Device& device) {
  return SpaceOf(ReadCut(problem, facts, device));
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Facts& facts,
                                                const Params& params, const Device& device) {
  ASSIGN_OR_RETURN(QuantProduct product, ReadQuantProduct(problem, facts.bytes, nullptr,
                                                          ReadCut(problem, facts, device), params));
  QuantLayout layout = LayoutOf(*problem.group, facts.bytes);
  layout.term_bytes = TermBytes(layout, QuantConstants::Of(*problem.group, facts.bytes.q));
  return std::unique_ptr<PreparedKernel>(
      new TermGemm(std::move(product), layout, static_cast<const CpuDevice&>(device)));
}

int Taste(const Facts& facts, const Device&) { return facts.wins ? 16 : 14; }

constexpr Family<Facts> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .params = Space, .taste = Taste};

}  // namespace

extern const KernelDesc kCpuQuantisedGemmTerms;
const KernelDesc kCpuQuantisedGemmTerms = {.name = "cpu.quantised.gemm.terms",
                                           .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
