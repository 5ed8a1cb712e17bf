#include "kernels/opencl/attention/cache.h"

#include <algorithm>
#include <limits>

#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

const ir::Node& LastOf(const ir::Graph& group) { return group.nodes()[group.nodes().size() - 1]; }

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

}  // namespace

Result<CacheFacts> ReadCacheFacts(const ir::Graph& group) {
  if (group.nodes().size() != 1) return Unsupported("computes GroupQueryAttention only");
  return ReadLastOfCache(group);
}

Result<CacheFacts> ReadLastOfCache(const ir::Graph& group) {
  const ir::Node& node = LastOf(group);
  if (node.op != "GroupQueryAttention"_op) return Unsupported("computes GroupQueryAttention only");
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
    const DType type = value(i).dtype;
    const bool fits = IsFloatValue(type) || (i >= 3 && type == DType::kI8);
    if (value(i).is_constant() || !fits || type == DType::kBF16 ||
        type != value(i < 3 ? 0 : 3).dtype)
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
  return facts;
}

Result<std::vector<StateAssignment>> CacheStates(const ir::Graph& group, const CacheFacts& facts,
                                                 const Device&) {
  const ir::Node& node = LastOf(group);
  StateAssignment states = StatesBeside(group, RowStates()[0]);
  for (size_t i : {1, 2}) {
    states.inputs[InputIndex(group, node.inputs[i + 2])].storage = facts.cache;
    states.outputs[i].storage = facts.cache;
  }
  return std::vector<StateAssignment>{std::move(states)};
}

BuildOptions CacheOptions(const CacheFacts& facts, DType lengths) {
  const ops::GroupQueryShape& a = facts.a;
  BuildOptions options;
  options.Define("KEYS", facts.keys)
      .Define("LENGTH", a.length)
      .Define("KV_HEADS", a.kv_heads)
      .Define("GROUP", a.q_heads / a.kv_heads)
      .Define("SIZE", a.size)
      .Define("V_SIZE", a.v_size)
      .Define("CACHE_BITS", 8 * StorageBytes(facts.cache, 1))
      .Define("ALL_NEW", a.length == facts.total ? 1 : 0)
      .Define("WINDOW", std::max<int64_t>(a.window, 0))
      .Define("VECTOR", facts.vector())
      .Add(lengths == DType::kI32 ? "-DLENGTHS=int" : "-DLENGTHS=long");
  return options;
}

CacheKernel::CacheKernel(const Problem& problem, const CacheFacts& facts) : facts_(facts) {
  const ir::Graph& group = *problem.group;
  const ir::Node& node = LastOf(group);
  const size_t made = group.nodes().size() == 1 ? 0 : 2;  // by nodes before
  for (size_t i = made; i < 5; ++i) inputs_[i] = InputIndex(group, node.inputs[i]);
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

Status CacheKernel::BuildAppends(const OpenClDevice& device) {
  const ProgramSource program =
      MakeProgram("attention/append.cl", CacheOptions(facts_, length_type_));
  ASSIGN_OR_RETURN(append_, device.BuildKernel(program, "append"));
  ASSIGN_OR_RETURN(rewrite_, device.BuildKernel(program, "rewrite"));
  return OkStatus();
}

bool CacheKernel::IsInPlace(const LaunchArgs& args, size_t operand) const {
  const Location past = args.inputs[inputs_[operand + 2]], present = args.outputs[operand];
  return facts_.a.cache == facts_.keys && past.base == present.base &&
         past.offset == present.offset;
}

Status CacheKernel::StoreNew(const LaunchArgs& args) const {
  return StoreNew(args, args.inputs[inputs_[1]]);
}

Status CacheKernel::StoreNew(const LaunchArgs& args, const Location& keys) const {
  RETURN_IF_ERROR(Store(args, 1, facts_.a.size, keys));
  return Store(args, 2, facts_.a.v_size, args.inputs[inputs_[2]]);
}

void CacheKernel::AddQueriesAndCache(const LaunchArgs& args, ArgList& list) const {
  const int64_t cache = StorageBytes(facts_.cache, 1);
  list.Tensor(args.inputs[inputs_[0]], 4)
      .Tensor(args.outputs[1], cache)
      .Tensor(args.outputs[2], cache);
}

void CacheKernel::AddLengths(const LaunchArgs& args, ArgList& list) const {
  list.Tensor(lengths_ < 0 ? args.packed[0] : args.inputs[lengths_], StorageBytes(length_type_, 1));
}

Status CacheKernel::Store(const LaunchArgs& args, size_t operand, int64_t size,
                          const Location& from) const {
  const Location past = args.inputs[inputs_[operand + 2]], present = args.outputs[operand];
  const int64_t cache = StorageBytes(facts_.cache, 1);
  const bool in_place = IsInPlace(args, operand);
  ArgList list;
  list.Tensor(from, 4);
  if (!in_place) list.Tensor(past, cache);
  list.Tensor(present, cache);
  AddLengths(args, list);
  list.Value(static_cast<cl_int>(size));
  if (!in_place) list.Value(static_cast<cl_int>(facts_.a.cache));
  return OpenClStreamOf(args).Launch(
      in_place ? *append_ : *rewrite_,
      PlaceSizes(size, in_place ? facts_.a.length : facts_.keys, facts_.heads()), list.args());
}

}  // namespace fettle::kernels
