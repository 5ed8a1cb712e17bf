#include "kernels/opencl/attention/strided.h"

#include <algorithm>

#include "kernels/opencl/constant_floats.h"
#include "kernels/opencl/states.h"

namespace fettle::kernels {
namespace {

constexpr size_t kMostLoops = 3;

bool HasOneSource(const Attention& attention) {
  return attention.q.value == attention.k.value && attention.q.value == attention.v.value;
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

}  // namespace

Result<Attention> ReadStrided(const ir::Graph& group) {
  ASSIGN_OR_RETURN(Attention attention, ReadAttention(group));
  if (attention.q.matrices.size() > kMostLoops)
    return Unsupported("matrices in {} nested loops", attention.q.matrices.size());
  if (attention.masks.size() > 1) return Unsupported("more than one mask");
  if (attention.fill) return Unsupported("masked scores (Where)");
  for (ir::ValueId id : group.inputs) {
    if (!IsFloatValue(group.value(id).dtype)) return Unsupported("operands that are not floats");
  }
  return attention;
}

bool IsAligned(const AttentionOperand& operand, int64_t lanes) {
  return operand.column_stride == 1 && operand.row_stride % lanes == 0 &&
         operand.offset % lanes == 0 &&
         std::ranges::all_of(operand.matrices,
                             [&](const StridedLoop& loop) { return loop.stride % lanes == 0; });
}

void DefineStrided(const Attention& attention, BuildOptions& options) {
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
  options.Define("ONE_SOURCE", HasOneSource(attention) ? 1 : 0);
}

void AddStrided(const ir::Graph& group, const Attention& attention, const State& state,
                RecordedKernel& kernel, RecordedLaunch& launch) {
  const int64_t bytes = StorageBytes(state.storage, 1);
  launch.Input(InputIndex(group, attention.q.value), bytes);
  if (!HasOneSource(attention)) {
    launch.Input(InputIndex(group, attention.k.value), bytes);
    launch.Input(InputIndex(group, attention.v.value), bytes);
  }
  launch.Output(0, bytes).Value(static_cast<cl_float>(attention.scale));
  if (!attention.constants.empty()) {
    kernel.own_packs.push_back(PackSums(attention, SumsPeriod(attention)));
    launch.Packed(0, 0);
  }
  if (!attention.masks.empty())
    launch.Input(InputIndex(group, attention.masks[0].operand.value), bytes)
        .Value(static_cast<cl_float>(attention.masks[0].scale));
}

}  // namespace fettle::kernels
