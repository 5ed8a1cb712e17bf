#include "kernels/cpu/expert_rows.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/epilogue/epilogue.h"
#include "kernels/cpu/gather/indices.h"
#include "kernels/cpu/zeros.h"

namespace fettle::kernels {
namespace {

/// Rows that the caller takes: they cost less than waking a lane does.
constexpr int64_t kFewRows = 4;

}  // namespace

Work WorkOfExperts(const Problem& problem, const ExpertGroup& group, const Params&, const Device&) {
  const ops::ExpertProduct& p = group.p;
  const DType codes = problem.group->value(group.input(ops::ExpertProduct::kWeights)).dtype;
  const auto n = static_cast<double>(p.n), k = static_cast<double>(p.k),
             rows = static_cast<double>(p.own_rows ? p.choices() : p.rows);
  return {.operations = 2 * static_cast<double>(p.choices()) * n * k,
          .bytes = static_cast<double>(StorageBytes(codes, p.n * p.k)) + 4 * rows * k};
}

ExpertRows::ExpertRows(const Problem& problem, const ExpertGroup& group, int64_t width)
    : CpuKernel(problem.threads), p_(group.p), width_(width) {
  using Product = ops::ExpertProduct;
  const ir::Graph& graph = *problem.group;
  a_ = IndexOf(graph.inputs, group.input(Product::kRows));
  if (p_.chooses) {
    index_type_ = graph.value(group.input(Product::kChosen)).dtype;
    chosen_ = IndexOf(graph.inputs, group.input(Product::kChosen));
  }
  if (p_.summed) counts_ = IndexOf(graph.inputs, group.input(Product::kCounts));
  // Four tasks a lane even out what lanes lose.
  task_pieces_ = std::max<int64_t>(1, pieces() / std::max<int64_t>(1, int64_t{4} * lanes()));
  ends_ = PerRun<int32_t>(p_.experts + 1);
  slots_ = PerRun<int32_t>(p_.choices());
  choices_ = PerRun<int32_t>(p_.choices());
  piece_ = PerLane<float>((kMostRows + kSpareRows) * width_);
}

void ExpertRows::KeepRows(int64_t bytes) {
  row_bytes_ = bytes;
  rows_ = PerRun<std::byte>(p_.choices() * bytes);
}

/// Counts how often each expert is chosen, then gives its choices slots in their order.
Status ExpertRows::Sort(const CpuLaunch& args) const {
  int32_t* const ends = args.At(ends_);
  int32_t* const slots = args.At(slots_);
  int32_t* const choices = args.At(choices_);
  if (!p_.chooses) {  // each expert has as many
    for (int64_t e = 0; e < p_.experts; ++e) ends[e] = static_cast<int32_t>((e + 1) * p_.rows);
    for (int64_t i = 0; i < p_.choices(); ++i) {
      slots[i] = static_cast<int32_t>(p_.ExpertOf(i) * p_.rows + i / p_.experts);
      choices[slots[i]] = static_cast<int32_t>(i);
    }
    return OkStatus();
  }
  const Indices chosen{args.inputs[chosen_].host<std::byte>(), index_type_};
  std::fill_n(ends, p_.experts + 1, 0);
  for (int64_t i = 0; i < p_.choices(); ++i) {
    const int64_t expert = chosen[i];
    if (expert < 0 || expert >= p_.experts) return ops::NoSuchExpert(expert, p_.experts);
    ++ends[expert + 1];
  }
  for (int64_t e = 0; e < p_.experts; ++e) ends[e + 1] += ends[e];
  // An expert's place counts up from where it begins, to where it ends.
  for (int64_t i = 0; i < p_.choices(); ++i) {
    const int32_t slot = ends[chosen[i]]++;
    slots[i] = slot;
    choices[slot] = static_cast<int32_t>(i);
  }
  return OkStatus();
}

void ExpertRows::TakeRows(const CpuLaunch& args) const {
  const float* const a = args.inputs[a_].host<float>();
  const int64_t each = p_.own_rows ? 1 : p_.used, count = p_.choices() / each;
  const auto take = [&](int64_t row, int) {
    const int32_t* const slots = args.At(slots_) + row * each;
    std::byte* const first = args.At(rows_) + slots[0] * row_bytes_;
    TakeRow(a + row * p_.k, first);
    for (int64_t i = 1; i < each; ++i)
      std::memcpy(args.At(rows_) + slots[i] * row_bytes_, first, row_bytes_);
  };
  if (count <= kFewRows) {
    for (int64_t row = 0; row < count; ++row) take(row, 0);
  } else {
    args.stream.ParallelFor(count, take);
  }
}

/// A slot's results for some columns.
void ExpertRows::Put(const CpuLaunch& args, int64_t slot, int64_t column, int64_t columns,
                     const float* c) const {
  const int64_t choice = args.At(choices_)[slot];
  float* const y = args.outputs[0].host<float>() + column;
  if (!p_.summed) {
    std::copy_n(c, columns, y + choice * p_.n);
    return;
  }
  const float count = args.inputs[counts_].host<float>()[choice];
  float* const sums = y + choice / p_.used * p_.n;
  for (int64_t i = 0; i < columns; ++i) sums[i] += count * c[i];
}

void ExpertRows::RunPieces(const CpuLaunch& args, int64_t begin, int64_t end, int lane) const {
  const int32_t* const ends = args.At(ends_);
  float* const c = args.At(piece_, lane);
  const int64_t from = begin * width_, to = std::min(end * width_, p_.n);
  for (int64_t row = 0; p_.summed && row < p_.rows; ++row)
    FillZeros(args.outputs[0].host<float>() + row * p_.n + from, to - from);
  for (int64_t e = 0, slot = 0; e < p_.experts; slot = ends[e++]) {
    for (int64_t count = 0; slot < ends[e]; slot += count) {
      count = std::min<int64_t>(kMostRows, ends[e] - slot);
      for (int64_t piece = begin; piece < end; ++piece) {
        const int64_t column = piece * width_, columns = std::min(width_, p_.n - column);
        Multiply(args, e, piece, columns, args.At(rows_) + slot * row_bytes_, count, c, lane);
        for (int64_t i = 0; i < count; ++i) Put(args, slot + i, column, columns, c + i * width_);
      }
    }
  }
}

Status ExpertRows::Run(const CpuLaunch& args) const {
  RETURN_IF_ERROR(Sort(args));
  TakeRows(args);
  const int64_t tasks = (pieces() + task_pieces_ - 1) / task_pieces_;
  args.stream.ParallelFor(tasks, [&](int64_t task, int lane) {
    const int64_t begin = task * task_pieces_;
    RunPieces(args, begin, std::min(begin + task_pieces_, pieces()), lane);
  });
  return OkStatus();
}

}  // namespace fettle::kernels
