// opencl.attention.cached: GroupQueryAttention over a cache whose length is read at launch. Where
// the new cache is the memory of the past, only new rows are written (attention/cached.cl).
#include <algorithm>
#include <limits>

#include "kernels/family.h"
#include "kernels/fields.h"
#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"
#include "ops/attention/mask.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

struct CacheFacts {
  ops::GroupQueryShape a;
  int64_t total = 0, keys = 0;  // keys: of the new cache
  DType cache = DType::kF16;    // as it is stored

  int64_t heads() const { return a.batch * a.kv_heads; }
  /// Queries of a key head.
  int64_t count() const { return a.length * (a.q_heads / a.kv_heads); }
  int64_t vector() const { return a.size % 8 == 0 && a.v_size % 8 == 0 ? 8 : 1; }
};

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
  const int64_t floats =
      tile.rows * (facts.a.size + tile.tile + 1) + tile.items + tile.items * facts.vector();
  if (tile.items > std::min(of.max_work_group_size, of.max_work_item_sizes[0]))
    return Unsupported("{} work-items: the device takes fewer", tile.items);
  if (facts.a.v_size / facts.vector() > tile.items)
    return Unsupported("values of {}: more than {} work-items", facts.a.v_size, tile.items);
  if (floats * 4 > of.local_bytes)
    return Unsupported("{} bytes of local memory: there are {}", floats * 4, of.local_bytes);
  return OkStatus();
}

constexpr CacheTile kLeastTile{.rows = 1, .tile = 32, .items = 64};

Status CheckLengths(const ir::Value& lengths, const CacheFacts& facts) {
  if (lengths.dtype != DType::kI32 && lengths.dtype != DType::kI64)
    return Unsupported("lengths of type {}", DTypeName(lengths.dtype));
  for (int64_t b = 0; lengths.is_constant() && b < facts.a.batch; ++b) {
    const int64_t valid = lengths.constant->GetInt(b) + 1;
    const int64_t first = facts.a.length == facts.total ? 0 : valid - facts.a.length;
    if (first < 0 || first > facts.a.cache || std::max(valid, first + facts.a.length) > facts.keys)
      return Unsupported("{} keys do not fit", valid);
  }
  return OkStatus();
}

Result<CacheFacts> Read(const ir::Graph& group, const Device& device) {
  const ir::Node& node = group.nodes()[0];
  if (group.nodes().size() != 1 || node.op != "GroupQueryAttention"_op)
    return Unsupported("computes GroupQueryAttention only");
  const auto value = [&](size_t i) -> const ir::Value& { return group.value(node.inputs[i]); };
  for (size_t i : {3, 4}) {
    if (node.input(i) == ir::kAbsent || node.output(i - 2) == ir::kAbsent)
      return Unsupported("without a cache");
  }
  if (node.output(0) == ir::kAbsent || group.outputs.size() != 3)
    return Unsupported("results that nobody reads");
  if (node.input(7) != ir::kAbsent || node.input(8) != ir::kAbsent)
    return Unsupported("scores that are added");
  if (node.input(9) != ir::kAbsent) return Unsupported("caches that are named");
  for (size_t i = 0; i < 5; ++i) {
    if (value(i).is_constant() || !IsFloatValue(value(i).dtype) || value(i).dtype == DType::kBF16 ||
        value(i).dtype != value(i < 3 ? 0 : 3).dtype)
      return Unsupported("operands that are constant, or of several types");
    if (value(i).shape->elements() > std::numeric_limits<cl_int>::max())
      return Unsupported("kernels count elements in 32 bits");
  }
  const auto& total = value(6).constant;
  if (total == nullptr) return Unsupported("the number of keys is not known");
  CacheFacts facts;
  ASSIGN_OR_RETURN(facts.a, ops::ReadGroupQuery(node, *value(0).shape, *value(1).shape,
                                                *value(2).shape, &*value(3).shape));
  if (value(0).shape->elements() * value(2).shape->elements() * facts.a.cache == 0)
    return Unsupported("nothing to compute");
  facts.total = total->GetInt(0);
  facts.keys = std::max(facts.total, facts.a.cache);
  facts.cache = value(3).dtype;
  RETURN_IF_ERROR(CheckLengths(value(5), facts));
  RETURN_IF_ERROR(CheckTile(facts, kLeastTile, AsOpenCl(device).facts()));
  return facts;
}

