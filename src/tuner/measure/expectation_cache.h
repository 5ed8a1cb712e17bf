// The expectations of the most recent groups.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tuner/measure/expectation.h"

namespace fettle::tuner {

/// Not synchronised.
class ExpectationCache {
 public:
  /// Keeps up to `most_bytes`, and the newest entry whatever its size.
  ExpectationCache(const ExpectationOptions& options, int64_t most_bytes, ThreadPool& pool)
      : options_(options), most_bytes_(most_bytes), pool_(pool) {}

  /// The expectations of a group of equal text and constants. Valid until the next call.
  Result<GroupExpectations*> Get(const std::shared_ptr<const ir::Graph>& group);
  /// Whether Get would find them.
  bool Has(const std::shared_ptr<const ir::Graph>& group) const;

 private:
  struct Entry {
    std::string key;
    std::unique_ptr<GroupExpectations> expectations;
  };
  void Evict();

  ExpectationOptions options_;
  int64_t most_bytes_;
  ThreadPool& pool_;
  std::vector<Entry> entries_;  // used last first
};

}  // namespace fettle::tuner
