#include "tuner/measure/expectation_cache.h"

#include <algorithm>

#include "kernels/problem_text.h"

namespace fettle::tuner {
namespace {

/// Equal for groups of equal text whose constants have equal contents.
std::string GroupText(const std::shared_ptr<const ir::Graph>& group) {
  std::string text = kernels::PrintProblem({group, kernels::RowMajorStates(*group), 1});
  for (const ir::Value& value : group->values()) {
    if (value.is_constant()) text += fmt::format("{:016x} ", value.constant->Hash());
  }
  return text;
}

}  // namespace

Result<GroupExpectations*> ExpectationCache::Get(const std::shared_ptr<const ir::Graph>& group) {
  const std::string key = GroupText(group);
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.key == key; });
  if (found == entries_.end()) {
    ASSIGN_OR_RETURN(auto made, GroupExpectations::Make(group, options_, pool_));
    Evict();
    entries_.insert(entries_.begin(), {key, std::move(made)});
  } else {
    std::rotate(entries_.begin(), found, found + 1);
  }
  return entries_[0].expectations.get();
}

bool ExpectationCache::Has(const std::shared_ptr<const ir::Graph>& group) const {
  const std::string key = GroupText(group);
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const Entry& entry) { return entry.key == key; });
}

void ExpectationCache::Evict() {
  int64_t bytes = 0;
  for (const Entry& entry : entries_) bytes += entry.expectations->bytes();
  while (!entries_.empty() && bytes > most_bytes_) {
    bytes -= entries_.back().expectations->bytes();
    entries_.pop_back();
  }
}

}  // namespace fettle::tuner
