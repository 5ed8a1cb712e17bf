// What a tuning in the background leaves to be decided: plans of one shape, and what is kept of
// them.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "planner/plan_book.h"
#include "planner/plan_source.h"
#include "tuner/store/store.h"

namespace fettle::runtime {

/// The plans of `book` for exactly what it has, else those of `others`.
std::shared_ptr<planner::PlanSource> PlansOfExactly(std::shared_ptr<const planner::PlanBook> book,
                                                    std::shared_ptr<planner::PlanSource> others);

/// Passes on rows, and decisions once they are committed. Thread-safe if the store is.
class HeldDecisions final : public tuner::Store {
 public:
  explicit HeldDecisions(tuner::Store& store) : store_(store) {}

  Result<tuner::Row> Find(const tuner::RowKey& key) override { return store_.Find(key); }
  void Put(const tuner::RowKey& key, const tuner::Row& row) override {
    rows_ += key.kernel == "probe" ? 0 : 1;
    store_.Put(key, row);
  }
  void BeginFlight(const tuner::RowKey& key) override { store_.BeginFlight(key); }
  void EndFlight(const tuner::RowKey& key) override { store_.EndFlight(key); }
  Result<std::string> FindDecision(const std::string& key) override;
  void PutDecision(const std::string& key, const std::string& text) override;
  std::string trouble() const override { return store_.trouble(); }

  void Commit();
  /// How many rows were put, the machine's ceilings left out.
  int64_t rows() const { return rows_; }

 private:
  tuner::Store& store_;
  std::atomic<int64_t> rows_ = 0;
  std::mutex mutex_;
  std::map<std::string, std::string> held_;  // guarded
};

}  // namespace fettle::runtime
