// compiled: small
#include "kernels/cpu/attention/cached_keys.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/simd/storage.h"
#include "ops/op.h"

namespace fettle::kernels {

CachedKeys::CachedKeys(const Problem& problem, const CachedFacts& facts)
    : operands_(*problem.group), f_(facts) {
  const ir::Node& node = problem.node();
  for (size_t i : {1, 2}) {
    written_[i - 1] = i < node.outputs.size() && node.outputs[i] != ir::kAbsent;
    if (written_[i - 1])
      cache_[i - 1] = OutputState(*problem.group, problem.states, i).storage;
    else if (node.input(i + 2) != ir::kAbsent)
      cache_[i - 1] = InputState(*problem.group, problem.states, i + 2).storage;
  }
}

KeyLengths CachedKeys::LengthsOf(const LaunchArgs& args, int64_t batch) const {
  const std::byte* from = operands_.input(args, 5);
  const int64_t last = f_.length_type == DType::kI32
                           ? reinterpret_cast<const int32_t*>(from)[batch]
                           : reinterpret_cast<const int64_t*>(from)[batch];
  return {last + 1, f_.a.length == f_.total ? 0 : last + 1 - f_.a.length};
}

Result<int64_t> CachedKeys::MostKeys(const LaunchArgs& args) const {
  int64_t most = 0;
  for (int64_t b = 0; b < f_.a.batch; ++b) {
    const auto [valid, first_new] = LengthsOf(args, b);
    if (first_new < 0 || valid < 0 || first_new > f_.a.cache ||
        std::max(valid, first_new + f_.a.length) > f_.keys ||
        (!f_.bias_strides.empty() && valid > f_.total))
      return InvalidArgument("seqlens_k of batch element {} does not fit {} keys", b, f_.keys);
    most = std::max({most, valid, first_new + f_.a.length});
  }
  return most;
}

bool CachedKeys::IsInPlace(const LaunchArgs& args, size_t operand) const {
  return IsWritten(operand) && f_.a.cache == f_.keys &&
         operands_.input(args, operand + 2) == operands_.output(args, operand);
}

std::span<const int32_t> CachedKeys::Named(const LaunchArgs& args) const {
  const auto* named = reinterpret_cast<const int32_t*>(operands_.input(args, 9));
  return named == nullptr ? std::span<const int32_t>() : std::span(named, f_.a.batch);
}

int64_t CachedKeys::CacheHead(const LaunchArgs& args, int64_t head) const {
  const std::span<const int32_t> named = Named(args);
  if (named.empty()) return head;
  return named[head / f_.a.kv_heads] * f_.a.kv_heads + head % f_.a.kv_heads;
}

Status CachedKeys::Begin(const LaunchArgs& args) const {
  const std::span<const int32_t> named = Named(args);
  if (named.empty()) return OkStatus();
  RETURN_IF_ERROR(ops::CheckCachesNamed(named, f_.a.caches));
  for (size_t operand : {1, 2}) {
    if (!IsWritten(operand) || IsInPlace(args, operand)) continue;
    const int64_t row = RowBytes(operand), heads = f_.a.kv_heads;
    const std::byte* from = operands_.input(args, operand + 2);
    std::byte* to = operands_.output(args, operand);
    for (int64_t head = 0; head < f_.a.caches * heads; ++head) {
      if (std::find(named.begin(), named.end(), head / heads) != named.end()) continue;
      std::memcpy(to + head * f_.keys * row, from + head * f_.a.cache * row, f_.a.cache * row);
      std::memset(to + (head * f_.keys + f_.a.cache) * row, 0, (f_.keys - f_.a.cache) * row);
    }
  }
  return OkStatus();
}

const float* CachedKeys::NewRows(const LaunchArgs& args, size_t operand, int64_t head) const {
  const int64_t batch = head / f_.a.kv_heads, kv = head % f_.a.kv_heads;
  return reinterpret_cast<const float*>(operands_.input(args, operand)) +
         (batch * f_.a.length * f_.a.kv_heads + kv) * SizeOf(operand);
}

void CachedKeys::Store(const LaunchArgs& args, size_t operand, int64_t head, int64_t begin,
                       int64_t end) const {
  if (!IsWritten(operand)) return;
  const int64_t size = SizeOf(operand), bytes = RowBytes(operand);
  const int64_t first = LengthsOf(args, head / f_.a.kv_heads).first_new;
  const int64_t last = first + f_.a.length;
  const bool in_place = IsInPlace(args, operand);
  const int64_t at = CacheHead(args, head);
  std::byte* to = operands_.output(args, operand) + at * f_.keys * bytes;
  if (const int64_t stop = std::min(end, first); begin < stop && !in_place)
    std::memcpy(to + begin * bytes,
                operands_.input(args, operand + 2) + (at * f_.a.cache + begin) * bytes,
                (stop - begin) * bytes);
  const float* from = NewRows(args, operand, head);
  for (int64_t n = std::max(begin, first); n < std::min(end, last); ++n) {
    const float* row = from + (n - first) * f_.a.kv_heads * size;
    if (type(operand) == DType::kI8)
      ops::RoundByteRow(row, size, to + n * bytes);
    else
      ConvertRow(DType::kF32, reinterpret_cast<const std::byte*>(row), type(operand),
                 to + n * bytes, size);
  }
  if (const int64_t start = std::max(begin, last); start < end && !in_place)
    std::memset(to + start * bytes, 0, (end - start) * bytes);
}

const float* CachedKeys::Widened(size_t operand, const std::byte* from, int64_t rows,
                                 float* to) const {
  const int64_t size = SizeOf(operand);
  if (type(operand) == DType::kF32) return reinterpret_cast<const float*>(from);
  if (type(operand) == DType::kF16) {
    ConvertRow(DType::kF16, from, DType::kF32, reinterpret_cast<std::byte*>(to), rows * size);
    return to;
  }
  for (int64_t n = 0; n < rows; ++n, from += RowBytes(operand)) {
    float* const row = to + n * size;
    ConvertRow(DType::kI8, from, DType::kF32, reinterpret_cast<std::byte*>(row), size);
    ScaleRow(row, size, ops::StepOf(from, size), row);
  }
  return to;
}

const float* CachedKeys::Rows(const LaunchArgs& args, size_t operand, int64_t head, int64_t begin,
                              int64_t end, float* scratch) const {
  const int64_t size = SizeOf(operand), bytes = RowBytes(operand);
  const int64_t at = CacheHead(args, head);
  if (IsWritten(operand))
    return Widened(operand, operands_.output(args, operand) + (at * f_.keys + begin) * bytes,
                   end - begin, scratch);
  const int64_t first = LengthsOf(args, head / f_.a.kv_heads).first_new;
  const int64_t stop = std::clamp(first, begin, end);
  if (begin < stop) {
    const std::byte* past = operands_.input(args, operand + 2);
    const float* rows =
        Widened(operand, past + (at * f_.a.cache + begin) * bytes, stop - begin, scratch);
    if (stop == end) return rows;
    if (rows != scratch) std::copy_n(rows, (stop - begin) * size, scratch);
  }
  const float* from = NewRows(args, operand, head);
  for (int64_t n = stop; n < end; ++n)
    std::copy_n(from + (n - first) * f_.a.kv_heads * size, size, scratch + (n - begin) * size);
  return scratch;
}

StoredRows CachedKeys::Stored(const LaunchArgs& args, size_t operand, int64_t head, int64_t begin,
                              int64_t end, int64_t stop, float* scratch) const {
  const auto at = [&](size_t which, int64_t of_head, int64_t row) {
    return operands_.output(args, which) +
           (CacheHead(args, of_head) * f_.keys + row) * RowBytes(which);
  };
  StoredRows rows;
  const auto kind = type(operand) == DType::kF16  ? StoredRows::kHalves
                    : type(operand) == DType::kI8 ? StoredRows::kBytes
                                                  : StoredRows::kFloats;
  if (IsWritten(operand) && kind != StoredRows::kFloats && ReadsFewBytes(kind, SizeOf(operand)))
    rows.kind = kind;
  rows.at =
      rows.kind != StoredRows::kFloats
          ? at(operand, head, begin)
          : reinterpret_cast<const std::byte*>(Rows(args, operand, head, begin, end, scratch));
  const size_t other = 3 - operand;
  const bool turns = operand == 2 && end == stop;  // to the next head
  const int64_t next_head = head + (turns ? 1 : 0), next = operand == 1 ? begin : turns ? 0 : end;
  if (!IsWritten(other) || next_head >= f_.a.batch * f_.a.kv_heads) return rows;
  rows.next = at(other, next_head, next);
  rows.next_bytes = RowBytes(other);
  return rows;
}

Result<CachedFacts> ReadCached(const ir::Graph& group, const Device&) {
  if (group.nodes().size() != 1 || group.nodes()[0].op != "GroupQueryAttention"_op)
    return Unsupported("computes GroupQueryAttention only");
  const ir::Node& node = group.nodes()[0];
  const auto shape = [&](size_t i) -> const Shape& { return *group.value(node.inputs[i]).shape; };
  const auto& total = group.value(node.inputs[6]).constant;
  if (total == nullptr) return Unsupported("the number of keys is not known");
  const bool has_past = node.input(3) != ir::kAbsent;
  CachedFacts facts;
  ASSIGN_OR_RETURN(facts.a, ops::ReadGroupQuery(node, shape(0), shape(1), shape(2),
                                                has_past ? &shape(3) : nullptr));
  if (shape(0).elements() * shape(2).elements() == 0) return Unsupported("nothing to compute");
  if (facts.group() > CachedFacts::kMostHeads)
    return Unsupported("more than {} heads to a key", CachedFacts::kMostHeads);
  for (size_t i : {0, 1, 2, 3, 4, 7, 8}) {
    const ir::ValueId id = node.input(i);
    if (id != ir::kAbsent && group.value(id).is_constant() && group.value(id).dtype != DType::kF32)
      return Unsupported("a constant that is not f32");
    if (id != ir::kAbsent && group.value(id).dtype == DType::kF64)
      return Unsupported("f64 is not computed in fp32");
  }
  facts.has_sinks = node.input(8) != ir::kAbsent;
  facts.total = total->GetInt(0);
  facts.keys = std::max(facts.total, facts.a.cache);
  facts.length_type = group.value(node.inputs[5]).dtype;
  if (facts.length_type != DType::kI32 && facts.length_type != DType::kI64)
    return Unsupported("lengths of type {}", DTypeName(facts.length_type));
  if (node.input(7) != ir::kAbsent) {
    facts.bias_strides = RowMajorStrides(shape(7));
    for (int i = 0; i < 4; ++i) {
      if (shape(7)[i] == 1) facts.bias_strides[i] = 0;
    }
  }
  return facts;
}

Result<std::vector<StateAssignment>> CachedStates(const ir::Graph& group, const CachedFacts&,
                                                  const Device&) {
  const ir::Node& node = group.nodes()[0];
  // Where operand `id` is among those of the group; their number: it is absent, or a constant.
  const auto at = [](const std::vector<ir::ValueId>& ids, ir::ValueId id) {
    return static_cast<size_t>(std::find(ids.begin(), ids.end(), id) - ids.begin());
  };
  const StateAssignment floats = WidenedStates(group);
  std::vector<StateAssignment> listed;
  for (const bool halves : {true, false}) {
    for (const bool external : {false, true}) {
      StateAssignment states = floats;
      for (size_t i : {1, 2}) {
        const size_t past = at(group.inputs, node.input(i + 2));
        const size_t present =
            i < node.outputs.size() ? at(group.outputs, node.outputs[i]) : states.outputs.size();
        const bool is_half =
            past < states.inputs.size() && group.value(group.inputs[past]).dtype == DType::kF16;
        // Keys of floats are read as their cache stores them, which floats do not show.
        const bool keeps = is_half && (halves || group.value(node.inputs[i]).dtype == DType::kF32);
        if (past < states.inputs.size()) {
          if (keeps) states.inputs[past].storage = DType::kF16;
          states.inputs[past].external =
              external && states.inputs[past].storage == group.value(group.inputs[past]).dtype;
        }
        if (present < states.outputs.size() && keeps) states.outputs[present].storage = DType::kF16;
      }
      if (std::find(listed.begin(), listed.end(), states) == listed.end())
        listed.push_back(std::move(states));
    }
  }
  return listed;
}

}  // namespace fettle::kernels
