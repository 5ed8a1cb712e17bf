#include "planner/plan_source.h"

#include <atomic>
#include <mutex>

#include "base/log.h"
#include "passes/outline.h"
#include "planner/planner.h"
#include "planner/regimes.h"

namespace fettle::planner {
namespace {

class Preferred final : public PlanSource {
 public:
  Result<exec::Plan> PlanFor(const ir::Graph& segment, const DeviceSet& devices,
                             const Limits& limits) override {
    return MakePlan(segment, devices, limits);
  }
};

class Book final : public PlanSource {
 public:
  Book(std::shared_ptr<const PlanBook> book, std::shared_ptr<PlanSource> others)
      : book_(std::move(book)), others_(std::move(others)) {}

  Result<exec::Plan> PlanFor(const ir::Graph& segment, const DeviceSet& devices,
                             const Limits& limits) override {
    if (limits.reference_only) return others_->PlanFor(segment, devices, limits);
    if (const std::shared_ptr<RangePlans> plans = FindKept(segment, devices, limits))
      return FromRange(*plans, segment, devices, limits);
    const DecisionKey key = KeyIn(*book_, segment, devices, limits);
    std::string text = book_->Find(key);
    const bool similar = text.empty();
    if (similar) text = book_->FindSimilar(key);
    if (text.empty()) {
      WarnOfSettings(segment, devices, limits);
      return others_->PlanFor(segment, devices, limits);
    }
    if (similar) {
      TunedRange range = TunedRange::Of(*book_, key);
      if (!range.empty())
        return FromRange(*Keep(segment, devices, limits, std::move(range)), segment, devices,
                         limits);
    }
    Result<exec::Plan> plan = Try(segment, text, similar, devices, limits);
    if (!plan.ok()) {
      Log(LogLevel::kWarn, "the kept plan does not fit ({}): planning again",
          plan.status().message());
      return others_->PlanFor(segment, devices, limits);
    }
    if (similar)
      Log(LogLevel::kWarn, "{}: not tuned for this shape; starts with the plan for another one",
          InputShapes(segment));
    return plan;
  }

 private:
  /// A range that shapes were planned from on the CPU alone, and what they were planned for.
  struct KeptRange {
    std::vector<int64_t> structure;
    Limits limits;
    const Device* cpu;
    std::shared_ptr<RangePlans> plans;
  };

  std::shared_ptr<RangePlans> FindKept(const ir::Graph& segment, const DeviceSet& devices,
                                       const Limits& limits) const {
    const std::lock_guard lock(mutex_);
    if (ranges_.empty() || !devices.beside_cpu().empty()) return nullptr;
    const passes::Outline outline(segment);
    for (const KeptRange& kept : ranges_)
      if (kept.cpu == &devices.cpu() && kept.limits == limits &&
          kept.structure == outline.structure)
        return kept.plans;
    return nullptr;
  }

  std::shared_ptr<RangePlans> Keep(const ir::Graph& segment, const DeviceSet& devices,
                                   const Limits& limits, TunedRange range) {
    constexpr size_t kMostKept = 16;
    auto plans = std::make_shared<RangePlans>(std::move(range));
    if (!devices.beside_cpu().empty()) return plans;
    const std::lock_guard lock(mutex_);
    if (ranges_.size() == kMostKept) ranges_.erase(ranges_.begin());
    ranges_.push_back({passes::Outline(segment).structure, limits, &devices.cpu(), plans});
    return plans;
  }

  Result<exec::Plan> FromRange(RangePlans& plans, const ir::Graph& segment,
                               const DeviceSet& devices, const Limits& limits) {
    Result<exec::Plan> plan = plans.PlanFor(segment, devices, limits.threads);
    if (plan.ok()) return plan;
    Log(LogLevel::kWarn, "the plans of the tuned range do not fit ({}): planning again",
        plan.status().message());
    return others_->PlanFor(segment, devices, limits);
  }

  void WarnOfSettings(const ir::Graph& segment, const DeviceSet& devices, const Limits& limits) {
    if (warned_) return;
    const std::string missed = MissedSettings(*book_, segment, devices, limits);
    if (missed.empty() || warned_.exchange(true)) return;
    Log(LogLevel::kWarn, "{}", MissedText(missed));
  }

  /// `similar`: chains were measured at other extents.
  static Result<exec::Plan> Try(const ir::Graph& segment, const std::string& text, bool similar,
                                const DeviceSet& devices, const Limits& limits) {
    ASSIGN_OR_RETURN(Decision decision, ParseDecision(segment, text));
    if (similar) decision.chains.clear();
    return Apply(segment, decision, devices, limits.threads);
  }

  std::shared_ptr<const PlanBook> book_;
  std::shared_ptr<PlanSource> others_;  // for what the book has no plan of
  std::atomic<bool> warned_ = false;
  mutable std::mutex mutex_;
  std::vector<KeptRange> ranges_;  // guarded by mutex_
};

}  // namespace

std::string InputShapes(const ir::Graph& segment) {
  std::string text;
  for (ir::ValueId id : segment.inputs) {
    const ir::Value& value = segment.value(id);
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", value.name, value.shape->ToString());
  }
  return text;
}

std::shared_ptr<PlanSource> PreferredPlans() {
  static const auto plans = std::make_shared<Preferred>();
  return plans;
}

std::string MissedText(std::string_view settings) {
  return fmt::format(
      "tuned with {}, which this session does not have: planning again (use {} to take the tuned "
      "plans)",
      settings, settings);
}

std::shared_ptr<PlanSource> PlansOf(std::shared_ptr<const PlanBook> book,
                                    std::shared_ptr<PlanSource> others) {
  return std::make_shared<Book>(std::move(book), std::move(others));
}

}  // namespace fettle::planner