/// Floats, but for a cache of halves.
Result<std::vector<StateAssignment>> States(const ir::Graph& group, const CacheFacts& facts,
                                            const Device&) {
  const ir::Node& node = group.nodes()[0];
  StateAssignment states = StatesBeside(group, RowStates()[0]);
  for (size_t i : {1, 2}) {
    states.inputs[InputIndex(group, node.inputs[i + 2])].storage = facts.cache;
    states.outputs[i].storage = facts.cache;
  }
  return std::vector<StateAssignment>{std::move(states)};
}

/// Keys are shared out where there are few rows and long caches.
CacheTile UsualTile(const CacheFacts& facts, const OpenClFacts& of) {
  CacheTile tile;
  while (tile.rows > 1 && tile.rows / 2 >= facts.count()) tile.rows /= 2;
  while (tile.rows < 8 && tile.rows * 16 <= facts.count()) tile.rows *= 2;
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

BuildOptions OptionsOf(const CacheFacts& facts, const CacheTile& tile, DType lengths) {
  const ops::GroupQueryShape& a = facts.a;
  BuildOptions options;
  kCacheFields.Define(tile, options);
  options.Define("KEYS", facts.keys)
      .Define("LENGTH", a.length)
      .Define("KV_HEADS", a.kv_heads)
      .Define("GROUP", a.q_heads / a.kv_heads)
      .Define("SIZE", a.size)
      .Define("V_SIZE", a.v_size)
      .Define("CACHE_HALF", facts.cache == DType::kF16 ? 1 : 0)
      .Define("ALL_NEW", a.length == facts.total ? 1 : 0)
      .Define("WINDOW", std::max<int64_t>(a.window, 0))
      .Define("VECTOR", facts.vector())
      .Add(lengths == DType::kI32 ? "-DLENGTHS=int" : "-DLENGTHS=long");
  return options;
}

class CachedAttention final : public PreparedKernel {
 public:
  CachedAttention(const Problem& problem, const CacheFacts& facts, const CacheTile& tile)
      : facts_(facts), tile_(tile) {
    const ir::Graph& group = *problem.group;
    const ir::Node& node = group.nodes()[0];
    for (size_t i = 0; i < 5; ++i) inputs_[i] = InputIndex(group, node.inputs[i]);
    const ir::Value& lengths = group.value(node.inputs[5]);
    length_type_ = lengths.dtype;
    if (!lengths.is_constant()) {
      lengths_ = static_cast<int>(InputIndex(group, node.inputs[5]));
      return;
    }
    PackRequest request;
    request.constants = {node.inputs[5]};
    request.recipe = fmt::format("row.{}", DTypeName(length_type_));
    request.bytes = StorageBytes(length_type_, lengths.shape->elements());
    request.pack = [](std::span<const Constant* const> constants, std::byte* out) {
      constants[0]->CopyTo(0, constants[0]->elements(), out);
      return OkStatus();
    };
    packs_.push_back(std::move(request));
  }

  Status Build(const OpenClDevice& device) {
    const ProgramSource program =
        MakeProgram("attention/cached.cl", OptionsOf(facts_, tile_, length_type_));
    ASSIGN_OR_RETURN(append_, device.BuildKernel(program, "append"));
    ASSIGN_OR_RETURN(rewrite_, device.BuildKernel(program, "rewrite"));
    ASSIGN_OR_RETURN(attend_, device.BuildKernel(program, "attend"));
    ASSIGN_OR_RETURN(join_, device.BuildKernel(program, "join"));
    return OkStatus();
  }

  std::vector<PackRequest> packs() const override { return packs_; }

  int64_t workspace_bytes() const override {
    return tile_.parts == 1
               ? 0
               : facts_.heads() * Blocks() * tile_.rows * tile_.parts * (facts_.a.v_size + 2) * 4;
  }

  Status Launch(const LaunchArgs& args) const override {
    // One row is written by those that read it.
    const bool appends = facts_.a.length == 1 && IsInPlace(args, 1) && IsInPlace(args, 2);
    if (!appends) {
      RETURN_IF_ERROR(Store(args, 1, facts_.a.size));
      RETURN_IF_ERROR(Store(args, 2, facts_.a.v_size));
    }
    const int64_t cache = StorageBytes(facts_.cache, 1);
    const bool joins = tile_.parts > 1;
    ArgList list;
    list.Tensor(args.inputs[inputs_[0]], 4)
        .Tensor(args.outputs[1], cache)
        .Tensor(args.outputs[2], cache)
        .Tensor(args.inputs[inputs_[1]], 4)
        .Tensor(args.inputs[inputs_[2]], 4);
    AddLengths(args, list);
    list.Tensor(joins ? args.workspace : args.outputs[0], 4)
        .Value(static_cast<cl_float>(facts_.a.scale))
        .Value(static_cast<cl_float>(facts_.a.softcap))
        .Value(static_cast<cl_int>(appends ? 1 : 0));
    OpenClStream& stream = OpenClStreamOf(args);
    RETURN_IF_ERROR(stream.Launch(
        *attend_, GroupSizes(tile_.items, tile_.parts, Blocks(), facts_.heads()), list.args()));
    if (!joins) return OkStatus();
    ArgList parts;
    parts.Tensor(args.workspace, 4);
    AddLengths(args, parts);
    parts.Tensor(args.outputs[0], 4);
    return stream.Launch(*join_, PlaceSizes(facts_.a.v_size, facts_.count(), facts_.heads()),
                         parts.args());
  }

 private:
  int64_t Blocks() const { return DivideUp(facts_.count(), tile_.rows); }

  void AddLengths(const LaunchArgs& args, ArgList& list) const {
    list.Tensor(lengths_ < 0 ? args.packed[0] : args.inputs[lengths_],
                StorageBytes(length_type_, 1));
  }

  /// Of keys (1) or values (2).
  bool IsInPlace(const LaunchArgs& args, size_t operand) const {
    const Location past = args.inputs[inputs_[operand + 2]], present = args.outputs[operand];
    return facts_.a.cache == facts_.keys && past.base == present.base &&
           past.offset == present.offset;
  }

  /// Keys (1) or values (2).
  Status Store(const LaunchArgs& args, size_t operand, int64_t size) const {
    const Location past = args.inputs[inputs_[operand + 2]], present = args.outputs[operand];
    const int64_t cache = StorageBytes(facts_.cache, 1);
    const bool in_place = IsInPlace(args, operand);
    ArgList list;
    list.Tensor(args.inputs[inputs_[operand]], 4);
    if (!in_place) list.Tensor(past, cache);
    list.Tensor(present, cache);
    AddLengths(args, list);
    list.Value(static_cast<cl_int>(size));
    if (!in_place) list.Value(static_cast<cl_int>(facts_.a.cache));
    return OpenClStreamOf(args).Launch(
        in_place ? *append_ : *rewrite_,
        PlaceSizes(size, in_place ? facts_.a.length : facts_.keys, facts_.heads()), list.args());
  }

  CacheFacts facts_;
  CacheTile tile_;
  size_t inputs_[5] = {};
  int lengths_ = -1;  // where they are bound
  DType length_type_ = DType::kI32;
  std::vector<PackRequest> packs_;
  std::shared_ptr<OpenClKernel> append_, rewrite_, attend_, join_;
};

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const CacheFacts& facts,
                                                const Params& params, const Device& device) {
  auto made = std::make_unique<CachedAttention>(problem, facts, kCacheFields.Read(params));
  RETURN_IF_ERROR(made->Build(AsOpenCl(device)));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<CacheFacts> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .params = Space, .taste = Always<20>};

}  // namespace

extern const KernelDesc kOpenClAttentionCached;
const KernelDesc kOpenClAttentionCached = {.name = "opencl.attention.cached",
                                           .match = MatchAs<kFamily>,
                                           .parameters = ParametersOf<kCacheFields>};

}  // namespace fettle::kernels
