// opencl.attention.rows: Softmax between two products, with what moves the elements of their
// operands (attention/rows.cl).
#include <algorithm>

#include "kernels/family.h"
#include "kernels/fields.h"
#include "kernels/match/attention.h"
#include "kernels/opencl/constant_floats.h"
#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"
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
  const auto is_even = [](const AttentionOperand& operand) {
    return operand.column_stride == 1 && operand.row_stride % kLanes == 0 &&
           operand.offset % kLanes == 0 &&
           std::ranges::all_of(operand.matrices,
                               [](const StridedLoop& loop) { return loop.stride % kLanes == 0; });
  };
  return attention.qk_size % kLanes == 0 && attention.v_size % kLanes == 0 &&
         is_even(attention.q) && is_even(attention.k) && is_even(attention.v) &&
         is_even(attention.y);
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
  ASSIGN_OR_RETURN(Attention attention, ReadAttention(group));
  constexpr size_t kMostLoops = 3;
  if (attention.q.matrices.size() > kMostLoops)
    return Unsupported("matrices in {} nested loops", attention.q.matrices.size());
  if (attention.masks.size() > 1) return Unsupported("more than one mask");
  if (attention.fill) return Unsupported("scores that a number replaces");
  for (ir::ValueId id : group.inputs) {
    if (!IsFloatValue(group.value(id).dtype)) return Unsupported("operands that are not floats");
  }
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

/// The strides of three loops, 0 where there are fewer.
std::array<int64_t, 3> StridesOf(const StridedLoops& loops) {
  std::array<int64_t, 3> strides{};
  for (size_t i = 0; i < loops.size(); ++i) strides[3 - loops.size() + i] = loops[i].stride;
  return strides;
}

void DefineOperand(char name, const AttentionOperand& operand, BuildOptions& options) {
  const auto define = [&](std::string_view what, int64_t value) {
    options.Define(fmt::format("{}_{}", name, what), value);
  };
  const auto [a, b, c] = StridesOf(operand.matrices);
  define("AT", operand.offset);
  define("A", a);
  define("B", b);
  define("C", c);
  define("ROW", operand.row_stride);
  define("COLUMN", operand.column_stride);
}

/// Matrices after which what is added to the scores repeats.
int64_t SumsPeriod(const Attention& attention) {
  const StridedLoops& loops = attention.q.matrices;
  size_t first = 0;
  while (first < loops.size() &&
         std::ranges::all_of(attention.constants, [&](const Attention::Addend& addend) {
           return addend.operand.matrices[first].stride == 0;
         }))
    ++first;
  int64_t period = 1;
  for (size_t i = first; i < loops.size(); ++i) period *= loops[i].extent;
  return period;
}

/// Adds a constant to the sums of `period` matrices.
void AddMatrices(const Constant& constant, const Attention::Addend& addend, int64_t period,
                 int64_t rows, int64_t columns, float* out) {
  const ConstantFloats from(constant);
  const AttentionOperand& operand = addend.operand;
  for (int64_t matrix = 0; matrix < period; ++matrix) {
    int64_t at = operand.offset, left = matrix;
    for (size_t i = operand.matrices.size(); i-- > 0;) {
      at += left % operand.matrices[i].extent * operand.matrices[i].stride;
      left /= operand.matrices[i].extent;
    }
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        *out++ += addend.scale * from[at + r * operand.row_stride + c * operand.column_stride];
  }
}

