// opencl.attention.rows: Softmax between two products, with what moves the elements of their
// operands (attention/rows.cl).
#include <algorithm>

#include "kernels/family.h"
#include "kernels/fields.h"
#include "kernels/opencl/attention/strided.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

/// Rows of queries and work-items of a work-group; staged: keys and values lie in local memory.
struct AttentionTile {
  int64_t rows = 8, items = 128, staged = 0;
};
constexpr Fields kAttentionFields("attention/rows.cl",
                                  Field{"rows", &AttentionTile::rows, {1, 2, 4, 8, 16}, "ROWS"},
                                  Field{
                                      "items", &AttentionTile::items, {32, 64, 128, 256}, "ITEMS"},
                                  Field{"staged", &AttentionTile::staged, {0, 1}, "STAGED"});

/// Whether rows are vectors of eight neighbours, each at a multiple of eight.
bool HasVectors(const Attention& attention) {
  constexpr int64_t kLanes = 8;
  return attention.qk_size % kLanes == 0 && attention.v_size % kLanes == 0 &&
         IsAligned(attention.q, kLanes) && IsAligned(attention.k, kLanes) &&
         IsAligned(attention.v, kLanes) && IsAligned(attention.y, kLanes);
}

int64_t LocalBytes(const Attention& attention, const AttentionTile& tile) {
  const int64_t octets = DivideUp(attention.qk_size, 8);
  const bool shares = tile.items >= 2 * tile.rows * DivideUp(attention.v_size, 4);
  const int64_t floats = tile.rows * (attention.keys + octets * 8) + tile.items * (shares ? 5 : 1);
  const int64_t of_key = (octets + 1) * 8 + attention.v_size;
  return floats * static_cast<int64_t>(sizeof(float)) +
         tile.staged * StorageBytes(DType::kF16, attention.keys * of_key);
}

Status CheckTile(const Attention& attention, const AttentionTile& tile, const OpenClFacts& facts) {
  if (tile.items < tile.rows)
    return Unsupported("{} work-items for {} rows", tile.items, tile.rows);
  if (tile.items > std::min(facts.max_work_group_size, facts.max_work_item_sizes[0]))
    return Unsupported("{} work-items: the device takes fewer", tile.items);
  if (LocalBytes(attention, tile) > facts.local_bytes)
    return Unsupported("{} bytes of local memory: there are {}", LocalBytes(attention, tile),
                       facts.local_bytes);
  return OkStatus();
}

/// Whether keys and values can be staged: as vectors of f16.
Status CheckStaged(const Attention& attention, const AttentionTile& tile, DType storage) {
  if (tile.staged == 0 || (storage == DType::kF16 && HasVectors(attention))) return OkStatus();
  return Unsupported("staged: keys and values are not vectors of f16");
}

constexpr AttentionTile kLeastTile{.rows = 1, .items = 32};

Result<Attention> Read(const ir::Graph& group, const Device& device) {
  ASSIGN_OR_RETURN(Attention attention, ReadStrided(group));
  RETURN_IF_ERROR(CheckTile(attention, kLeastTile, AsOpenCl(device).facts()));
  return attention;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Attention&,
                                            const Device&) {
  return RowAssignments(group);
}

/// As many rows as leave every compute unit a work-group; few where there are none to spare.
AttentionTile UsualTile(const Attention& attention, DType storage, const OpenClFacts& facts) {
  AttentionTile tile;
  const auto groups = [&] { return attention.matrices * DivideUp(attention.queries, tile.rows); };
  while (tile.rows > 4 && groups() < facts.compute_units) tile.rows /= 2;
  while (tile.rows > 1 && LocalBytes(attention, tile) > facts.local_bytes) tile.rows /= 2;
  if (!CheckTile(attention, tile, facts).ok()) return kLeastTile;
  constexpr int64_t kFewKeys = 64;
  AttentionTile staged = tile;
  staged.staged = 1;
  if (tile.rows == 4 && attention.keys <= kFewKeys) staged = {.rows = 8, .items = 256, .staged = 1};
  const bool waits =
      facts.local_memory_is_dedicated && CheckStaged(attention, staged, storage).ok();
  return waits && CheckTile(attention, staged, facts).ok() ? staged : tile;
}

ParamSpace Space(const Problem& problem, const Attention& attention, const Device& device) {
  const OpenClFacts& facts = AsOpenCl(device).facts();
  const DType storage = problem.states.outputs[0].storage;
  return {kAttentionFields.Tunables(), kAttentionFields.Write(UsualTile(attention, storage, facts)),
          [attention, storage, &facts](const Params& params) {
            const AttentionTile tile = kAttentionFields.Read(params);
            RETURN_IF_ERROR(CheckStaged(attention, tile, storage));
            return CheckTile(attention, tile, facts);
          }};
}

BuildOptions OptionsOf(const Attention& attention, const AttentionTile& tile, const State& state) {
  BuildOptions options = AccessOptions(state);
  kAttentionFields.Define(tile, options);
  // Scores of a key are shared where keys are fewer than work-items.
  int64_t parts = 1;
  while (parts < tile.rows && parts * 2 * attention.keys <= tile.items) parts *= 2;
  options.Define("PARTS", parts);
  DefineStrided(attention, options);
  options.Define("VECTORS", HasVectors(attention) ? 1 : 0);
  return options;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Attention& attention,
                                                const Params& params, const Device& device) {
  const ir::Graph& group = *problem.group;
  const AttentionTile tile = kAttentionFields.Read(params);
  const State& state = problem.states.outputs[0];
  ASSIGN_OR_RETURN(
      std::shared_ptr<OpenClKernel> kernel,
      AsOpenCl(device).BuildKernel(
          MakeProgram("attention/rows.cl", OptionsOf(attention, tile, state)), "rows"));
  const WorkSizes sizes =
      GroupSizes(tile.items, DivideUp(attention.queries, tile.rows), attention.matrices);
  auto made = std::make_unique<RecordedKernel>();
  AddStrided(group, attention, state, *made, made->recorded.emplace_back(std::move(kernel), sizes));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

/// Products by matrix instructions and a softmax between them outrun items of their own sums where
/// there are many of those, as long as the scores have room: 12 heads of 1,024 tokens of 64 took
/// 0.40 ms on an H200 in place of 0.12, 8 of 400 0.055 in place of 0.030, 12 of 197 the same.
int Taste(const Attention& attention, const Device& device) {
  constexpr int64_t kManyQueries = 64, kManyKeys = 320, kMostScores = 1 << 28;
  const MmaFacts& mma = AsOpenCl(device).facts().mma;
  const int64_t row_scores = attention.matrices * attention.keys;
  const bool has_many = attention.queries >= kManyQueries && attention.keys >= kManyKeys;
  const bool has_room = row_scores <= kMostScores / attention.queries;
  return mma.available && !mma.emulated && has_many && has_room ? kOnlyMeasured : 20;
}

constexpr Family<Attention> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .params = Space, .taste = Taste};

}  // namespace

extern const KernelDesc kOpenClAttentionRows;
const KernelDesc kOpenClAttentionRows = {.name = "opencl.attention.rows",
                                         .match = MatchAs<kFamily>,
                                         .parameters = ParametersOf<kAttentionFields>};

}  // namespace fettle::kernels
