// Stores for tests of tuning: the machine's ceilings are known, so that no test depends on a probe.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "device/cpu/cpu_device.h"
#include "tuner/cost/ceilings.h"
#include "tuner/store/store.h"

namespace fettle::tuner {

/// Rows in memory with ceilings of `device` that no machine reaches: every bound is a bound.
inline std::unique_ptr<Store> StoreWithCeilings(const CpuDevice& device) {
  std::unique_ptr<Store> store = MemoryStore();
  for (std::string_view name : {"fp32 fma", "int8 dot", "int8 max", "bf16 dot", "bit dot",
                                "L1 read", "L2 read", "L3 read", "DRAM read", "DRAM copy"})
    store->Put(CeilingKey(name, device), {.median_us = 4e12, .samples = 1});
  return store;
}

/// Whether a row is about networks rather than about a kernel alone (Calibrations).
inline bool IsCalibration(const RowKey& key) { return key.problem.starts_with("in networks"); }

/// Answers as the store under it unless a test says otherwise.
class StoreOnTop : public Store {
 public:
  explicit StoreOnTop(std::shared_ptr<Store> under) : under_(std::move(under)) {}
  Result<Row> Find(const RowKey& key) override { return under_->Find(key); }
  void Put(const RowKey& key, const Row& row) override { under_->Put(key, row); }
  void BeginFlight(const RowKey& key) override { under_->BeginFlight(key); }
  void EndFlight(const RowKey& key) override { under_->EndFlight(key); }
  Result<std::string> FindDecision(const std::string& key) override {
    return under_->FindDecision(key);
  }
  void PutDecision(const std::string& key, const std::string& text) override {
    under_->PutDecision(key, text);
  }
  std::string trouble() const override { return under_->trouble(); }

 private:
  std::shared_ptr<Store> under_;
};

}  // namespace fettle::tuner
