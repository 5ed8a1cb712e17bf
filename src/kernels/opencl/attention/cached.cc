// opencl.attention.cached: GroupQueryAttention over a cache whose length is read at launch. Where
// the new cache is the memory of the past, only new rows are written (attention/cached.cl). Queries
// and keys of one row may be turned before (attention/turn.h).
#include <algorithm>
#include <optional>

#include "kernels/family.h"
#include "kernels/fields.h"
#include "kernels/opencl/attention/turn.h"
#include "kernels/opencl/one_row/warps.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

/// Rows, keys of a tile and work-items of a group, and groups that share the keys of a row.
struct CacheTile {
  int64_t rows = 4, tile = 64, items = 128, parts = 1;
};
constexpr Fields kCacheFields("attention/cached.cl",
                              Field{"rows", &CacheTile::rows, {1, 2, 4, 8}, "ROWS"},
                              Field{"tile", &CacheTile::tile, {32, 64, 128}, "TILE"},
                              Field{"items", &CacheTile::items, {64, 128, 256}, "ITEMS"},
                              Field{"parts", &CacheTile::parts, {1, 4, 8, 16, 32}, "PARTS"});

Status CheckTile(const CacheFacts& facts, const CacheTile& tile, const OpenClFacts& of) {
  const int64_t floats = tile.rows * (facts.a.size + tile.tile + 1) + tile.items +
                         tile.items * facts.vector() + facts.a.size;
  if (tile.items > std::min(of.max_work_group_size, of.max_work_item_sizes[0]))
    return Unsupported("{} work-items: the device takes fewer", tile.items);
  if (facts.a.v_size / facts.vector() > tile.items)
    return Unsupported("values of {}: more than {} work-items", facts.a.v_size, tile.items);
  if (floats * 4 > of.local_bytes)
    return Unsupported("{} bytes of local memory: there are {}", floats * 4, of.local_bytes);
  return OkStatus();
}

constexpr CacheTile kLeastTile{.rows = 1, .tile = 32, .items = 64};

Result<CacheFacts> Read(const ir::Graph& group, const Device& device) {
  ASSIGN_OR_RETURN(const CacheFacts facts, ReadLastOfCache(group));
  if (group.nodes().size() > 1) RETURN_IF_ERROR(ReadTurn(group, facts).status());
  RETURN_IF_ERROR(CheckTile(facts, kLeastTile, AsOpenCl(device).facts()));
  return facts;
}

/// Keys are shared out where there are few rows and long caches.
CacheTile UsualTile(const CacheFacts& facts, const OpenClFacts& of) {
  CacheTile tile;
  while (tile.rows > 1 && tile.rows / 2 >= facts.count()) tile.rows /= 2;
  while (tile.rows < 8 && tile.rows * 16 <= facts.count()) tile.rows *= 2;
  // Of one row, short caches are cut finely.
  while (facts.a.length == 1 && !of.is_cpu && tile.tile > 32 && facts.keys < 32 * tile.tile)
    tile.tile /= 2;
  const int64_t groups = facts.heads() * DivideUp(facts.count(), tile.rows);
  const int64_t tiles = DivideUp(facts.keys, tile.tile);
  for (const int64_t parts : {4, 8, 16, 32}) {
    if (groups * tile.parts < 2 * of.compute_units && parts <= tiles) tile.parts = parts;
  }
  return CheckTile(facts, tile, of).ok() ? tile : kLeastTile;
}

ParamSpace Space(const Problem&, const CacheFacts& facts, const Device& device) {
  const OpenClFacts& of = AsOpenCl(device).facts();
  return {kCacheFields.Tunables(), kCacheFields.Write(UsualTile(facts, of)),
          [facts, &of](const Params& params) {
            return CheckTile(facts, kCacheFields.Read(params), of);
          }};
}

BuildOptions OptionsOf(const CacheFacts& facts, const CacheTile& tile, DType lengths,
                       const OpenClFacts& of) {
  BuildOptions options = CacheOptions(facts, lengths);
  kCacheFields.Define(tile, options);
  options.Define("PTX", TakesPtx(of) ? 1 : 0);
  return options;
}

