// The plans of one shape that a tuning in the background has to decide on, and how they are kept.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "planner/plan_book.h"
#include "planner/plan_source.h"
#include "tuner/store/store.h"

namespace fettle::tuner {

/// The plans of `book` where it has the exact key, else those of `others`.
std::shared_ptr<planner::PlanSource> PlansOfExactly(std::shared_ptr<const planner::PlanBook> book,
                                                    std::shared_ptr<planner::PlanSource> others);

/// Passes on rows, and decisions once they are committed. Thread-safe if the store is.
class HeldDecisions final : public Store {
 public:
  explicit HeldDecisions(Store& store) : store_(store) {}

  Result<Row> Find(const RowKey& key) override { return store_.Find(key); }
  void Put(const RowKey& key, const Row& row) override {
    rows_ += key.kernel == "probe" ? 0 : 1;
    store_.Put(key, row);
  }
  void BeginFlight(const RowKey& key) override { store_.BeginFlight(key); }
  void EndFlight(const RowKey& key) override { store_.EndFlight(key); }
  Result<std::string> FindDecision(const std::string& key) override;
  void PutDecision(const std::string& key, const std::string& text) override;
  std::string trouble() const override { return store_.trouble(); }

  void Commit();
  /// How many rows were put, without the machine's ceilings.
  int64_t rows() const { return rows_; }

 private:
  Store& store_;
  std::atomic<int64_t> rows_ = 0;
  std::mutex mutex_;
  std::map<std::string, std::string> held_;  // guarded
};

}  // namespace fettle::tuner
