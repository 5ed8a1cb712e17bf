#include "tuner/learned_costs.h"

#include <algorithm>

#include "base/log.h"
#include "kernels/convert.h"
#include "tuner/candidate.h"

namespace fettle::tuner {
namespace {

/// Share of its bound below which a time shows that the bound is wrong.
constexpr double kBelowBound = 0.98;

constexpr std::string_view kLosesTooMuch = "loses too much accuracy for the time it saves";

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

std::string LearnedCosts::KeyText(const planner::Kind& kind, const planner::Entry& entry) const {
  return MemoryKey(KernelKey(kind, entry));
}

std::string LearnedCosts::KeyText(const Shape& shape, DType dtype, const State& from,
                                  const State& to, int threads) const {
  return MemoryKey(KeyOfConversion(shape, dtype, from, to, threads));
}

void LearnedCosts::Excuse(const planner::Kind& kind, const planner::Entry& entry) {
  excused_.insert(MemoryKey(KernelKey(kind, entry)));
}

LearnedCosts::Known& LearnedCosts::Recall(const std::string& text, const RowKey& key,
                                          double bound_us) {
  Known& known = memory_[text];
  ++asked_;
  known = {.cost = {.us = bound_us}, .bound_us = bound_us};
  const Result<Row> row = store_.Find(key);
  if (!row.ok()) return known;
  if (!row->prior) {
    ++known_;
    known.cost = FromRow(*row, bound_us);
  } else if (row->status == Row::Status::kOk || row->status == Row::Status::kStopped) {
    ++priors_;
    known.prior_us = row->status == Row::Status::kOk ? row->median_us : row->low_us;
  }
  return known;
}

planner::EntryCost LearnedCosts::Answer(const Known& known) const {
  planner::EntryCost cost = known.cost;
  if (!cost.measured && known.prior_us > 0)
    cost.us = std::max(cost.us, known.prior_us * prior_share_);
  return cost;
}

planner::EntryCost LearnedCosts::Kernel(const planner::Kind& kind, const planner::Entry& entry) {
  const RowKey key = KernelKey(kind, entry);
  const std::string text = MemoryKey(key);
  const auto found = memory_.find(text);
  if (found == memory_.end()) {
    const DeviceKind device = entry.kernel->device;
    const kernels::Work work =
        WorkOf(*entry.kernel, kind.problem(entry), entry.params, *devices_.Find(device));
    Recall(text, key, Bound(work, device, entry.threads));
  }
  const Known& known = found == memory_.end() ? memory_[text] : found->second;
  planner::EntryCost cost = Answer(known);
  if (!cost.measured && known.prior_us == 0 && unbounded_.contains(entry.kernel->name)) cost.us = 0;
  if (measured_only_ && !cost.measured && cost.banned.empty() && !excused_.contains(text))
    cost.banned = "not measured";
  if (banned_.contains(text)) cost.banned = kLosesTooMuch;
  return cost;
}

planner::EntryCost LearnedCosts::Conversion(const Shape& shape, DType dtype, const State& from,
                                            const State& to, int threads) {
  const RowKey key = KeyOfConversion(shape, dtype, from, to, threads);
  const std::string text = MemoryKey(key);
  const auto found = memory_.find(text);
  if (found == memory_.end()) {
    const kernels::Work work{
        .bytes = static_cast<double>(StateBytes(shape, from) + StateBytes(shape, to))};
    Recall(text, key, Bound(work, kernels::ConversionDevice(from, to), threads));
  }
  planner::EntryCost cost = Answer(found == memory_.end() ? memory_[text] : found->second);
  if (measured_only_ && !cost.measured) cost.us *= 2;
  if (banned_.contains(text)) cost.banned = kLosesTooMuch;
  return cost;
}

/// Where a prior turns out to be slower than now, all priors may be.
void LearnedCosts::Relearn(Known& known, const Row& row) {
  constexpr double kLeastShare = 0.3, kBelowNow = 0.85;
  if (row.status == Row::Status::kOk && known.prior_us > 0) {
    const double share = kBelowNow * row.median_us / known.prior_us;
    prior_share_ = std::clamp(share, kLeastShare, prior_share_);
  }
  known.cost = FromRow(row, known.bound_us);
  // A candidate that was stopped is known by its bound of now.
  known.prior_us = 0;
}

void LearnedCosts::LearnKernel(const planner::Kind& kind, const planner::Entry& entry,
                               const Row& row) {
  const RowKey key = KernelKey(kind, entry);
  store_.Put(key, row);
  Known& known = memory_[MemoryKey(key)];
  if (row.status == Row::Status::kOk && row.median_us < known.bound_us * kBelowBound)
    unbounded_.insert(entry.kernel->name);
  Log(LogLevel::kDebug, "{} [{}] {:.2f} us (at least {:.2f}), bound {:.2f} us{}{}", key.kernel,
      key.params, row.median_us, row.low_us, known.bound_us, row.reason.empty() ? "" : ": ",
      row.reason);
  Relearn(known, row);
}

void LearnedCosts::LearnConversion(const Shape& shape, DType dtype, const State& from,
                                   const State& to, int threads, const Row& row) {
  const RowKey key = KeyOfConversion(shape, dtype, from, to, threads);
  store_.Put(key, row);
  Relearn(memory_[MemoryKey(key)], row);
}

}  // namespace fettle::tuner
