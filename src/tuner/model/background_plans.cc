#include "tuner/model/background_plans.h"

#include "planner/decision.h"
#include "planner/planner.h"

namespace fettle::tuner {
namespace {

class Exactly final : public planner::PlanSource {
 public:
  Exactly(std::shared_ptr<const planner::PlanBook> book,
          std::shared_ptr<planner::PlanSource> others)
      : book_(std::move(book)), others_(std::move(others)) {}

  Result<exec::Plan> PlanFor(const ir::Graph& segment, const DeviceSet& devices,
                             const planner::Limits& limits) override {
    const std::string text = book_->Find(planner::KeyIn(*book_, segment, devices, limits));
    if (text.empty()) return others_->PlanFor(segment, devices, limits);
    ASSIGN_OR_RETURN(const planner::Decision decision, planner::ParseDecision(segment, text));
    return planner::Apply(segment, decision, devices, limits.threads);
  }

 private:
  std::shared_ptr<const planner::PlanBook> book_;
  std::shared_ptr<planner::PlanSource> others_;
};

}  // namespace

std::shared_ptr<planner::PlanSource> PlansOfExactly(std::shared_ptr<const planner::PlanBook> book,
                                                    std::shared_ptr<planner::PlanSource> others) {
  return std::make_shared<Exactly>(std::move(book), std::move(others));
}

Result<std::string> HeldDecisions::FindDecision(const std::string& key) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = held_.find(key); found != held_.end()) return found->second;
  }
  return store_.FindDecision(key);
}

void HeldDecisions::PutDecision(const std::string& key, const std::string& text) {
  const std::lock_guard lock(mutex_);
  held_.insert_or_assign(key, text);
}

void HeldDecisions::Commit() {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, text] : held_) store_.PutDecision(key, text);
  held_.clear();
}

}  // namespace fettle::tuner
