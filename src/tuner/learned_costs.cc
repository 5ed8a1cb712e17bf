#include "tuner/learned_costs.h"

#include <algorithm>

#include "base/log.h"
#include "kernels/convert.h"
#include "tuner/candidate.h"

namespace fettle::tuner {
namespace {

/// Share of its bound below which a time shows that the bound is wrong.
constexpr double kBelowBound = 0.98;

/// A key of the memory: rows of one process differ in these alone.
std::string MemoryKey(const RowKey& key) {
  return fmt::format("{}\n{}\n{}", key.kernel, key.params, key.problem);
}

}  // namespace

LearnedCosts::LearnedCosts(const DeviceSet& devices, Store& store)
    : devices_(devices),
      store_(store),
      ceilings_(LoadCeilings(static_cast<const CpuDevice&>(devices.cpu()), store)) {
  if (devices.accelerator() != nullptr)
    accelerator_ceilings_ = LoadAcceleratorCeilings(*devices.accelerator(), store);
}

RowKey LearnedCosts::KernelKey(const planner::Kind& kind, const planner::Entry& entry) const {
  return KeyOf({entry.kernel, kind.problem(entry), entry.params}, kind.text,
               *devices_.Find(entry.kernel->device));
}

RowKey LearnedCosts::KeyOfConversion(const Shape& shape, DType dtype, const State& from,
                                     const State& to, int threads) const {
  return ConversionKey(shape, dtype, from, to, threads,
                       *devices_.Find(kernels::ConversionDevice(from, to)));
}

double LearnedCosts::Bound(const kernels::Work& work, DeviceKind device, int threads) const {
  if (device != DeviceKind::kCpu) return LeastMicroseconds(work, accelerator_ceilings_);
  return LeastMicroseconds(work, threads, ceilings_,
                           static_cast<const CpuDevice&>(devices_.cpu()).info());
}

planner::EntryCost LearnedCosts::FromRow(const Row& row, double bound) {
  switch (row.status) {
    case Row::Status::kOk: return {.us = row.median_us, .measured = true, .error = row.error};
    case Row::Status::kStopped: return {.us = std::max(bound, row.low_us)};
    case Row::Status::kWrong:
    case Row::Status::kFailed:
    case Row::Status::kCrashed: break;
  }
  return {.us = bound, .banned = row.reason.empty() ? "it failed before" : row.reason};
}

planner::EntryCost LearnedCosts::Answer(const planner::EntryCost& cost) const {
  planner::EntryCost answer = cost;
  if (measured_only_ && !cost.measured && cost.banned.empty()) answer.banned = "not measured";
  return answer;
}

planner::EntryCost LearnedCosts::Kernel(const planner::Kind& kind, const planner::Entry& entry) {
  const RowKey key = KernelKey(kind, entry);
  const auto [memory, is_new] = memory_.try_emplace(MemoryKey(key));
  if (is_new) {
    ++asked_;
    const DeviceKind device = entry.kernel->device;
    const kernels::Work work =
        WorkOf(*entry.kernel, kind.problem(entry), entry.params, *devices_.Find(device));
    const double bound = Bound(work, device, entry.threads);
    const Result<Row> row = store_.Find(key);
    memory->second = {.us = bound};
    if (row.ok() && !row->prior) {
      ++known_;
      memory->second = FromRow(*row, bound);
    }
  }
  planner::EntryCost cost = memory->second;
  if (!cost.measured && unbounded_.contains(entry.kernel->name)) cost.us = 0;
  return Answer(cost);
}

planner::EntryCost LearnedCosts::Conversion(const Shape& shape, DType dtype, const State& from,
                                            const State& to, int threads) {
  const RowKey key = KeyOfConversion(shape, dtype, from, to, threads);
  const auto [memory, is_new] = memory_.try_emplace(MemoryKey(key));
  if (is_new) {
    ++asked_;
    const kernels::Work work{
        .bytes = static_cast<double>(StateBytes(shape, from) + StateBytes(shape, to))};
    const double bound = Bound(work, kernels::ConversionDevice(from, to), threads);
    const Result<Row> row = store_.Find(key);
    memory->second = {.us = bound};
    if (row.ok() && !row->prior) {
      ++known_;
      memory->second = FromRow(*row, bound);
    }
  }
  return Answer(memory->second);
}

void LearnedCosts::LearnKernel(const planner::Kind& kind, const planner::Entry& entry,
                               const Row& row) {
  const RowKey key = KernelKey(kind, entry);
  store_.Put(key, row);
  planner::EntryCost& memory = memory_[MemoryKey(key)];
  if (row.status == Row::Status::kOk && row.median_us < memory.us * kBelowBound)
    unbounded_.insert(entry.kernel->name);
  Log(LogLevel::kDebug, "{} [{}] {:.2f} us (at least {:.2f}), bound {:.2f} us{}{}", key.kernel,
      key.params, row.median_us, row.low_us, memory.us, row.reason.empty() ? "" : ": ", row.reason);
  memory = FromRow(row, memory.us);
}

void LearnedCosts::LearnConversion(const Shape& shape, DType dtype, const State& from,
                                   const State& to, int threads, const Row& row) {
  const RowKey key = KeyOfConversion(shape, dtype, from, to, threads);
  store_.Put(key, row);
  planner::EntryCost& memory = memory_[MemoryKey(key)];
  memory = FromRow(row, memory.us);
}

}  // namespace fettle::tuner