class CachedAttention final : public CacheKernel {
 public:
  CachedAttention(const Problem& problem, const CacheFacts& facts, const CacheTile& tile)
      : CacheKernel(problem, facts), tile_(tile) {}

  Status Build(const ir::Graph& group, const OpenClDevice& device) {
    RETURN_IF_ERROR(BuildAppends(device));
    BuildOptions options = OptionsOf(facts(), tile_, length_type(), device.facts());
    if (group.nodes().size() > 1) {
      ASSIGN_OR_RETURN(const TurnFacts turn, ReadTurn(group, facts()));
      DefineTurn(turn, options);
      RETURN_IF_ERROR(turn_.emplace().Build(group, turn, device, own_packs()));
      for (size_t i : {0, 1}) SetInput(i, turn_->input(i));
    }
    const ProgramSource program = MakeProgram("attention/cached.cl", options);
    ASSIGN_OR_RETURN(attend_, device.BuildKernel(program, "attend"));
    ASSIGN_OR_RETURN(join_, device.BuildKernel(program, "join"));
    return OkStatus();
  }

  int64_t workspace_bytes() const override {
    return PartBytes() + (turn_ ? turn_->key_bytes() : 0);
  }

  Status Launch(const LaunchArgs& args) const override {
    // One row is written by those that read it.
    const bool appends = facts().a.length == 1 && IsInPlace(args, 1) && IsInPlace(args, 2);
    if (!appends) RETURN_IF_ERROR(StoreTurned(args));
    const bool joins = tile_.parts > 1;
    ArgList list;
    AddQueriesAndCache(args, list);
    list.Tensor(args.inputs[input(1)], 4).Tensor(args.inputs[input(2)], 4);
    AddLengths(args, list);
    list.Tensor(joins ? args.workspace : args.outputs[0], 4)
        .Value(static_cast<cl_float>(facts().a.scale))
        .Value(static_cast<cl_float>(facts().a.softcap))
        .Value(static_cast<cl_int>(appends ? 1 : 0));
    if (turn_) turn_->AddTables(args, list);
    OpenClStream& stream = OpenClStreamOf(args);
    RETURN_IF_ERROR(stream.Launch(
        *attend_, GroupSizes(tile_.items, tile_.parts, Blocks(), facts().heads()), list.args()));
    if (!joins) return OkStatus();
    ArgList parts;
    parts.Tensor(args.workspace, 4);
    AddLengths(args, parts);
    parts.Tensor(args.outputs[0], 4);
    return stream.Launch(*join_, PlaceSizes(facts().a.v_size, facts().count(), facts().heads()),
                         parts.args());
  }

 private:
  int64_t Blocks() const { return DivideUp(facts().count(), tile_.rows); }
  /// Of what parts of a row's keys leave.
  int64_t PartBytes() const {
    const int64_t rows = facts().heads() * Blocks() * tile_.rows;
    return tile_.parts == 1 ? 0
                            : DivideUp(rows * tile_.parts * (facts().a.v_size + 2) * 4, 64) * 64;
  }
  Status StoreTurned(const LaunchArgs& args) const {
    if (!turn_) return StoreNew(args);
    const Location keys = {args.workspace.base, args.workspace.offset + PartBytes()};
    RETURN_IF_ERROR(turn_->TurnKeys(args, keys));
    return StoreNew(args, keys);
  }

  CacheTile tile_;
  std::optional<TurnLaunch> turn_;
  std::shared_ptr<OpenClKernel> attend_, join_;
};

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const CacheFacts& facts,
                                                const Params& params, const Device& device) {
  auto made = std::make_unique<CachedAttention>(problem, facts, kCacheFields.Read(params));
  RETURN_IF_ERROR(made->Build(*problem.group, AsOpenCl(device)));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<CacheFacts> kFamily{
    .read = Read, .states = CacheStates, .prepare = Prepare, .params = Space, .taste = Always<20>};

}  // namespace

extern const KernelDesc kOpenClAttentionCached;
const KernelDesc kOpenClAttentionCached = {.name = "opencl.attention.cached",
                                           .match = MatchAs<kFamily>,
                                           .parameters = ParametersOf<kCacheFields>};

}  // namespace fettle::kernels