PackRequest PackSums(const Attention& attention, int64_t period) {
  PackRequest request;
  request.recipe =
      fmt::format("opencl.attention.sums.{}x{}x{}", period, attention.queries, attention.keys);
  for (const auto& [operand, scale] : attention.constants) {
    request.constants.push_back(operand.value);
    request.recipe += fmt::format(";{}*{}+{}+{}", scale, operand.offset, operand.row_stride,
                                  operand.column_stride);
    for (const StridedLoop& loop : operand.matrices)
      request.recipe += fmt::format(",{}x{}", loop.extent, loop.stride);
  }
  const int64_t elements = period * attention.queries * attention.keys;
  request.bytes = elements * static_cast<int64_t>(sizeof(float));
  request.pack = [attention, period, elements](std::span<const Constant* const> constants,
                                               std::byte* out) {
    auto* sums = reinterpret_cast<float*>(out);
    std::fill_n(sums, elements, 0.0f);
    for (size_t i = 0; i < constants.size(); ++i)
      AddMatrices(*constants[i], attention.constants[i], period, attention.queries, attention.keys,
                  sums);
    return OkStatus();
  };
  return request;
}

BuildOptions OptionsOf(const Attention& attention, const AttentionTile& tile, const State& state) {
  BuildOptions options = AccessOptions(state);
  kAttentionFields.Define(tile, options);
  // Scores of a key are shared where keys are fewer than work-items.
  int64_t parts = 1;
  while (parts < tile.rows && parts * 2 * attention.keys <= tile.items) parts *= 2;
  options.Define("PARTS", parts);
  options.Define("QUERIES", attention.queries).Define("KEYS", attention.keys);
  options.Define("SIZE", attention.qk_size).Define("V_SIZE", attention.v_size);
  const StridedLoops& loops = attention.q.matrices;
  const auto extent = [&](size_t from_last) {
    return loops.size() > from_last ? loops[loops.size() - 1 - from_last].extent : 1;
  };
  options.Define("MATRICES_B", extent(1)).Define("MATRICES_C", extent(0));
  DefineOperand('Q', attention.q, options);
  DefineOperand('K', attention.k, options);
  DefineOperand('V', attention.v, options);
  DefineOperand('Y', attention.y, options);
  if (!attention.masks.empty()) DefineOperand('M', attention.masks[0].operand, options);
  options.Define("MASK", attention.masks.empty() ? 0 : 1);
  options.Define("SUMS", attention.constants.empty() ? 0 : 1);
  options.Define("SUMS_PERIOD", SumsPeriod(attention));
  options.Define("NAN_TO_ZERO", attention.nan_to_zero ? 1 : 0);
  options.Define("VECTORS", HasVectors(attention) ? 1 : 0);
  return options;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Attention& attention,
                                                const Params& params, const Device& device) {
  const ir::Graph& group = *problem.group;
  const AttentionTile tile = kAttentionFields.Read(params);
  const State& state = problem.states.outputs[0];
  const int64_t bytes = StorageBytes(state.storage, 1);
  const bool one_source =
      attention.q.value == attention.k.value && attention.q.value == attention.v.value;
  BuildOptions options = OptionsOf(attention, tile, state);
  options.Define("ONE_SOURCE", one_source ? 1 : 0);
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClKernel> kernel,
                   AsOpenCl(device).BuildKernel(MakeProgram("attention/rows.cl", options), "rows"));
  const WorkSizes sizes =
      GroupSizes(tile.items, DivideUp(attention.queries, tile.rows), attention.matrices);
  auto made = std::make_unique<RecordedKernel>();
  RecordedLaunch& launch = made->recorded.emplace_back(std::move(kernel), sizes);
  launch.Input(InputIndex(group, attention.q.value), bytes);
  if (!one_source) {
    launch.Input(InputIndex(group, attention.k.value), bytes);
    launch.Input(InputIndex(group, attention.v.value), bytes);
  }
  launch.Output(0, bytes).Value(static_cast<cl_float>(attention.scale));
  if (!attention.constants.empty()) {
    made->own_packs.push_back(PackSums(attention, SumsPeriod(attention)));
    launch.Packed(0, 0);
  }
  if (!attention.masks.empty())
    launch.Input(InputIndex(group, attention.masks[0].operand.value), bytes)
        .Value(static_cast<cl_float>(attention.masks[0].scale));
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
