#include "tuner/cost/learned_costs.h"

#include <algorithm>
#include <array>

#include "base/log.h"
#include "kernels/backend.h"
#include "tuner/cost/step_costs.h"
#include "tuner/store/candidate.h"

namespace fettle::tuner {
namespace {

/// Share of its bound below which a time shows that the bound is wrong.
constexpr double kBelowBound = 0.98;

/// Of a kernel on groups that differ in extents and constants alone: whatever the states; in these.
std::array<std::string, 2> WayTexts(const planner::Kind& kind, const planner::Entry& entry) {
  const ir::Graph& group = *kind.group;
  std::string text = fmt::format("{} {}", entry.kernel->name, entry.threads);
  for (const ir::Node& node : group.nodes())
    text += fmt::format(" {}{}", node.op, node.attributes.Int("group", 1) > 1 ? "/groups" : "");
  std::string with_states = text;
  const auto add = [&](const std::vector<ir::ValueId>& ids, const std::vector<State>& states) {
    for (size_t i = 0; i < ids.size(); ++i)
      with_states += " " + StateName(states[i], group.value(ids[i]).shape->rank());
  };
  add(group.inputs, entry.states.inputs);
  add(group.outputs, entry.states.outputs);
  return {std::move(text), std::move(with_states)};
}

std::array<std::string, 2> WayTexts(DType dtype, int rank, const State& from, const State& to,
                                    int threads) {
  std::string text = fmt::format("convert {} {}", DTypeName(dtype), threads);
  std::string with_states =
      fmt::format("{} {} {}", text, StateName(from, rank), StateName(to, rank));
  return {std::move(text), std::move(with_states)};
}

constexpr std::string_view kLosesTooMuch = "loses too much accuracy for the time it saves";

/// A key of the memory: rows of one process differ in these alone.
std::string MemoryKey(const RowKey& key) {
  return fmt::format("{}\n{}\n{}", key.kernel, key.params, key.problem);
}

}  // namespace

LearnedCosts::LearnedCosts(const DeviceSet& devices, Store& store, bool cold_constants,
                           const std::atomic<bool>* cancelled)
    : devices_(devices),
      store_(store),
      cold_constants_(cold_constants),
      ceilings_(LoadCeilings(devices.cpu(), store, 1, cancelled)) {
  for (const Device* device : devices.beside_cpu())
    ceilings_beside_cpu_.emplace(device->kind(), LoadCeilings(*device, store, 1, cancelled));
}

RowKey LearnedCosts::KernelKey(const planner::Kind& kind, const planner::Entry& entry,
                               const kernels::Params& params) const {
  RowKey key = KeyOf({entry.kernel, kind.problem(entry), params}, kind.text, DeviceOf(entry));
  key.protocol = ProtocolOf(*entry.kernel, *kind.group, DeviceOf(entry), cold_constants_);
  return key;
}

RowKey LearnedCosts::KeyOfConversion(const Shape& shape, const State& from, const State& to,
                                     int threads) const {
  return ConversionKey(shape, from, to, threads,
                       *devices_.Find(kernels::ConversionDevice(from, to)));
}

double LearnedCosts::Bound(const kernels::Work& work, DeviceKind device, int threads) const {
  if (device != DeviceKind::kCpu) return LeastMicroseconds(work, ceilings_beside_cpu_.at(device));
  return LeastMicroseconds(work, threads, ceilings_,
                           static_cast<const CpuDevice&>(devices_.cpu()).info());
}

planner::EntryCost LearnedCosts::FromRow(const Row& row, double bound) {
  switch (row.status) {
    case Row::Status::kOk:
      return {.us = row.median_us,
              .measured = true,
              .seen_us = row.median_us,
              .host_us = row.host_us,
              .error = row.error};
    case Row::Status::kStopped: return {.us = std::max(bound, row.low_us), .seen_us = row.low_us};
    case Row::Status::kCrashed:
      // Whoever killed the process may not have meant the candidate.
      if (row.samples < kFatalCrashes) return {.us = bound};
      break;
    case Row::Status::kWrong:
    case Row::Status::kFailed: break;
  }
  return {.us = bound, .banned = row.reason.empty() ? "it failed before" : row.reason};
}

std::string LearnedCosts::KeyText(const Shape& shape, const State& from, const State& to,
                                  int threads) const {
  return MemoryKey(KeyOfConversion(shape, from, to, threads));
}

LearnedCosts::Known& LearnedCosts::Recall(const RowKey& key, double bound_us,
                                          const std::array<std::string, 2>& ways) {
  const auto [it, is_new] = memory_.try_emplace(MemoryKey(key));
  Known& known = it->second;
  if (!is_new) return known;
  ++asked_;
  known.cost.us = bound_us;
  known.bound_us = bound_us;
  known.ways = {efficiency_.WayOf(ways[0]), efficiency_.WayOf(ways[1])};
  known.text = it->first;
  const Result<Row> row = FindTimes(key, store_);
  if (!row.ok()) return known;
  if (!row->prior) {
    ++known_;
    known.cost = FromRow(*row, bound_us);
    if (known.cost.measured) LearnEfficiency(known);
  } else if (row->status == Row::Status::kOk || row->status == Row::Status::kStopped) {
    ++priors_;
    known.prior_us = row->status == Row::Status::kOk ? row->median_us : row->low_us;
  }
  return known;
}

planner::EntryCost LearnedCosts::Answer(const Known& known) const {
  planner::EntryCost cost = known.cost;
  if (cost.measured) return cost;
  for (int way : known.ways) cost.us = std::max(cost.us, efficiency_.Bound(way, known.bound_us));
  if (known.prior_us > 0) cost.us = std::max(cost.us, known.prior_us * prior_share_);
  return cost;
}

const LearnedCosts::Bounded& LearnedCosts::BoundedOf(const planner::Kind& kind,
                                                     const planner::Entry& entry) {
  const auto [at, is_new] = bounded_.try_emplace(&entry);
  if (!is_new) return at->second;
  const kernels::Work work = WorkOf(kind, entry);
  const std::array<std::string, 2> ways = WayTexts(kind, entry);
  at->second = {Bound(work, entry.kernel->device(), entry.threads),
                {efficiency_.WayOf(ways[0]), efficiency_.WayOf(ways[1])}};
  return at->second;
}

double LearnedCosts::KernelBound(const planner::Kind& kind, const planner::Entry& entry) {
  const Bounded& bounded = BoundedOf(kind, entry);
  if (unbounded_.contains(entry.kernel->name)) return 0;
  double us = bounded.us;
  for (int way : bounded.ways) us = std::max(us, efficiency_.Bound(way, bounded.us));
  return us;
}

Result<Row> LearnedCosts::FindKernel(const planner::Kind& kind, const planner::Entry& entry,
                                     const kernels::Params& params) {
  Result<Row> row = FindTimes(KernelKey(kind, entry, params), store_);
  if (!row.ok()) return row;
  if (row->prior) return row;
  ++known_;
  const Bounded& bounded = BoundedOf(kind, entry);
  if (row->status == Row::Status::kOk)
    for (int way : bounded.ways) efficiency_.Learn(way, bounded.us, row->median_us);
  return row;
}

planner::EntryCost LearnedCosts::Conversion(const Shape& shape, DType dtype, const State& from,
                                            const State& to, int threads) {
  const RowKey key = KeyOfConversion(shape, from, to, threads);
  const kernels::Work work{
      .bytes = static_cast<double>(StateBytes(shape, from) + StateBytes(shape, to))};
  const Known& known = Recall(key, Bound(work, kernels::ConversionDevice(from, to), threads),
                              WayTexts(dtype, shape.rank(), from, to, threads));
  planner::EntryCost cost = Answer(known);
  if (measured_only_ && !cost.measured) cost.us *= 2;
  if (banned_.contains(known.text)) cost.banned = kLosesTooMuch;
  return cost;
}

void LearnedCosts::LearnEfficiency(const Known& known) {
  for (int way : known.ways) efficiency_.Learn(way, known.bound_us, known.cost.us);
}

/// Where a prior turns out to be slower than now, all priors may be.
void LearnedCosts::LearnShare(double prior_us, const Row& row) {
  constexpr double kLeastShare = 0.3, kBelowNow = 0.85;
  if (row.status != Row::Status::kOk || prior_us <= 0) return;
  prior_share_ = std::clamp(kBelowNow * row.median_us / prior_us, kLeastShare, prior_share_);
}

void LearnedCosts::Relearn(Known& known, const Row& row) {
  LearnShare(known.prior_us, row);
  known.cost = FromRow(row, known.bound_us);
  if (known.cost.measured) LearnEfficiency(known);
  // A candidate that was stopped is known by its bound of now.
  known.prior_us = 0;
}

void LearnedCosts::LearnKernel(const planner::Kind& kind, const planner::Entry& entry,
                               const kernels::Params& params, double prior_us, const Row& row) {
  const RowKey key = KernelKey(kind, entry, params);
  PutTimes(key, row, store_);
  const Bounded& bounded = BoundedOf(kind, entry);
  if (row.status == Row::Status::kOk) {
    if (row.median_us < bounded.us * kBelowBound) unbounded_.insert(entry.kernel->name);
    for (int way : bounded.ways) efficiency_.Learn(way, bounded.us, row.median_us);
  }
  LearnShare(prior_us, row);
  Log(LogLevel::kDebug, "{} [{}] {:.2f} us (at least {:.2f}), bound {:.2f} us{}{}", key.kernel,
      key.params, row.median_us, row.low_us, bounded.us, row.reason.empty() ? "" : ": ",
      row.reason);
}

void LearnedCosts::LearnConversion(const Shape& shape, const State& from, const State& to,
                                   int threads, const Row& row) {
  const RowKey key = KeyOfConversion(shape, from, to, threads);
  PutTimes(key, row, store_);
  Relearn(memory_[MemoryKey(key)], row);
}

}  // namespace fettle::tuner
