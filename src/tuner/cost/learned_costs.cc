#include "tuner/cost/learned_costs.h"

#include <algorithm>
#include <array>

#include "base/log.h"
#include "kernels/backend.h"
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

/// Processes that die over a candidate before it is never tried again.
constexpr int kDeadlyCrashes = 2;

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
  for (const Device* device : devices.beside_cpu())
    ceilings_beside_cpu_.emplace(device->kind(), LoadAcceleratorCeilings(*device, store));
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
  if (device != DeviceKind::kCpu) return LeastMicroseconds(work, ceilings_beside_cpu_.at(device));
  return LeastMicroseconds(work, threads, ceilings_,
                           static_cast<const CpuDevice&>(devices_.cpu()).info());
}

planner::EntryCost LearnedCosts::FromRow(const Row& row, double bound) {
  switch (row.status) {
    case Row::Status::kOk:
      return {.us = row.median_us, .measured = true, .tried = true, .error = row.error};
    case Row::Status::kStopped: return {.us = std::max(bound, row.low_us), .tried = true};
    case Row::Status::kCrashed:
      // Whoever killed the process may not have meant the candidate.
      if (row.samples < kDeadlyCrashes) return {.us = bound};
      break;
    case Row::Status::kWrong:
    case Row::Status::kFailed: break;
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
  const Result<Row> row = store_.Find(key);
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

LearnedCosts::Known& LearnedCosts::KnownOf(const planner::Kind& kind, const planner::Entry& entry) {
  Known*& known = by_entry_[&entry];
  if (known != nullptr) return *known;
  const DeviceKind device = entry.kernel->device;
  const kernels::Work work = WorkOf(kind, entry);
  known =
      &Recall(KernelKey(kind, entry), Bound(work, device, entry.threads), WayTexts(kind, entry));
  return *known;
}

planner::EntryCost LearnedCosts::Kernel(const planner::Kind& kind, const planner::Entry& entry) {
  const Known& known = KnownOf(kind, entry);
  planner::EntryCost cost = Answer(known);
  if (!cost.measured && known.prior_us == 0 && unbounded_.contains(entry.kernel->name)) cost.us = 0;
  if (measured_only_ && !cost.measured && cost.banned.empty() && !excused_.contains(known.text))
    cost.banned = "not measured";
  if (banned_.contains(known.text)) cost.banned = kLosesTooMuch;
  return cost;
}

planner::EntryCost LearnedCosts::Conversion(const Shape& shape, DType dtype, const State& from,
                                            const State& to, int threads) {
  const RowKey key = KeyOfConversion(shape, dtype, from, to, threads);
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
void LearnedCosts::Relearn(Known& known, const Row& row) {
  constexpr double kLeastShare = 0.3, kBelowNow = 0.85;
  if (row.status == Row::Status::kOk && known.prior_us > 0) {
    const double share = kBelowNow * row.median_us / known.prior_us;
    prior_share_ = std::clamp(share, kLeastShare, prior_share_);
  }
  known.cost = FromRow(row, known.bound_us);
  if (known.cost.measured) LearnEfficiency(known);
  // A candidate that was stopped is known by its bound of now.
  known.prior_us = 0;
}

void LearnedCosts::LearnKernel(const planner::Kind& kind, const planner::Entry& entry,
                               const Row& row) {
  const RowKey key = KernelKey(kind, entry);
  store_.Put(key, row);
  Known& known = KnownOf(kind, entry);
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
