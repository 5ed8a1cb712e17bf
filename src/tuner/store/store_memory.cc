// The store that forgets: for debug builds, --no-cache, and where no database can be used.
#include <map>
#include <mutex>

#include "tuner/store/row_key.h"
#include "tuner/store/store.h"

namespace fettle::tuner {
namespace {

class RowsInMemory final : public Store {
 public:
  Result<Row> Find(const RowKey& key) override {
    std::lock_guard lock(mutex_);
    const auto subject = rows_.find(Subject(key));
    if (subject == rows_.end()) return Error(StatusCode::kNotFound, "not measured yet");
    const std::map<RowKey, Row>& rows = subject->second;
    if (const auto exact = rows.find(key); exact != rows.end()) return exact->second;
    Row prior = rows.begin()->second;
    for (const auto& [other, row] : rows)
      if (row.unix_seconds > prior.unix_seconds) prior = row;
    prior.prior = true;
    return prior;
  }

  void Put(const RowKey& key, const Row& row) override {
    std::lock_guard lock(mutex_);
    rows_[Subject(key)][key] = Stored(key, row);
  }

  // Nothing here outlives the process, so it can leave no orphans.
  void BeginFlight(const RowKey&) override {}
  void EndFlight(const RowKey&) override {}

  Result<std::string> FindDecision(const std::string& key) override {
    std::lock_guard lock(mutex_);
    const auto decision = decisions_.find(key);
    if (decision == decisions_.end()) return Error(StatusCode::kNotFound, "not decided yet");
    return decision->second;
  }

  void PutDecision(const std::string& key, const std::string& text) override {
    std::lock_guard lock(mutex_);
    decisions_[key] = text;
  }

  std::string trouble() const override { return ""; }

 private:
  std::mutex mutex_;
  std::map<RowKey, std::map<RowKey, Row>> rows_;  // by subject, then by whole key
  std::map<std::string, std::string> decisions_;
};

}  // namespace

std::unique_ptr<Store> MemoryStore() { return std::make_unique<RowsInMemory>(); }

}  // namespace fettle::tuner
