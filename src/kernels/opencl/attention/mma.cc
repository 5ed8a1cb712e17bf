// opencl.attention.mma: Softmax between two products, with what moves the elements of their
// operands, by matrix instructions of f16 (attention/mma.cl).
#include <algorithm>

#include "kernels/family.h"
#include "kernels/fields.h"
#include "kernels/opencl/attention/strided.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

/// Queries of a work-group, keys of a tile, and warps that share the keys of a tile.
struct FlashTile {
  int64_t rows = 16, tile = 64, parts = 4;

  int64_t items() const { return rows / 16 * parts * 32; }
};
constexpr Fields kFlashFields("attention/mma.cl",
                              Field{"rows", &FlashTile::rows, {16, 32, 64, 128}, "ROWS"},
                              Field{"tile", &FlashTile::tile, {16, 32, 64, 128, 256}, "TILE"},
                              Field{"parts", &FlashTile::parts, {1, 2, 4, 8}, "PARTS"});

/// LOCAL_BYTES of attention/mma.cl.
int64_t LocalBytes(const Attention& attention, const FlashTile& tile) {
  const int64_t columns = 16 * (DivideUp(attention.qk_size, 16) + DivideUp(attention.v_size, 16));
  const int64_t stages = attention.keys > tile.tile ? 2 : 1;
  const int64_t handed = 4 + DivideUp(attention.v_size, 16) * 8;
  return std::max(stages * tile.tile * (columns + 16) * 2,
                  tile.rows / 16 * (tile.parts - 1) * handed * 128);
}

Status CheckTile(const Attention& attention, const FlashTile& tile, const OpenClFacts& facts) {
  if (tile.tile < 16 * tile.parts)
    return Unsupported("tile: expected at least {} keys for {} parts, got {}", 16 * tile.parts,
                       tile.parts, tile.tile);
  if (tile.tile / tile.parts > 64)
    return Unsupported("tile: expected at most 64 keys a part, got {}", tile.tile / tile.parts);
  if (tile.items() > std::min(facts.max_work_group_size, facts.max_work_item_sizes[0]))
    return Unsupported("{} work-items: the device takes fewer", tile.items());
  if (LocalBytes(attention, tile) > facts.mma.local_bytes)
    return Unsupported("{} bytes of local memory: there are {}", LocalBytes(attention, tile),
                       facts.mma.local_bytes);
  return OkStatus();
}

constexpr FlashTile kLeastTile{.rows = 16, .tile = 16, .parts = 1};

Result<Attention> Read(const ir::Graph& group, const Device& device) {
  const OpenClFacts& facts = AsOpenCl(device).facts();
  if (!facts.mma.available)
    return Unsupported("the device is not known to have matrix instructions");
  ASSIGN_OR_RETURN(Attention attention, ReadStrided(group));
  // Queries, and sums of values, lie in registers.
  constexpr int64_t kMostColumns = 128;
  if (std::max(attention.qk_size, attention.v_size) > kMostColumns)
    return Unsupported("rows of {} and {}: at most {} have room", attention.qk_size,
                       attention.v_size, kMostColumns);
  RETURN_IF_ERROR(CheckTile(attention, kLeastTile, facts));
  return attention;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Attention&,
                                            const Device&) {
  std::vector<StateAssignment> states = RowAssignments(group);
  std::erase_if(states,
                [](const StateAssignment& one) { return one.outputs[0].storage != DType::kF16; });
  return states;
}

/// As many rows as leave every compute unit a work-group, of four warps where keys suffice.
FlashTile UsualTile(const Attention& attention, const OpenClFacts& facts) {
  FlashTile tile{.rows = 64, .tile = 64, .parts = 1};
  const auto groups = [&] { return attention.matrices * DivideUp(attention.queries, tile.rows); };
  while (tile.rows > 16 && groups() < facts.compute_units) tile.rows /= 2;
  while (tile.items() < 128 && tile.parts * 16 < attention.keys) tile.parts *= 2;
  while (tile.tile > 16 * tile.parts && tile.tile / 2 >= attention.keys) tile.tile /= 2;
  while (tile.tile > 16 && !CheckTile(attention, tile, facts).ok()) {
    tile.tile /= 2;
    tile.parts = std::min(tile.parts, tile.tile / 16);
  }
  return CheckTile(attention, tile, facts).ok() ? tile : kLeastTile;
}

ParamSpace Space(const Problem&, const Attention& attention, const Device& device) {
  const OpenClFacts& facts = AsOpenCl(device).facts();
  return {kFlashFields.Tunables(), kFlashFields.Write(UsualTile(attention, facts)),
          [attention, &facts](const Params& params) {
            return CheckTile(attention, kFlashFields.Read(params), facts);
          }};
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Attention& attention,
                                                const Params& params, const Device& device) {
  const FlashTile tile = kFlashFields.Read(params);
  const State& state = problem.states.outputs[0];
  const auto has = [](const AttentionOperand& operand, int64_t columns, int64_t lanes) {
    return columns % lanes == 0 && IsAligned(operand, lanes) ? 1 : 0;
  };
  BuildOptions options = AccessOptions(state);
  kFlashFields.Define(tile, options);
  DefineStrided(attention, options);
  options.Define("Q_PAIRS", has(attention.q, attention.qk_size, 2));
  options.Define("Y_PAIRS", has(attention.y, attention.v_size, 2));
  options.Define("K_VECTORS", has(attention.k, attention.qk_size, 8));
  options.Define("V_VECTORS", has(attention.v, attention.v_size, 8));
  options.Define("EMULATED", AsOpenCl(device).facts().mma.emulated ? 1 : 0);
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClKernel> kernel,
                   AsOpenCl(device).BuildKernel(MakeProgram("attention/mma.cl", options), "rows"));
  const WorkSizes sizes =
      GroupSizes(tile.items(), DivideUp(attention.queries, tile.rows), attention.matrices);
  auto made = std::make_unique<RecordedKernel>();
  AddStrided(*problem.group, attention, state, *made,
             made->recorded.emplace_back(std::move(kernel), sizes));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

/// Few queries leave most of an instruction's 16 rows empty.
int Taste(const Attention& attention, const Device& device) {
  constexpr int64_t kFewQueries = 8;
  if (AsOpenCl(device).facts().mma.emulated) return kOnlyMeasured;
  return attention.queries > kFewQueries ? 40 : 1;
}

constexpr Family<Attention> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .params = Space, .taste = Taste};

}  // namespace

extern const KernelDesc kOpenClAttentionMma;
const KernelDesc kOpenClAttentionMma = {.name = "opencl.attention.mma",
                                        .match = MatchAs<kFamily>,
                                        .parameters = ParametersOf<kFlashFields>};

}  // namespace fettle::kernels
